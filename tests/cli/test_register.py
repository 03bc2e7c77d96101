"""`sabm register`, and the verdict line of later runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa.llm import close_all
from tests.llm_server import LLMServer
from tests.studies.experiments.support import SMALL

from .support import Sabm, one_line


@pytest.fixture
def six_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of an experiment with six runs a condition, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL.replace("runs = 2", "runs = 6"), "utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("six_runs")
def test_a_study_from_its_registration_to_its_report(sabm: Sabm) -> None:
    with LLMServer(brain=lambda *_: "20") as server:
        at = ("--base-url", server.url)
        done = sabm("register", "small.toml", "--minds", "llm:one", *at)
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("small is registered: 6 runs per condition.\n")
        folder = Path("out/reproduce/small")
        frozen = json.loads((folder / "registration.json").read_text("utf-8"))
        assert frozen["sha256"] in done.out
        assert server.requests == []
        again = sabm("register", "small.toml", *at)
        assert "a registration is never changed" in one_line(again)

        # The registration is found by itself, with its number of runs.
        ran = sabm("reproduce", "small.toml", "--minds", "llm:one", *at)
        assert (ran.status, ran.err) == (0, "")
        line = next(each for each in ran.out.splitlines() if "s registered" in each)
        assert line.startswith("As registered (registered on ")
        assert "\nPrimary claim: " in ran.out
        summary = json.loads((folder / "report.json").read_text("utf-8"))
        assert summary["registration"]["as_registered"]
        assert summary["registration"]["sha256"] == frozen["sha256"]
        assert line in (folder / "report.md").read_text("utf-8")

        other = sabm(
            "reproduce", "small.toml", "--minds", "llm:two", "--out", "other", *at,
            "--registered", folder / "registration.json", "--json",
        )  # fmt: skip
        (found,) = json.loads(other.out)
        line = found["registration"]["deviations"][0]
        assert line.startswith("condition baseline minds: llm:two (127.0.0.1:")
        assert f"Warning: not as registered. {line}" in other.err
    close_all()
    path = folder / "registration.json"
    path.write_text(path.read_text("utf-8").replace("below 50", "below 90"), "utf-8")
    assert "registration.json was edited" in one_line(sabm("reproduce", "small.toml"))


def test_what_cannot_be_registered_leaves_nothing_behind(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL, "utf-8")
    for options, line in (
        ((), "it takes 6 or more (--runs)"),
        (("--runs", 9, "--claim", 2), "small has no claim 2; its claims: 1 "),
    ):
        assert line in one_line(sabm("register", "small.toml", *options))
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
