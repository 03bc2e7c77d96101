"""The classical minds of the Keynesian beauty contest."""

import numpy as np
import pytest

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from sabm_mesa.models.beauty_contest.kbc.minds import CognitiveHierarchy, LevelK
from tests.models.beauty_contest.kbc.support import contest


# The classical minds.
def variances(condition, mind="classical", seeds=range(12), personas="none"):
    """Mean variance after 0, 1, 2, 3 discussions over some seeds."""
    curves = []
    for seed in seeds:
        model = KeynesianBeautyContest(condition=condition, minds=mind, personas=personas, rng=seed)
        model.run_model()
        curves.append(model.model_frame()["variance"])
    return np.mean(curves, axis=0)


@pytest.mark.parametrize("mind", ["classical", "classical:level_k"])
def test_talk_brings_classical_players_together_as_far_as_they_trust(mind) -> None:
    cooperative, baseline, uncooperative = (
        variances(condition, mind) for condition in ("cooperative", "baseline", "uncooperative")
    )

    assert cooperative[0] == baseline[0] == uncooperative[0]
    assert all(np.diff(baseline) < 0)
    assert all(np.diff(uncooperative) < 0)
    assert all(cooperative[1:] < baseline[1:])
    assert all(baseline[1:] < uncooperative[1:])


def test_agreeable_players_move_further_than_disagreeable_ones() -> None:
    agreeable = variances("baseline", personas="agreeable")
    disagreeable = variances("baseline", personas="disagreeable")

    assert agreeable[0] == disagreeable[0]
    assert all(agreeable[1:] < disagreeable[1:])


FIRST_SPEAKS_LAST = 3
"""A seed."""


def after_talk(k, first, condition="baseline"):
    """The opinion of a player of k steps after three others said 10, 20 and nothing in numbers."""
    said = {2: "I take 10.", 3: "20 is best.", 4: "Well."}

    def answer(ask):
        return said[ask.key.agent] if ask.name == "communicate" else "10"

    mind = LevelK("classical:level_k")
    mind.opinion, mind.factor = first, (2 / 3) ** k
    # The others speak first.
    model = contest(
        n_players=4, n_rounds=2, minds=[mind, *[ScriptedMind(answer)] * 3], condition=condition,
        rng=FIRST_SPEAKS_LAST,
    )  # fmt: skip
    model.run_model()
    assert model.said[-1].sender == 1
    assert model.players[0].choice == round(mind.opinion)
    return mind.opinion


@pytest.mark.parametrize(("k", "first"), [(0, 60.0), (1, 100 / 3), (2, 200 / 9)])
def test_a_player_replies_with_its_own_steps_to_the_mean_of_what_it_heard(k, first) -> None:
    """The mean of what it heard is 15; its trust is 1/2."""
    assert after_talk(k, first) == pytest.approx(0.5 * first + 0.5 * 15 * (2 / 3) ** k)


def test_a_player_that_is_told_to_cooperate_joins_the_mean_of_what_it_heard() -> None:
    assert after_talk(2, 30.0, "cooperative") == pytest.approx(0.1 * 30 + 0.9 * 15)


def test_talk_may_drive_players_apart() -> None:
    """One without steps and one of one step hear each other, and the second outguesses the first.

    The second says 33, the first moves half way from 30 to it and says 32, and the second moves
    half way from 33.3 to two thirds of that.
    """
    minds = [LevelK("a"), LevelK("b")]
    for mind, opinion, factor in zip(minds, (30.0, 100 / 3), (1.0, 2 / 3), strict=True):
        mind.opinion, mind.factor = opinion, factor
    model = contest(n_players=2, n_rounds=2, minds=minds, rng=FIRST_SPEAKS_LAST)
    model.step()
    before = model.variance
    model.step()

    assert [mind.opinion for mind in minds] == pytest.approx([31.5, 33.33 / 2 + 32 / 3], abs=0.01)
    assert model.variance > before


def test_talk_makes_players_reason_deeper() -> None:
    """Mean classes of Nagel of 24 players before any talk, and after three discussions."""
    model = KeynesianBeautyContest(rng=1)
    model.run_model()
    levels = model.agent_frame().groupby("round")["level"].mean()

    assert levels[0] < 2 < 3 < levels[3]


def test_the_steps_of_the_two_classical_minds() -> None:
    hierarchy, level_k = CognitiveHierarchy("a"), LevelK("b")

    assert level_k.step_choice(1) == pytest.approx(100 / 3)
    assert level_k.step_choice(2) == pytest.approx(200 / 9)
    assert hierarchy.step_choice(1) == pytest.approx(100 / 3)
    # Step 2 meets steps 0 and 1 in the shares 1 : 1.5, which pick 50 and 33.3.
    assert hierarchy.step_choice(2) == pytest.approx(2 / 3 * (50 + 1.5 * 100 / 3) / 2.5)
