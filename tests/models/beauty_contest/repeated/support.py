"""Scripted repeated beauty contests."""

from sabm_mesa import RepeatedBeautyContest, ScriptedMind
from tests.models.beauty_contest.support import follow

P = 2 / 3


def contest(answer=follow, **more):
    parameters = {"n_players": 3, "n_rounds": 4, "minds": ScriptedMind(answer), "rng": 7, **more}
    return RepeatedBeautyContest(**parameters)


def played(*args, **more):
    model = contest(*args, **more)
    model.run_model()
    return model
