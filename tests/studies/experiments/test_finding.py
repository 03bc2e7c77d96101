"""Every recorded run belongs to one condition at most, also where conditions are the same."""

from pathlib import Path

import pytest

from sabm_mesa import Budget, Connection
from sabm_mesa.errors import BudgetExceeded
from sabm_mesa.llm import close_all
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.studies.experiments.results import results
from sabm_mesa.studies.experiments.running import RECORDING, Outcome, Plan, plan, run
from sabm_mesa.studies.experiments.schema import Experiment
from tests.llm_server import LLMServer
from tests.studies.experiments.support import FORK, SMALL, experiment_of

COMPARED = """
[[claims]]
text = "It differs."
source = "nobody"
measure = "last"
kind = "less"
condition = "cooperative"
than = "baseline"
"""
SAME = SMALL.replace('set = { condition = "cooperative" }', "")
TWINS = experiment_of("small", SAME + COMPARED)
TRIPLETS = experiment_of("small", f'{SAME}\n[[conditions]]\nname = "third"\nlabel = "Third"\n')
FORKED_TWINS = experiment_of("small", SAME + FORK + FORK.replace("turned", "turned-too").replace(
    'fork_of = "baseline"', 'fork_of = "cooperative"'))  # fmt: skip
ASKS = 9
"""Questions of a run: 3 players, 2 rounds, and the talk before the second."""


def owned(outcome: Outcome) -> dict[str, list[int]]:
    """Condition → the numbers of its runs; no run has two conditions, and all are finished."""
    assert outcome.runs["run"].is_unique
    assert set(outcome.runs["status"]) == {"finished"}
    for data in (outcome.model_data, outcome.agent_data):
        assert (data.groupby("run")["condition"].nunique() == 1).all()
    return {str(name): list(runs) for name, runs in outcome.runs.groupby("condition")["run"]}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("experiment", [TWINS, TRIPLETS])
def test_what_was_cut_off_is_gone_on_with_before_anything_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        planned = plan(experiment, minds=f"llm:stub@{server.url}")
        for most in (7, 20):
            with pytest.raises(BudgetExceeded):
                run(planned, tmp_path, connection=Connection(budget=Budget(max_asks=most)))
        done = run(planned, tmp_path)
        found = owned(done)
        n = 2 * len(experiment.conditions)
        assert sorted(run for runs in found.values() for run in runs) == list(range(n))
        assert len(Recorded(tmp_path / RECORDING).runs()) == n
        assert server.stats["requests"] == int(done.runs["asks"].sum()) == ASKS * n
        assert run(planned, tmp_path).ran == 0
    close_all()


def test_more_runs_of_the_same_conditions(tmp_path: Path) -> None:
    run(plan(TWINS, runs=2), tmp_path)
    more = run(plan(TWINS, runs=3), tmp_path)
    assert (more.ran, owned(more)) == (2, {"baseline": [0, 1, 4], "cooperative": [2, 3, 5]})
    verdict = results(more).verdicts[1]
    assert (verdict.word, verdict.why[:43]) == (
        "inconclusive", "Told to cooperate and Baseline are one and ",
    )  # fmt: skip


def test_a_condition_that_becomes_like_another_gets_runs_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        minds = f"llm:stub@{server.url}"
        before = run(plan(experiment_of("small", SMALL), minds=minds), tmp_path)
        after = run(plan(TWINS, minds=minds), tmp_path)
        assert owned(before) == {"baseline": [0, 1], "cooperative": [2, 3]}
        assert (after.ran, owned(after)) == (2, {"baseline": [0, 1], "cooperative": [4, 5]})
        assert server.stats["requests"] == 6 * ASKS
        # and back: what was paid for the other condition is there still
        assert run(plan(experiment_of("small", SMALL), minds=minds), tmp_path).ran == 0
    close_all()


def test_forks_of_same_conditions_go_on_with_their_own_trunks(tmp_path: Path) -> None:
    done = run(plan(FORKED_TWINS), tmp_path)
    uids = dict(zip(done.runs["uid"], done.runs["condition"], strict=True))
    parents = done.runs.dropna(subset="parent")
    assert {row["condition"]: uids[row["parent"]] for _, row in parents.iterrows()} == {
        "turned": "baseline", "turned-too": "cooperative",
    }  # fmt: skip
    assert run(plan(FORKED_TWINS), tmp_path).ran == 0
    # A fork of another condition is another run.
    one = experiment_of(
        "small", SAME + FORK.replace('fork_of = "baseline"', 'fork_of = "cooperative"')
    )
    last = run(plan(one), tmp_path)
    assert (last.ran, len(owned(last))) == (2, 3)


def test_same_requests_are_named() -> None:
    def named(planned: Plan) -> list[list[str]]:
        return planned.alike

    assert named(plan(TWINS)) == [["baseline", "cooperative"]]
    assert named(plan(TWINS, minds={"cooperative": "fixed:3"})) == []
    assert named(plan(FORKED_TWINS)) == [["baseline", "cooperative"], ["turned", "turned-too"]]
