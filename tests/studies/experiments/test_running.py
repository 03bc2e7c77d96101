"""Running an experiment: what is there is not run again, and nothing is asked twice."""

from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa import Budget, Connection
from sabm_mesa.errors import BudgetExceeded, ParameterError, RecordingError, UnknownName
from sabm_mesa.llm import close_all
from sabm_mesa.runs.rerun import replay
from sabm_mesa.studies.experiments.running import RECORDING, Outcome, plan, run
from tests.llm_server import LLMServer
from tests.studies.experiments.support import FORK, SMALL, experiment_of

EXPERIMENT = experiment_of("small", SMALL)
FORKED = experiment_of("forked", SMALL + FORK)


def same(one: Outcome, other: Outcome) -> None:
    """Both have the same data in the same order; the numbers of their runs may differ."""
    for name in ("model_data", "agent_data"):
        pd.testing.assert_frame_equal(
            getattr(one, name).drop(columns="run"), getattr(other, name).drop(columns="run")
        )


def test_a_condition_may_have_another_scenario_with_the_same_columns(tmp_path: Path) -> None:
    small = """
title = "Two commons"
question = "Which lasts?"
source = "nobody"
scenario = "fishery"
minds = "nobody"
cost = "small"
set = { n_rounds = 3 }
scales = { quick = { runs = 2 }, paper = { runs = 2 } }

[[conditions]]
name = "lake"
label = "Lake"

[[conditions]]
name = "meadow"
label = "Meadow"
scenario = "SCENARIO"

[[measures]]
name = "stock"
label = "Stock"
columns = "stock"
"""
    done = run(plan(experiment_of("two", small.replace("SCENARIO", "pasture"))), tmp_path)
    assert done.runs[["condition", "scenario"]].drop_duplicates().to_numpy().tolist() == [
        ["lake", "fishery"], ["meadow", "pasture"],
    ]  # fmt: skip
    for wrong, said in {
        "kbc": "meadow: kbc has other columns than fishery",
        "meadow": "meadow: Unknown scenario 'meadow'",
    }.items():
        with pytest.raises(ParameterError, match=said):
            experiment_of("two", small.replace("SCENARIO", wrong))


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    first = run(plan(EXPERIMENT), tmp_path)
    assert first.ran == 4
    assert list(first.runs["condition"]) == ["baseline"] * 2 + ["cooperative"] * 2
    assert list(first.runs["seed"]) == [1, 2, 1, 2]
    assert list(first.model_data.columns[:4]) == ["condition", "seed", "run", "round"]
    again = run(plan(EXPERIMENT), tmp_path)
    assert again.ran == 0
    same(first, again)
    more = run(plan(EXPERIMENT, runs=3), tmp_path)
    assert more.ran == 2
    same(more, run(plan(EXPERIMENT, runs=3), tmp_path / "other"))


def test_a_fork_has_its_trunks_history(tmp_path: Path) -> None:
    done = run(plan(FORKED), tmp_path)
    data = done.model_data.drop(columns=["condition", "run"])
    parent, branch = (
        data[done.model_data["condition"] == name].reset_index(drop=True)
        for name in ("baseline", "turned")
    )
    at_first = parent["round"] == 0
    pd.testing.assert_frame_equal(parent[at_first], branch[at_first])
    assert not parent.equals(branch)
    assert done.runs.set_index(["condition", "seed"])["parent"].dropna().index.to_list() == [
        ("turned", 1),
        ("turned", 2),
    ]
    assert run(plan(FORKED), tmp_path).ran == 0
    assert len(replay(tmp_path / RECORDING, range(6)).models) == 6


def test_a_stopped_experiment_goes_on_and_asks_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        planned = plan(FORKED, minds=f"llm:gpt-4o-mini@{server.url}")
        whole = run(planned, tmp_path / "whole")
        asked = server.stats["requests"]
        # 4 parents of 3 + 6 questions, and 2 forks whose first 3 were answered there.
        assert asked == 4 * 9 + 2 * 6
        with pytest.raises(BudgetExceeded):
            run(planned, tmp_path / "cut", connection=Connection(budget=Budget(max_asks=20)))
        with pytest.raises(BudgetExceeded):  # the budget counts what was spent before
            run(planned, tmp_path / "cut", connection=Connection(budget=Budget(max_asks=20)))
        assert server.stats["requests"] == asked + 20
        cut = run(planned, tmp_path / "cut", connection=Connection(budget=Budget(max_asks=asked)))
        assert server.stats["requests"] == 2 * asked
        same(whole, cut)
        assert run(planned, tmp_path / "cut").ran == 0
        assert server.stats["requests"] == 2 * asked
    close_all()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert run(planned, tmp_path / "whole").ran == 0  # no key is needed to read what is there


def test_a_folder_takes_other_scales_but_no_other_minds_or_seeds(tmp_path: Path) -> None:
    run(plan(EXPERIMENT), tmp_path)
    before = (tmp_path / RECORDING).read_bytes()
    there = r"holds 4 runs by classical, with the seeds 1 to 2: none with the minds and seeds of"
    with pytest.raises(RecordingError, match=rf"{there} this small \(fixed:7, 1 to 2\)"):
        run(plan(EXPERIMENT, minds="fixed:7"), tmp_path)
    with pytest.raises(RecordingError, match=r"\(classical, 99 to 100\). Choose another folder"):
        run(plan(EXPERIMENT, seed=99), tmp_path)
    assert (tmp_path / RECORDING).read_bytes() == before
    assert run(plan(EXPERIMENT, "paper"), tmp_path).ran == 6  # more rounds: none of them fits
    assert run(plan(EXPERIMENT), tmp_path).ran == 0


def test_wrong_use_leaves_no_file(tmp_path: Path) -> None:
    for wrong in ("llm:gpt-4o-mini@ftp://x", "classical:none", "nobody"):
        with pytest.raises(Exception, match=r"\S") as caught:
            run(plan(EXPERIMENT, minds=wrong), tmp_path / "out")
        assert getattr(caught.value, "exit_status", 0) == 2
    assert not (tmp_path / "out").exists()


def test_minds_by_condition() -> None:
    planned = plan(FORKED, minds={"cooperative": "fixed:3"})
    assert {cell.condition: cell.parameters["minds"] for cell in planned.cells} == {
        "baseline": "classical", "cooperative": "fixed:3", "turned": "classical",
    }  # fmt: skip
    assert planned.minds["turned"] == "classical"
    with pytest.raises(ParameterError, match="continues the runs of baseline"):
        plan(FORKED, minds={"turned": "fixed:3"})
    with pytest.raises(UnknownName, match="'nowhere'"):
        plan(FORKED, minds={"baseline": "fixed:3", "nowhere": "fixed:3"})
    with pytest.raises(UnknownName, match="'large'"):
        plan(FORKED, "large")
