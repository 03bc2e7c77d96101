"""The joint sentence making: whole runs with numbers computed by hand."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import CocktailParty, ScriptedMind, replay
from sabm_mesa.errors import ParameterError, UsageError
from sabm_mesa.models.pairs.sentence_making.model import WORD_SETS, bridges
from tests.models.pairs.sentence_making.support import answer, making, played, sentence
from tests.models.support import assert_same, frames

LIST = ", ".join(WORD_SETS[0])


def test_writers_alone_only_write() -> None:
    asked = []

    def script(ask):
        asked.append(ask)
        return sentence(ask)

    model = played(script, interaction="individual", n_rounds=2)
    frame = model.model_frame()

    assert [ask.name for ask in asked] == ["write"] * 12
    assert list(frame["valid_ratio"]) == [1, 1]
    assert list(frame["conversations"]) == [0, 0]
    assert list(model.agent_frame()["valid"]) == [2] * 6
    text = asked[0].messages()
    assert "You work by yourself." in text[0]["content"]
    assert text[1]["content"].startswith(f"The seven words: {LIST}")
    assert model.critical_path_asks == 2 * 2


def test_writers_that_talk_first() -> None:
    """1 invites 2, and 2 and 3 invite 1: two talks of one line each, one after the other."""
    asked = []
    model = played(lambda ask: asked.append(ask) or answer(ask))

    assert [chat.agents for chat in model.chats] == [(1, 2), (3, 1)]
    assert list(model.model_frame()["conversations"]) == [2]
    assert list(model.agent_frame()["partners"]) == ["2 3", "1", "1"]
    (text,) = {ask.messages()[1]["content"] for ask in asked if ask.key[1:] == ("write", 3, 0)}
    assert text.startswith(
        "What you remember:\nRound 1 (now)\n- You invited L1, who accepted.\n"
        "- You chatted with L1:\nYou: Some ocean.\n\nThe seven words:"
    )
    assert model.critical_path_asks == 1 + 2 + 2 + 2


def test_the_variance_of_the_valid_sentences() -> None:
    """Two sentences that share all words but one of the writers' names have a small variance."""
    alike = played(interaction="individual", n_agents=2, n_sentences=1)
    same = {}

    def other(ask):
        same.setdefault(ask.key.agent, None)
        extra = "blue cats sleep well tonight" if ask.key.agent == 1 else "no dog eats green soup"
        return f"{extra.capitalize()} with {LIST}."

    different = played(other, interaction="individual", n_agents=2, n_sentences=1)

    assert 0 < alike.variance < different.variance < 0.5


def test_what_is_not_valid_does_not_count() -> None:
    """Of six sentences one is a list, one a duplicate of another writer's, one is two sentences."""
    texts = {
        (1, 0): f"The old keeper of the lighthouse wrote {LIST}.",
        (1, 1): f"{LIST}.".capitalize(),
        (2, 0): f"the old keeper of the lighthouse wrote {LIST}!",
        (2, 1): f"The OLD keeper of the lighthouse wrote {LIST}.",
        (3, 0): f"He came to the sea. It was {LIST} all along.",
        (3, 1): f"She never learned to read the words {LIST}.",
    }

    model = played(lambda ask: texts[ask.key.agent, ask.key.call], interaction="individual")

    assert model.valid_ratio == pytest.approx(2 / 6)
    assert list(model.agent_frame()["valid"]) == [1, 0, 1]
    assert list(model.agent_frame()["written"]) == [2, 2, 2]
    assert (model.total.invalid, model.total.reasks) == (0, 0)


def test_when_nothing_can_be_read_nothing_is_valid() -> None:
    model = played(lambda ask: "" if ask.name == "write" else answer(ask))

    assert model.valid_ratio == 0
    assert math.isnan(model.variance)
    assert math.isnan(model.end_measures()["variance"])
    assert model.total.invalid == 6


def test_a_word_set_a_round_and_nothing_is_remembered_of_the_one_before() -> None:
    views = {}

    def script(ask):
        views[ask.key.round, ask.name, ask.key.agent] = ask.facts
        return answer(ask) if ask.name != "write" else sentence(ask, (*WORD_SETS, *WORD_SETS))

    model = played(script, n_rounds=6)

    assert [views[k, "write", 1].words for k in range(6)] == [*WORD_SETS, WORD_SETS[0]]
    assert all(len(views[k, "write", 1].rounds[0]["chats"]) == 2 for k in range(6))
    assert all(views[k, "invite", 1].rounds == () for k in range(6))
    assert model.end_measures()["valid_ratio"] == 1


