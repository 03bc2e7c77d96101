"""`sabm reread`: which recorded answers the reader of today reads otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa.llm import close_all
from tests.llm_server import LLMServer
from tests.runs.reruns import change, count, no_key

from .support import Sabm, one_line


@pytest.fixture
def recording(sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recording of a small run of a language model."""
    with no_key(monkeypatch), LLMServer(brain=lambda *_: "I choose 33.") as server:
        outcome = sabm(
            "run", "kbc", "--minds", "llm:stub", "--base-url", server.url, "--seed", 1,
            "--rounds", 1, "--set", "n_players=2", "--out", tmp_path / "out",
        )  # fmt: skip
        close_all()
    assert outcome.status == 0, outcome.err
    return tmp_path / "out" / "recording.sqlite"


def of_the_first_reader(recording: Path) -> None:
    """Make it a recording of the first reader, which read what today's reader refuses."""
    change(recording, "UPDATE runs SET versions = json_remove(versions, '$.reader')")
    change(
        recording,
        "UPDATE asks SET raw = 'Rate of 33 it was.', read_as = 'unambiguous' "
        "WHERE phase = 'act' AND agent = 1",
    )


def test_a_recording_of_today_is_read_as_it_was(sabm: Sabm, recording: Path) -> None:
    outcome = sabm("reread", recording)

    assert outcome.status == 0, outcome.err
    assert outcome.out == f"0 of {count(recording)} text answers are read differently now.\n"


def test_answers_that_are_read_otherwise_are_listed(sabm: Sabm, recording: Path) -> None:
    of_the_first_reader(recording)
    outcome = sabm("reread", recording)

    where, then, now, total = outcome.out.splitlines()
    assert where == 'run 0, round 0, act, agent 1, attempt 1: "Rate of 33 it was."'
    assert then == "  then 33"
    assert now.startswith("  now ")
    assert "33 it was" in now
    assert total == f"1 of {count(recording)} text answers are read differently now."
    assert sabm("reread", recording, "--run", 0).out == outcome.out


def test_the_list_as_json_and_the_recording_stays(sabm: Sabm, recording: Path) -> None:
    of_the_first_reader(recording)
    before = count(recording, "read_as = 'unambiguous'")
    outcome = sabm("reread", recording, "--json")

    found = json.loads(outcome.out)
    (other,) = found["otherwise"]
    assert found["answers"] == count(recording)
    assert (other["key"], other["then"], other["read_as"]) == ([0, "act", 1, 0], "33", "")
    assert count(recording, "read_as = 'unambiguous'") == before == 1


def test_what_is_no_recording_is_refused_in_one_line(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm("reread", tmp_path / "none.sqlite")

    assert outcome.status != 0
    assert "none.sqlite" in one_line(outcome)
