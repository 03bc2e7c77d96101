"""The messages that players of the Keynesian beauty contest hear, and their prompts."""

import re
from itertools import product

import pytest

from tests.models.beauty_contest.kbc.support import played


def all_of(model):
    """The messages of all rounds."""
    return model.conversation(rounds=None)


@pytest.fixture
def heard():
    """Everything that was asked in a run of four players, by place."""
    asked = {}

    def answer(ask):
        asked[ask.key.round, ask.name, ask.key.agent] = (ask.facts, ask.messages())
        if ask.name == "communicate":
            return f"Player {ask.key.agent} speaks in round {ask.key.round}."
        return str(70 + ask.key.agent)

    model = played(answer=answer, n_players=4, rng=3)
    return model, asked


def test_nobody_speaks_in_the_first_round_and_everybody_in_the_others(heard) -> None:
    model, asked = heard

    assert {k for k in asked if k[1] == "communicate"} == set(
        product((1, 2, 3), ("communicate",), (1, 2, 3, 4))
    )
    assert {k for k in asked if k[1] == "act"} == set(product(range(4), ("act",), (1, 2, 3, 4)))
    assert len(all_of(model)) == 12


def test_a_speaker_hears_all_that_was_said_before_and_nothing_else(heard) -> None:
    model, asked = heard

    for place, message in enumerate(all_of(model)):
        observation, _ = asked[message.round, "communicate", message.sender]
        assert observation.said == tuple(all_of(model)[:place])
    for (k, name, _), (observation, _) in asked.items():
        if name == "act":
            assert observation.said == tuple(m for m in all_of(model) if m.round <= k)


def test_nobody_sees_a_pick(heard) -> None:
    """Picks are 71 to 74, which no prompt names."""
    _, asked = heard

    for observation, messages in asked.values():
        assert not re.search(r"7[1-4]", "".join(m["content"] for m in messages))
        assert not hasattr(observation, "choice")
