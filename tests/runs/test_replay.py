"""Replay: a run again from its recording alone, and what is said when it does not come out so."""

import json

import numpy as np
import pytest

from sabm_mesa import ScriptedMind
from sabm_mesa.errors import ParameterError, RecordingError, ReplayMismatch, UnknownName
from sabm_mesa.llm import ScriptedClient, close_all
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.recording.rows import AskRow, columns
from sabm_mesa.runs.rerun import replay
from tests.core.support import Priced, Tiny, rows, tiny
from tests.llm_server import LLMServer
from tests.runs.reruns import (
    Drawing,
    change,
    count,
    first_question,
    no_key,
    play,
    replayed,
    same_data,
)


@pytest.fixture(autouse=True)
def without_key(monkeypatch):
    with no_key(monkeypatch):
        yield


@pytest.mark.parametrize(
    ("name", "more"),
    [
        (
            "kbc",
            {"personas": {"agreeable": 2, "none": 1}, "answer_format": "json"},
        ),
        (
            "bertrand",
            {"demand": "logit", "n_rounds": 6, "n_firms": 3},
        ),
        ("evacuation", {"movement": "simultaneous", "obstacles": [[4, 4]]}),
        ("public-goods", {"matching": "chain", "memory": 0, "answer_format": "json"}),
    ],
)  # fmt: skip
def test_a_run_with_a_language_model_without_server_and_key(tmp_path, name, more) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        done = play(name, path, f"llm:stub@{server.url}", **more)
        asked = server.stats["requests"]
    before = path.read_bytes()

    replayed(path, done)
    assert server.stats["requests"] == asked == count(path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.lock"))


def test_answers_that_had_to_be_asked_for_again(tmp_path) -> None:
    path = tmp_path / "r.sqlite"

    def sloppy(messages, body):
        wants_again = len(messages) == 2 and len(messages[1]["content"]) % 2
        return "Hm …\nwell" if wants_again else first_question(messages, body)

    with LLMServer(brain=sloppy) as server:
        done = play("kbc", path, {f"llm:stub@{server.url}": 2, "fixed:0": 1}, n_rounds=4)
    assert count(path, "attempt > 0") > 0
    replayed(path, done)


@pytest.mark.parametrize(
    ("name", "minds"),
    [
        ("kbc", {"classical:level_k": 2, "fixed:7": 1}),
        ("bertrand", "classical:q_learning_fast"),
        ("beauty-contest", {"classical:learning_direction": 2, "classical:empirical_step": 1}),
    ],
)
def test_classical_minds_decide_again(tmp_path, name, minds) -> None:
    path = tmp_path / "r.sqlite"
    replayed(path, play(name, path, minds, n_rounds=8))


def test_a_mixed_population_and_a_mind_of_ones_own(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        minds = {f"llm:stub@{server.url}": 1, Drawing(): 1, "classical": 1}
        done = play("kbc", path, minds, n_rounds=5)
    mine = Drawing()

    replayed(path, done)  # paid, so its answers are in the recording
    replayed(path, done, minds={"drawing": mine})
    assert mine.answered == 0


def test_a_free_mind_of_ones_own_decides_again_or_is_read(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = play("kbc", path, {ScriptedMind(lambda ask: str(ask.key.agent), "mine"): 3})
    asked = []

    def again(ask):
        asked.append(ask.key)
        return str(ask.key.agent)

    replayed(path, done)
    replayed(path, done, minds={"mine": ScriptedMind(again, "mine")})
    assert len(asked) == count(path)
    with pytest.raises(
        ReplayMismatch, match=r'round 0, act, agent 1: mine answered "1", and now "9"'
    ):
        replay(path, minds={"mine": ScriptedMind(lambda _: "9", "mine")})


def test_a_language_model_object_with_settings_and_a_client_of_its_own(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    client = ScriptedClient(lambda _: "Because.\n42")
    mind = LLMMind("m", client, LLMSettings(0.3, 99))
    done = play("kbc", path, mind)
    sent = len(client.requests)

    replayed(path, done, minds={"llm:m": mind})
    assert len(client.requests) == sent
    with pytest.raises(ReplayMismatch, match=r"your own mind: give it with minds=\{'llm:m': mind"):
        replay(path)


class Odd:
    """A paid mind that answers with things that JSON has no form for."""

    def __init__(self):
        self.odd = iter([float("nan"), (1, 2), object, {np.int64(1): 2}, b"7", None, np.inf])

    async def answer(self, ask):
        return np.int64(5) if ask.rejected else next(self.odd)


def test_values_are_used_as_they_can_be_read_again(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = play("kbc", path, Odd(), n_players=7, n_rounds=1)

    assert done.total().reasks == 7
    assert set(done.agent_frame()["choice"]) == {5}
    replayed(path, done)


class Hashing(Drawing):
    spec = "hashing"

    def digest(self, ask):
        return f"{ask.key}/{len(ask.rejected)}"


def test_a_mind_that_hashes_its_requests_itself_need_not_be_at_hand(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = play("kbc", path, Hashing())

    replayed(path, done)
    replayed(path, done, minds={"hashing": Hashing()})


def test_the_runs_of_a_recording_can_be_chosen(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = [play("kbc", path, "classical", rng) for rng in (1, 2, 3)]

    same_data(replay(path), done[2])
    assert replay(path, [0, 2]).numbers == [0, 2]
    same_data(replay(path, [1]), done[1])
    with pytest.raises(RecordingError, match=r"There is no run 3 in .*; it has 0 to 2\."):
        replay(path, [1, 3])


def test_a_run_that_was_cut_off_is_replayed_as_far_as_its_rounds_go(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    whole = play("kbc", False, Drawing())
    with pytest.raises(Exception, match="no connection"):
        play("kbc", path, Drawing(most=9))
    again = replay(path)

    frame = again.model_frame()
    assert 0 < len(frame) < 3
    assert frame.equals(whole.model_frame()[: len(frame)])


def test_a_scenario_of_ones_own_that_cannot_be_imported(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    tiny(minds=Priced(lambda _: "1"), rng=1, recording=path).step()

    with pytest.raises(
        RecordingError,
        match=r"a run of 'tiny' .*:Played.*: it is not registered here: give its file",
    ):
        replay(path)
    assert sum(replay(path, scenario=Tiny).answers_repeated()) == 3


# Tampering.


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> bytes:
    """A run with reasons, talk, personas and an answer that was asked for again."""
    path = tmp_path_factory.mktemp("recorded") / "r.sqlite"

    def brain(messages, body):
        if len(messages) == 2 and "player 2" in messages[0]["content"].lower():
            return "so\nso"
        return first_question(messages, body)

    with LLMServer(brain=brain) as server:
        play("kbc", path, {f"llm:stub@{server.url}": 2, "classical": 1}, personas="calm")
        close_all()
    return path.read_bytes()


ASK = "round = 1 AND phase = 'act' AND agent = 1 AND attempt = 0"
ADDED = ", ".join(columns(AskRow)).replace("round", "5", 1)
ONE_MORE = ADDED.replace("5", "1", 1).replace("call", "7", 1)
TALK = "round = 1 AND phase = 'communicate' AND agent = 1 AND attempt = 0"


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            "UPDATE texts SET text = replace(text, 'average', 'avarage') WHERE text LIKE '%avera%'",
            r'agent 1: line \d+ of the \w+ message was ".*avar.*", and is now ".*aver.*"\.',
        ),
        (f"UPDATE asks SET request = 'f00d' WHERE {ASK}", r"agent 1: the messages are the same, "),
        (f"UPDATE asks SET raw = 'So.' || char(10) || '99' WHERE {ASK}",
         r'round 1, act, agent 1: the answer was read as "\d+", and now "99"\.'),
        (f"UPDATE asks SET raw = 'Boo! ' || raw WHERE {ASK}",
         r'round 1, act, agent 1: the reasoning was ".*", and now "Boo! .*"\.'),
        (f"UPDATE asks SET value = '3.5' WHERE {ASK}",
         r'round 1, act, agent 1: the answer was read as "3.5", and now "\d+"\.'),
        (f"UPDATE asks SET raw = raw || '!' WHERE {TALK}",
         r'round 1, communicate, agent 1: the answer was read as'),
        (f"UPDATE asks SET mind = 'llm:other' WHERE {ASK}", r"llm:other was asked, and now llm:"),
        (f"UPDATE asks SET name = 'plan' WHERE {ASK}", r"'plan' was asked, and now 'act'\."),
        (f"UPDATE asks SET position = 7 WHERE {ASK}", r"in turn 7, and now in turn 0\."),
        (f"UPDATE asks SET prompt_tokens = 1 + prompt_tokens WHERE {ASK}",
         r"in the model data of round 1: prompt_tokens was \d+, and is now \d+\."),
        ("UPDATE model_data SET data = '[1' || substr(data, 2) WHERE round = 2",
         r"differs in the model data of round 2: mean was 1\d+\S*, and is now \d+\S*\."),
        ("UPDATE agent_data SET data = replace(data, 'classical', 'fixed:1') WHERE round = 1",
         r"in the agent data of round 1: agent 3, mind was fixed:1, and is now classical\."),
        (f"DELETE FROM asks WHERE {ASK}",
         r"differs at round 1, act, agent 1: 'act' is asked, attempt 0, and no such answer"),
        ("DELETE FROM asks WHERE agent = 3 AND round = 2 AND phase = 'act'",
         r"differs at round 2, act, agent 3: 'act' is asked, attempt 0, and no such answer"),
        (f"INSERT INTO asks SELECT {ONE_MORE} FROM asks WHERE {ASK}",
         r"1 of the \d+ recorded answers of round 1 were not asked for"),
        (f"INSERT INTO asks SELECT {ADDED} FROM asks WHERE {ASK}",
         r"1 of its \d+ recorded answers were not asked for"),
        ("DELETE FROM model_data WHERE round = 1", r"the model data of round 1 are missing"),
        ("DELETE FROM agent_data WHERE round = 2", r"the agent data of round 2 are missing"),
        ("DELETE FROM message_data WHERE round = 2", r"the message data of round 2 are missing"),
        ("UPDATE message_data SET data = replace(data, ',null,', ',[1],') WHERE round = 1",
         r"differs in the message data of round 1: to was \[1\], and is now None\."),
        ("UPDATE runs SET parameters = replace(parameters, '\"n_rounds\":3', '\"n_rounds\":2')",
         r"differs: it ended after 2 rounds, and the recording has 3\."),
        ("UPDATE runs SET parameters = replace(parameters, '\"n_rounds\":3', '\"n_rounds\":4')",
         r"differs at round 3, communicate, agent \d: 'communicate' is asked, attempt 0, and no"),
        ("UPDATE runs SET parameters = replace(parameters, 'independent', 'exclusive')",
         r"differs at round 0, act, agent 1: line \d+ of the"),
        ("UPDATE runs SET parameters = replace(parameters, '0.7', '0.9')",
         r"the messages are the same, but the request was made with .* settings \(temperature"),
        ("UPDATE runs SET seed = '[2]'", r"differs at round \d, \w+, agent \d: |in the agent data"),
        ("UPDATE prompts SET text = replace(text, 'average', 'mean')",
         r"differs: its prompt entry '\w+' was changed in the recording\."),
        ("DELETE FROM prompts WHERE text LIKE '%avera%'", r"is not a usable recording \(KeyError"),
        ("DELETE FROM texts WHERE text LIKE '%avera%'", r"is not a usable recording \(KeyError"),
        ("UPDATE runs SET forks = 'nonsense'", "is not a usable recording"),
        ("UPDATE model_data SET data = 'nonsense'", "is not a usable recording"),
        ("UPDATE model_data SET data = '7' WHERE round = 1",
         "data in the table model_data"),
    ],
)  # fmt: skip
def test_what_was_tampered_with_is_named(tmp_path, recorded, statement, line) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(recorded)
    assert change(path, statement) > 0

    with pytest.raises(RecordingError, match=line) as error:
        replay(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_the_last_round_cannot_be_taken_away_unnoticed(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    play("kbc", path, "classical")
    for table in ("model_data", "agent_data", "message_data"):
        change(path, f"DELETE FROM {table} WHERE round = 2")

    with pytest.raises(
        ReplayMismatch, match=r"round 2 is played, and the recording ends after 2 roun"
    ):
        replay(path)


def test_a_parameter_that_there_is_no_more(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    play("kbc", path, "classical")
    ((parameters,),) = rows(path, "SELECT parameters FROM runs")
    for new, error, line in (
        ({"n_playas": 3}, UnknownName, "Unknown parameter of KeynesianBeautyContest 'n_playas'"),
        ({"n_players": 1}, ParameterError, r"Run 0 of .*: n_players must be"),
    ):
        changed = json.dumps(json.loads(parameters) | new)
        change(path, "UPDATE runs SET parameters = ?", changed)
        with pytest.raises(error, match=line) as refused:
            replay(path)
        assert refused.value.parameter == next(iter(new))


def test_without_a_recording_or_a_run_in_it_there_is_nothing_to_replay(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with pytest.raises(RecordingError, match="There is no recording"):
        replay(path)
    play("kbc", path, "classical")
    change(path, "DELETE FROM runs")
    with pytest.raises(RecordingError, match="There is no run in"):
        replay(path)
