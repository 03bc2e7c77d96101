"""``sabm audit``."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest

from tests.llm_server import LLMServer
from tests.runs.reruns import process
from tests.studies.audited import EXPERIMENT, percent_of_100

from .support import Sabm, one_line

FACTORS = ["--factor", "wording=default,reworded_3", "--factor", "answer_format=labelled,json"]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    path = tmp_path / "planted.toml"
    path.write_text(EXPERIMENT, "utf-8")
    return path


@pytest.mark.slow
def test_classical_minds_are_said_to_read_nothing(sabm: Sabm, planted: Path) -> None:
    out = planted.parent / "audit"
    command = ["audit", planted, *FACTORS, "--runs", 3, "--out", out]
    done = sabm(*command)

    assert done.status == 0, done.err
    assert "each other cell changes one factor." in done.out
    assert "Cells: 3; verdicts on claims: 1 not judged." in done.out
    assert "these minds do not read texts, and the audit shows seeds only." in done.out
    assert (out / "report.html").exists()
    again = json.loads(sabm(*command, "--json").out)
    assert (len(again["cells"]), again["seeds_per_cell"]) == (3, 3)
    assert again["claims"][0]["verdict"] == "not judged"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--factor", "=a"], "--factor takes NAME=A,B,…, not '=a'."),
        (["--factor", "wording"], "--factor takes NAME=A,B,…, not 'wording'."),
        (["--factor", "wording=default,no_such"], "no_such"),
        (["--factor", "minds=a,b"], "To vary the minds, give --minds SPEC several times."),
        (["--factor", "n_rounds=1,2", "--factor", "n_rounds=1,3"], "n_rounds is given twice."),
        (["--minds", "nobody"], "nobody"),
    ],
)
def test_wrong_use_is_one_line(sabm: Sabm, planted: Path, arguments: list[str], says: str) -> None:
    done = sabm("audit", planted, *arguments, "--out", planted.parent / "out")

    assert done.status == 2
    assert says in one_line(done)
    assert not (planted.parent / "out").exists()


def test_the_estimate_has_a_line_a_condition_and_runs_nothing(sabm: Sabm, planted: Path) -> None:
    out = planted.parent / "out"
    minds = ["--minds", "llm:gpt-4o-mini", "--minds", "llm:gpt-4o"]
    done = sabm("audit", planted, *FACTORS[:2], *minds, "--cost", "--out", out)

    assert done.status == 0, done.err
    lines = [line for line in done.out.splitlines() if line.startswith("cooperative")]
    assert [line.count("llm:gpt-4o-mini") for line in lines] == [1, 1, 0]
    assert not out.exists()


@pytest.mark.slow
def test_an_audit_that_was_stopped_goes_on_and_pays_for_nothing_twice(
    sabm: Sabm, planted: Path
) -> None:
    rng = random.Random(1)

    def brain(messages: list[dict[str, str]], body: dict[str, object]) -> str:
        text = " ".join(each["content"] for each in messages)
        pick = 100 if 100 * rng.random() < percent_of_100(text) else 0
        answer = json.dumps({"reasoning": "brief", "answer": pick})
        return answer if "response_format" in body else f"A thought.\n{pick}"

    out = planted.parent / "audit"
    with LLMServer(brain=brain, latency=0.02) as server:
        minds = ["--minds", f"llm:gpt-4o-mini@{server.url}"]
        command = ["audit", planted, *FACTORS[:2], *minds, "--runs", 8, "--out", out]
        command += ["--max-concurrency", 8]
        with process(["-m", "sabm_mesa", *command]) as stopped:
            server.wait_until(lambda s: len(s.requests) > 60)
            stopped.send_signal(signal.SIGTERM)
            said = stopped.communicate()[1]
        assert "the same command continues from there" in said
        before = len(server.requests)
        done = sabm(*command)
        assert done.status == 0, done.err
        assert 60 < before < len(server.requests) == 2 * 2 * 8 * 12
        assert "wording = reworded_3" in done.out
        assert "1 fragile" in done.out
        assert sabm(*command).status == 0
        assert len(server.requests) == 2 * 2 * 8 * 12
    assert sabm("replay", out / "recording.sqlite").status == 0
