"""A recording is searched: words, phrases, facts; and it is left as it is."""

from __future__ import annotations

from functools import partial

import pytest

from sabm_mesa import KeynesianBeautyContest, Recorded, Recording, ScriptedMind
from sabm_mesa.core.answers import Reply
from sabm_mesa.recording.search import ANSWERED, SAID, SENT, THOUGHT, find


def answer(ask):
    """Agent 1 cooperates, agent 2 thinks, agent 3 is unreadable at first and then wordy."""
    agent = ask.key.agent
    if ask.name == "communicate":
        return Reply(("Café: let us cooperate!", "Nothing", "Coöperation is all")[agent - 1])
    if agent == 3:
        return Reply("Now I choose 30." if ask.rejected else "maybe", request="r")
    return Reply("20", thoughts="They may be cooperating." if agent == 2 else "", request="r")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "r.sqlite"
    with Recording(path) as recording:
        for seed in (1, 2):
            KeynesianBeautyContest(
                n_players=3, n_rounds=2, minds=ScriptedMind(answer), rng=seed, recording=recording
            ).run_model()
    before = path.read_bytes(), sorted(path.parent.iterdir())
    yield path
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == before


@pytest.fixture
def search(path):
    return partial(find, path)


def places(found):
    return {(hit.kind, hit.round, hit.agent, hit.attempt) for hit in found.hits}


def test_words_are_found_in_answers_thoughts_messages_and_prompts(search, path):
    assert places(search("cooperat", run=0, kind=SAID)) == {(SAID, 1, 1, 0)}
    assert places(search("cooperating", run=0)) == {(THOUGHT, 0, 2, 0), (THOUGHT, 1, 2, 0)}
    assert places(search("caf COOPERATE", kind=ANSWERED, run=1)) == {(ANSWERED, 1, 1, 0)}
    assert search('"us let"').total == 0
    assert search("coop%te").total == search("coop_rate").total == 0
    (hit,) = search('"let us" coop', run=0, kind=SAID).hits
    assert hit.excerpt == ("Café: ", "let us", " ", "coop", "erate!")
    asks = Recorded(path)
    sent = search("cooperate", kind=SENT, run=0).hits
    assert sent
    for hit in sent:
        chat = asks.chat(hit.run, hit.round, hit.phase, hit.agent, hit.call, hit.attempt)
        assert any("cooperate" in content for _, content in chat)


def test_facts_choose_asks(search, path):
    asks = Recorded(path).asks()
    assert search(valid=False).total == (~asks["valid"]).sum() == 4
    assert search(read_as="only").total == (asks["read_as"] == "only").sum() > 0
    assert search(run=1, phase="act", agent=3).total == 4
    first, second = (search(phase="act", start=start, most=3) for start in (0, 3))
    assert first.total == second.total == (asks["phase"] == "act").sum()
    assert not places(first) & places(second)


@pytest.mark.parametrize("words", ['a"b', "x OR", "text:33", "NEAR(", "(33", "33*", "3\0 3"])
def test_signs_of_the_query_language_are_text(search, words):
    assert search(words).total >= 0


def test_hits_that_are_everywhere_are_counted_up_to_a_bound(search, monkeypatch):
    every = search()
    assert not every.more
    monkeypatch.setattr("sabm_mesa.recording.search.COUNTED", 5)
    first, later = (search(start=start, most=3) for start in (0, 6))
    assert (first.total, first.more, later.total, later.more) == (5, True, 9, True)
    assert [*first.hits, *later.hits] == [*every.hits[:3], *every.hits[6:9]]
    last = search(start=every.total - 1, most=1)
    assert (last.total, last.more, last.hits) == (every.total, False, every.hits[-1:])
