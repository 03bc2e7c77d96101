"""An audit from its runs to its report."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sabm_mesa.errors import RecordingError
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.planned import run_missing
from sabm_mesa.runs.rerun import replay
from sabm_mesa.studies.audit import report
from sabm_mesa.studies.audit.plan import audit_plan, expected_cost_of_audit
from sabm_mesa.studies.audit.running import NOT_READ, run
from sabm_mesa.studies.experiments.design import parse_experiment
from sabm_mesa.studies.experiments.running import EARLIER, RECORDING
from tests.llm_server import LLMServer
from tests.studies.experiments.test_earlier_runs import CLAIM, GAMES, games

from .support import Reader, experiment

GIVEN = {"wording": ["default", "reworded_1", "reworded_2", "reworded_3"], "format": None}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """An audit of players that read, in which one wording turns the claim round."""
    folder = tmp_path_factory.mktemp("audit")
    plan = audit_plan(experiment(), minds=[Reader()], given=GIVEN)
    done = run(plan, folder)
    report.write(done, folder)
    return done


@pytest.mark.slow
def test_the_wording_that_turns_the_claim_round_is_named(audited) -> None:
    (found,) = audited.judged

    assert (found.word, found.fragile_in) == ("fragile", [3])
    assert (found.survives, len(found.cells)) == (4, 5)
    (flipped,) = found.cells.loc[~found.cells["side"], "cell"]
    assert audited.plan.change(flipped) == ("wording", "reworded_3")


@pytest.mark.slow
def test_the_same_call_again_runs_nothing_and_one_with_more_runs_the_rest(audited) -> None:
    folder, minds = audited.path.parent, [Reader()]
    assert audited.ran == 5 * 2 * 10

    assert run(audit_plan(experiment(), minds=minds, given=GIVEN), folder).ran == 0
    more = audit_plan(experiment(), minds=minds, given=GIVEN, runs=11)
    assert run(more, folder).ran == 5 * 2
    assert len({run.tags["spec"] for run in load_runs(audited.path)}) == 5 * 2 * 11


def test_all_cells_replay(audited) -> None:
    last = load_runs(audited.path)[-1]
    assert last.parameters["answer_format"] == "json"
    replay(audited.path, last.run)


def test_the_report_says_the_verdict_and_its_tables_hold_every_cell(audited) -> None:
    folder = audited.path.parent

    text = (folder / "report.md").read_text("utf-8")
    assert "It does not hold with wording = reworded\\_3." in text
    assert "1 claim in 5 cells: 1 fragile." in text
    assert (folder / "figures" / "claim-1.png").stat().st_size > 5_000
    effects = pd.read_csv(folder / "effects.csv")
    assert effects["cell"].tolist() == list(range(1, 6))
    by_seed = pd.read_csv(folder / "by_seed.csv").groupby("cell")["effect"].median()
    assert by_seed.tolist() == pytest.approx(effects["effect"].tolist())
    assert pd.read_csv(folder / "cells.csv").iloc[0].tolist() == [1, "default", "labelled"]
    said = json.loads((folder / "summary.json").read_text("utf-8"))
    assert said["claims"][0]["fragile_in"] == [{"factor": "wording", "level": "reworded_3"}]


def test_a_model_that_is_added_later_costs_its_own_runs_only(tmp_path) -> None:
    """Also what a process leaves that was killed before the second model was asked anything."""
    given = {"wording": ["default", "reworded_1"]}
    both = audit_plan(experiment(), minds=["fixed:3", "classical"], given=given, runs=2)
    first = both.plans[0]
    run_missing({tmp_path / RECORDING: list(first.specs.values())})

    estimate = expected_cost_of_audit(both, tmp_path)
    assert estimate.runs == 8
    assert run(both, tmp_path).ran == 8


def test_the_recording_of_something_else_is_refused(tmp_path) -> None:
    plan = audit_plan(experiment(), minds=["fixed:3"], given={"format": None}, runs=1)
    run(plan, tmp_path)

    other = audit_plan(experiment(), given={"format": None}, runs=1, seed=9)
    with pytest.raises(RecordingError, match="Choose another folder"):
        run(other, tmp_path)


def test_minds_that_read_nothing_say_so(tmp_path) -> None:
    plan = audit_plan(experiment(), given={"wording": None}, runs=3)

    (found,) = run(plan, tmp_path).judged
    assert (found.word, found.why) == ("not judged", NOT_READ)
    assert not found.cells["shown"].any()


@pytest.mark.slow
def test_earlier_runs_are_played_once_a_model_and_are_the_same_in_all_cells(
    tmp_path, monkeypatch
) -> None:
    own = parse_experiment("games", games(tmp_path, GAMES + CLAIM))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        minds = [f"llm:{name}@{server.url}" for name in ("gpt-4o-mini", "gpt-4o")]
        given = {"wording": ["default", "reworded_1"]}
        plan = audit_plan(own, minds=minds, given=given, runs=3)
        estimate = expected_cost_of_audit(plan, tmp_path / "out")
        assert [line.question for line in estimate.lines] == [
            "earlier runs", "earlier runs", *(f"cell {n}" for n in range(1, 4))
        ]  # fmt: skip
        done = run(plan, tmp_path / "out")
        asked = server.stats["requests"]

        parties = load_runs(tmp_path / "out" / EARLIER / RECORDING)
        assert [each.parameters["minds"] for each in parties] == minds
        played = [each.parameters for each in load_runs(done.path)]
        assert len(played) == done.ran == 3 * 3 * 3
        held = {
            (each["minds"], json.dumps(each["party"], sort_keys=True))
            for each in played
            if each["party"] is not None
        }
        assert sorted(mind for mind, _ in held) == sorted(minds)
        assert done.summary()["asks"] == asked
        assert f"sabm replay {done.paths[1]}" in report.commands(done)
        again = run(plan, tmp_path / "out")
        assert (again.ran, server.stats["requests"]) == (0, asked)
        assert expected_cost_of_audit(plan, tmp_path / "out").runs == 0
    replay(done.path, load_runs(done.path)[-1].run)
