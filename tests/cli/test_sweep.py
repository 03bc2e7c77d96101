"""``sabm sweep``."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.llm_server import LLMServer

from .support import Sabm, one_line


def test_a_grid(sabm: Sabm, tmp_path: Path) -> None:
    command = (
        "sweep", "kbc", "--vary", "n_players=3,6", "--minds", "fixed:30", "--minds", "classical",
        "--rounds", "2", "--runs", "2", "--out", tmp_path,
    )  # fmt: skip
    done = sabm(*command)

    assert done.status == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0].startswith(
        "Keynesian beauty contest: 8 runs; varied: n_players (2), minds (2); seeds 1–2; "
    )
    assert lines[1].startswith("  n_players 3, minds fixed:30: mean 30, target 20")
    assert (
        lines[-1] == f"Written to {tmp_path}: recording.sqlite, runs.csv, model.csv, measures.png"
    )
    assert (tmp_path / "measures.png").exists()
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert runs["minds"].tolist() == (["fixed:30"] * 2 + ["classical"] * 2) * 2
    assert len(pd.read_csv(tmp_path / "model.csv")) == 16
    again = sabm(*command).out
    assert "8 runs, 8 of them from before; " in again


def test_json(sabm: Sabm, tmp_path: Path) -> None:
    done = sabm(
        "sweep", "bertrand", "--vary", "initial_prices=[[2, 3], [4, 5]]", "--rounds", "2",
        "--set", "communication=false", "--seed", "7", "--out", tmp_path, "--json",
    )  # fmt: skip

    said = json.loads(done.out)
    assert said["varied"] == {"initial_prices": [[2, 3], [4, 5]]}
    assert said["parameters"] == {"communication": False, "n_rounds": 2}
    assert (said["seeds"], said["runs"], said["ran"], said["cost_usd"]) == ([7], 2, 2, 0.0)
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert runs["initial_prices"].tolist() == ["[2, 3]", "[4, 5]"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--vary", "n_players"], "--vary takes NAME=A,B,…, not 'n_players'."),
        (["--vary", "n_players="], "--vary takes NAME=A,B,…"),
        (["--vary", "n_players=3", "--vary", "n_players=4"], "--vary n_players is given twice."),
        (["--vary", "minds=a,b"], "give --minds several times"),
        (["--vary", "n_players=[3"], "is not valid JSON"),
    ],
)
def test_wrong_use(sabm: Sabm, tmp_path: Path, arguments: list[str], says: str) -> None:
    done = sabm("sweep", "kbc", *arguments, "--out", tmp_path / "out")

    assert done.status == 2
    assert says in one_line(done)
    assert not (tmp_path / "out").exists()


def test_a_cap_stops_it_and_a_larger_one_goes_on(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        command = (
            "sweep", "kbc", "--vary", "n_players=3,4", "--rounds", "1", "--minds",
            "llm:gpt-4o-mini", "--base-url", server.url, "--out", tmp_path / "out",
        )  # fmt: skip
        stopped = sabm(*command, "--max-asks", "5")
        assert stopped.status == 1
        said = one_line(stopped)
        assert said.startswith("The budget of 5 asks is used up")
        assert "5 answers are in " in said
        assert said.endswith("the same command with a larger budget continues from there.")
        done = sabm(*command, "--max-asks", "7")
        assert done.status == 0
        assert "Spent on these runs in all: $0.0" in done.out
        assert server.stats["requests"] == 7
