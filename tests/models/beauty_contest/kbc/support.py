"""Scripted Keynesian beauty contests."""

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from tests.models.beauty_contest.support import follow


def contest(answer=follow, **given):
    return KeynesianBeautyContest(
        **{"n_players": 3, "minds": ScriptedMind(answer), "rng": 7, **given}
    )


def played(**given):
    model = contest(**given)
    model.run_model()
    return model
