"""Helpers of the tests of the repeated beauty contest: picks computed by hand, and the script."""

from sabm_mesa import (
    RepeatedBeautyContest,
    ScriptedMind,
)

# Picks of three players in four rounds; the third one's answers of round 2 cannot be read.
PICKS = [(10, 20, 60), (30, 30, 30), (12, 28, None), (0, 40, 50)]
MEAN = [30, 30, 20, 30]


def follow(ask):
    """The script: the picks above."""
    pick = PICKS[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if pick is None else f"Because.\n{pick}"


def contest(answer=follow, **more):
    parameters = {"n_players": 3, "n_rounds": 4, "minds": ScriptedMind(answer), "rng": 7, **more}
    return RepeatedBeautyContest(**parameters)


def played(*args, **more):
    model = contest(*args, **more)
    model.run_model()
    return model


def by_round(model, column):
    """The values of an agent column, a row a round."""
    frame = model.agent_frame()
    return [tuple(rows[column]) for _, rows in frame.groupby("round")]


P = 2 / 3
