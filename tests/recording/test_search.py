"""A recording is searched: words, phrases, facts; and it is left as it is."""

from __future__ import annotations

import pytest

from sabm_mesa import KeynesianBeautyContest, Recorded, Recording, ScriptedMind
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.recording.search import _ANSWERS, ANSWERED, SAID, SENT, THOUGHT, Search


def answer(ask):
    """Agent 1 cooperates, agent 2 thinks, agent 3 is unreadable at first and then wordy."""
    agent = ask.key.agent
    if ask.name == "communicate":
        return Reply(("Café: let us cooperate!", "Nothing", "Coöperation is all")[agent - 1])
    if agent == 3:
        return Reply("Now I choose 30." if ask.rejected else "maybe", request="r")
    return Reply("20", thoughts="They may be cooperating." if agent == 2 else "", request="r")


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "r.sqlite"
    with Recording(path) as recording:
        for seed in (1, 2):
            KeynesianBeautyContest(
                n_players=3, n_rounds=2, minds=ScriptedMind(answer), rng=seed, recording=recording
            ).run_model()
    before = path.read_bytes(), sorted(path.parent.iterdir())
    yield Search(path)
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == before


def places(found):
    return {(hit.kind, hit.round, hit.agent, hit.attempt) for hit in found.hits}


def test_words_are_found_in_answers_thoughts_messages_and_prompts(search):
    assert places(search.find("cooperat", run=0, kind=SAID)) == {(SAID, 1, 1, 0), (SAID, 1, 3, 0)}
    assert places(search.find("cooperating", run=0)) == {(THOUGHT, 0, 2, 0), (THOUGHT, 1, 2, 0)}
    assert places(search.find("CAFE cooperate", kind=ANSWERED, run=1)) == {(ANSWERED, 1, 1, 0)}
    assert search.find('"us let"').total == 0
    (hit,) = search.find('"let us" coop', run=0, kind=SAID).hits
    assert hit.excerpt == ("Café: ", "let us", " ", "coop", "erate!")
    asks = Recorded(search.path)
    sent = search.find("cooperate", kind=SENT, run=0).hits
    assert sent
    for hit in sent:
        chat = asks.chat(hit.run, hit.round, hit.phase, hit.agent, hit.call, hit.attempt)
        assert any("cooperate" in content for _, content in chat)


def test_facts_choose_asks(search):
    asks = Recorded(search.path).asks()
    assert search.find(valid=False).total == (~asks["valid"]).sum() == 4
    assert search.find(read_as="only").total == (asks["read_as"] == "only").sum() > 0
    assert search.find(run=1, phase="act", agent=3).total == 4
    first, second = (search.find(phase="act", start=start, most=3) for start in (0, 3))
    assert first.total == second.total == (asks["phase"] == "act").sum()
    assert not places(first) & places(second)


@pytest.mark.parametrize("words", ["-", '"', '" "', "*()"])
def test_words_without_letters_are_refused_in_a_line(search, words):
    with pytest.raises(ParameterError, match="no word or number"):
        search.find(words)


@pytest.mark.parametrize("words", ['a"b', "x OR", "text:33", "NEAR(", "(33", "33*", "3\0 3"])
def test_signs_of_the_query_language_are_text(search, words):
    assert search.find(words).total >= 0


def test_a_search_without_patience_finds_what_is_in_the_index_by_now(search, monkeypatch):
    monkeypatch.setattr(
        "sabm_mesa.recording.search._ANSWERS", _ANSWERS.replace("LIMIT 2000", "LIMIT 3")
    )
    whole = search.find("cooperat", most=100)
    assert whole.complete
    growing, seen = Search(search.path), []
    while not growing.complete:
        seen.append(growing.find("cooperat", most=100, patience=0))
    searched = [found.searched for found in seen]
    assert searched == sorted(searched)
    assert searched[0] < searched[len(seen) // 2] < searched[-1] == whole.searched
    assert [found.complete for found in seen] == [False] * (len(seen) - 1) + [True]
    assert places(seen[0]) < places(whole) == places(seen[-1])


def test_after_an_error_the_index_is_made_anew(search, monkeypatch):
    again = Search(search.path)
    monkeypatch.setattr("sabm_mesa.recording.search._INSERT_PLACE", "INSERT INTO gone VALUES (1)")
    with pytest.raises(RecordingError, match="no such table"):
        again.find("cooperate")
    monkeypatch.undo()
    assert again.find("cooperate") == search.find("cooperate")


def test_hits_that_are_everywhere_are_counted_up_to_a_bound(search, monkeypatch):
    every = search.find()
    assert not every.more
    monkeypatch.setattr("sabm_mesa.recording.search.COUNTED", 5)
    first, later = (search.find(start=start, most=3) for start in (0, 6))
    assert (first.total, first.more, later.total, later.more) == (5, True, 9, True)
    assert [*first.hits, *later.hits] == [*every.hits[:3], *every.hits[6:9]]
    last = search.find(start=every.total - 1, most=1)
    assert (last.total, last.more, last.hits) == (every.total, False, every.hits[-1:])
