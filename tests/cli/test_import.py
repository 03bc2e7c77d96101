"""`sabm import`: decisions of others, and every command that reads a recording without prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa.visualization.reading import charts, comparing, rounds
from sabm_mesa.visualization.reading.store import listed, run_data

from .support import Sabm, one_line

CODEBOOK = """
who = "students in 3 sessions"
source = "made up"
scenarios = ["public-goods"]
decision = "contribution"
low = 0
high = 20
[columns]
decision = "gift"
session = "session"
"""

MAP = ["--map", "run=model+session", "--map", "decision=gift", "--map", "mind=model"]
MONEY = ["--set", "endowment=20", "--set", "multiplier=2"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Gifts of two models, in three sessions of four players and three rounds each."""
    rows = [
        {"model": model, "session": session, "round": time, "player": player,
         "gift": (5 * player + time + session) % 21}
        for model in "ab" for session in (1, 2, 3) for time in (1, 2, 3) for player in (1, 2, 3, 4)
    ]  # fmt: skip
    path = tmp_path / "gifts.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture
def imported(sabm: Sabm, table: Path) -> Path:
    done = sabm("import", table, "--scenario", "public-goods", *MAP, *MONEY)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"72 decisions of 6 runs are in {table.with_suffix('.sqlite')}.\n"
    return table.with_suffix(".sqlite")


def test_an_import_that_fails_leaves_no_recording(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "gifts.csv"
    path.write_text("run,player,decision\na,1,3\na,2,4\nb,1,1\nb,2,2\nb,3,3\n", "utf-8")
    done = sabm("import", path, "--scenario", "public-goods", "--set", "n_players=2")
    assert "3 are given for 2 agents" in one_line(done)
    assert [file.name for file in tmp_path.iterdir()] == ["gifts.csv"]
    no_recording = sabm("compare", path, "--measure", "contribution")
    assert one_line(no_recording) == (
        f"{path} is a table, not a recording: import it with sabm import {path} --scenario NAME."
    )


def test_a_table_is_imported_and_each_kind_of_problem_has_its_line(
    sabm: Sabm, table: Path, tmp_path: Path
) -> None:
    data = pd.read_csv(table)
    data.loc[1, "gift"] = 35
    data.to_csv(table, index=False)
    out = tmp_path / "other.sqlite"
    done = sabm("import", table, "--scenario", "public-goods", *MAP, *MONEY, "--out", out, "--json")
    said = json.loads(done.out)
    assert (said["recording"], said["runs"], said["decisions"]) == (str(out), 6, 71)
    (problem,) = said["problems"]
    assert problem.startswith("1 decision is no legal answer, recorded as invalid: line 3: 35")
    assert out.exists()
    assert not table.with_suffix(".sqlite").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--scenario", "public-goods"), "no column 'decision'"),
        (("--scenario", "public-goods", "--map", "gift"), "--map takes FIELD=COLUMN"),
        (("--scenario", "public-good", *MAP), "Unknown scenario 'public-good'"),
        (("--scenario", "public-goods", *MAP, "--set", "endowmnt=20"), "endowmnt"),
    ],
)
def test_what_cannot_be_imported_is_one_line(
    sabm: Sabm, table: Path, options: tuple[str, ...], line: str
) -> None:
    done = sabm("import", table, *options)
    assert done.status == 2
    assert line in one_line(done)
    assert not table.with_suffix(".sqlite").exists()


def test_an_imported_recording_is_exported_whole(sabm: Sabm, imported: Path) -> None:
    folder = imported.parent / "tables"
    done = sabm("export", imported, "--out", folder)
    assert (done.status, done.err) == (0, "")
    decisions = pd.read_csv(folder / "decisions.csv")
    assert len(decisions) == 72
    agents = pd.read_csv(folder / "agent_data.csv")
    assert (
        agents["contribution"].tolist()
        == pd.read_csv(imported.with_suffix(".csv"))["gift"].tolist()
    )
    assert (pd.read_csv(folder / "asks.csv")["cost_usd"] == 0).all()


def test_an_imported_recording_is_compared_with_people(sabm: Sabm, imported: Path) -> None:
    data = imported.parent / "class.csv"
    rows = [f"{session},{gift}" for session in "xyz" for gift in (0, 5, 10, 20)]
    data.write_text("\n".join(["session,gift", *rows]), "utf-8")
    data.with_suffix(".toml").write_text(CODEBOOK, "utf-8")
    done = sabm("compare", imported, "--people", data)
    assert (done.status, done.err) == (0, "")
    said = json.loads((imported.parent / "compare" / "people-class.json").read_text("utf-8"))
    assert said["runs"] == 6
    assert "Same distribution: " in done.out


def test_an_imported_recording_is_fitted_and_its_models_are_compared(
    sabm: Sabm, imported: Path
) -> None:
    fitted = sabm("fit", imported, "--mind", "a", "--model", "free_rider", "--absolute", 0)
    assert fitted.status == 0, fitted.err
    compared = sabm("compare", imported, "--measure", "contribution", "--by", "minds")
    assert (compared.status, compared.err) == (0, "")


def test_every_page_of_an_imported_recording_can_be_read(sabm: Sabm, imported: Path) -> None:
    """The reader of the viewer, its charts and comparison, and the static pages."""
    (found,) = listed(imported.parent)
    assert "6 runs" in found.words
    run, other = run_data(imported, 0), run_data(imported, 3)
    first = rounds.asks_of(run, 1)[0]
    assert (first["mind"], first["valid"], first["agent"]) == ("a", True, 1)
    (attempt,) = rounds.exchanges_in(run, 1)[0]["exchange"]
    assert (attempt["messages"], attempt["raw"]) == ([], "8")
    assert rounds.messages_of(run, range(9)) == {}

    names = [chart.name for chart in charts.charts_of(run)]
    assert names == ["contributions", "efficiency", "shares"]
    assert comparing.parameters(run, other) == [("minds", '{"a": 4}', '{"b": 4}')]
    differing = comparing.first_difference(run, other)
    assert differing is not None
    assert (differing.round, differing.agents) == (0, (1, 2, 3, 4))  # by their minds

    done = sabm("bundle", imported, "--out", imported.parent / "pages", "--run", 0)
    assert done.status == 0, done.err  # an environment without an extra is told what it lacks
    assert (imported.parent / "pages" / "run-0.html").exists()
