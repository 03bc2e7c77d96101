"""The classical minds of the Keynesian beauty contest."""

import re

import numpy as np
import pytest

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from sabm_mesa.models.kbc.minds import CognitiveHierarchy, LevelK
from tests.models.kbc.support import contest


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


def test_a_classical_player_says_the_number_it_would_pick() -> None:
    model = KeynesianBeautyContest(n_players=6, n_rounds=2, rng=2)
    model.run_model()

    assert len(model.said) == 6
    for message in model.said:
        assert re.fullmatch(r"I think that I will choose \d{1,3}\.", message.text)


def test_a_player_moves_by_its_trust_towards_the_mean_of_what_it_heard() -> None:
    """One classical player among three that say 10, 20 and, last, nothing in numbers."""
    said = {2: "I take 10.", 3: "20 is best.", 4: "Well."}

    def answer(ask):
        return said[ask.key.agent] if ask.name == "communicate" else "10"

    mind = CognitiveHierarchy("classical")
    others = ScriptedMind(answer)
    model = contest(n_players=4, n_rounds=2, minds=[mind, *[others] * 3], rng=1)
    model.step()
    first = mind.opinion
    model.step()
    order = [message.sender for message in model.said]

    opinion = first
    before = {2: 10, 3: 20}
    own_turn = order.index(1)
    for heard in (order[:own_turn], order[own_turn:]):
        numbers = [before[speaker] for speaker in heard if speaker in before]
        if numbers:
            opinion = 0.5 * opinion + 0.5 * sum(numbers) / len(numbers)
    assert mind.opinion == pytest.approx(opinion)
    assert model.players[0].choice == round(opinion)


def test_the_steps_of_the_two_classical_minds() -> None:
    hierarchy, level_k = CognitiveHierarchy("a"), LevelK("b")

    assert level_k.step_choice(1) == pytest.approx(100 / 3)
    assert level_k.step_choice(2) == pytest.approx(200 / 9)
    assert hierarchy.step_choice(1) == pytest.approx(100 / 3)
    # Step 2 meets steps 0 and 1 in the shares 1 : 1.5, which pick 50 and 33.3.
    assert hierarchy.step_choice(2) == pytest.approx(2 / 3 * (50 + 1.5 * 100 / 3) / 2.5)
