"""Helpers of the tests of the Keynesian beauty contest: picks computed by hand, and the script."""

from sabm_mesa import KeynesianBeautyContest, ScriptedMind

# Picks of three players in four rounds; the third one's answers of round 2 cannot be read.
PICKS = [(10, 20, 60), (30, 30, 30), (12, 28, None), (0, 40, 50)]
TALK = {1: "Let us all take 30.", 2: "I agree.", 3: "We will see."}


def follow(ask):
    """The script: the talk and the picks above."""
    if ask.name == "communicate":
        return TALK[ask.key.agent]
    pick = PICKS[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if pick is None else f"Because.\n{pick}"


def contest(answer=follow, **given):
    return KeynesianBeautyContest(
        **{"n_players": 3, "minds": ScriptedMind(answer), "rng": 7, **given}
    )


def played(**given):
    model = contest(**given)
    model.run_model()
    return model