def test_everybody_is_bridged_to_the_one_it_met_least() -> None:
    """Counts under which the published pairs come out (section 3)."""
    published = {(1, 5), (2, 9), (1, 3), (4, 5), (1, 6), (5, 7), (1, 8), (9, 10)}
    counts = {(a, b): 3 for a in range(1, 11) for b in range(a + 1, 11)}
    counts |= dict.fromkeys(published, 1) | dict.fromkeys([(1, 5), (2, 9), (9, 10)], 0)

    found = bridges(counts, 10)

    assert {(min(pair), max(pair)) for pair in found.items()} == published
    assert (found[1], found[2], found[3], found[8]) == (5, 9, 1, 1)


def test_of_several_the_one_with_the_smallest_number() -> None:
    assert bridges({}, 4) == {1: 2, 3: 1, 4: 1}
    assert bridges({(1, 2): 3, (1, 3): 2, (2, 3): 1}, 3) == {1: 3, 2: 3}


@given(st.integers(2, 9), st.integers(0, 10**6))
def test_bridges_of_any_party(n, seed) -> None:
    draw = Random(seed)
    counts = {(a, b): draw.randint(0, 4) for a in range(1, n + 1) for b in range(a + 1, n + 1)}
    found = bridges(counts, n)

    def met(a, b):
        return counts[min(a, b), max(a, b)]

    assert {agent for pair in found.items() for agent in pair} == set(range(1, n + 1))
    for agent, partner in found.items():
        assert met(agent, partner) == min(met(agent, o) for o in range(1, n + 1) if o != agent)
    assert len({frozenset(pair) for pair in found.items()}) == len(found)


def test_a_bridged_run_remembers_the_party(party) -> None:
    """1-2, 1-3 and 3-4 talked: 1 and 4 never did, nor 2 and 3, nor 2 and 4."""
    views = {}

    def script(ask):
        views.setdefault((ask.key.round, ask.name, ask.key.agent), ask)
        return answer(ask)

    model = played(script, interaction="bridged", party=party, n_agents=4, n_rounds=2)

    assert model.pairs == {1: 4, 2: 3}
    assert {ask.name for ask in views.values()} == {"say", "write"}
    assert [chat.agents for chat in model.chats] == [(1, 4), (2, 3)] * 2
    for k in range(2):
        first = views[k, "say", 1]
        assert len(first.facts.rounds[0]["chats"]) == 2
        text = first.messages()[1]["content"]
        assert "Round 1\n- You invited L2, who accepted." in text
        assert "Your partner for this was assigned to you." in text
        written = views[k, "write", 1].messages()[1]["content"]
        assert "Round 3 (now)\n- You chatted with L4:\nYou: Some ocean." in written


def test_the_run_keeps_which_party_it_was(party) -> None:
    model = played(interaction="collective", party=party, n_agents=4)

    assert model.parameters["party"] == model.memories.reference
    assert model.parameters["party"].startswith(f"{party}#0@")
    alone = making(interaction="individual", party=party, n_agents=4)
    assert alone.memories is None
    assert alone.parameters["party"] == model.parameters["party"]


def test_bad_parties_and_parameters(party) -> None:
    for parameters, problem in (
        ({"interaction": "bridged"}, "bridged needs a party"),
        ({"interaction": "collective", "party": party}, "n_agents must be 4"),
        ({"interaction": "bridged", "party": party + "x"}, "There is no recording"),
        ({"interaction": "alone"}, "Unknown interaction 'alone'"),
        ({"n_sentences": 0}, "n_sentences"),
        ({"n_agents": 1}, "n_agents"),
    ):
        with pytest.raises(UsageError, match=problem) as caught:
            making(**parameters)
        assert "\n" not in str(caught.value)


class Paid(ScriptedMind):
    paid = True


@pytest.mark.parametrize("interaction", ["bridged"])
def test_a_recorded_run_with_a_party_is_replayed_while_the_party_is_there(
    party, tmp_path, interaction
) -> None:
    path = tmp_path / "sentences.sqlite"
    model = played(
        None, minds=Paid(answer), party=party, n_agents=4, interaction=interaction, n_rounds=2,
        recording=path,
    )  # fmt: skip
    (again,) = replay(path).models
    assert_same(frames(again), frames(model))
    assert again.memories == model.memories

    CocktailParty(n_agents=4, n_rounds=2, rng=1, recording=tmp_path / "other.sqlite").run_model()
    (tmp_path / "other.sqlite").replace(party)
    with pytest.raises(ParameterError, match="not the one that this run began with") as caught:
        replay(path)
    assert "\n" not in str(caught.value)

    (tmp_path / "party.sqlite").unlink()
    with pytest.raises(ParameterError, match="There is no recording"):
        replay(path)
