"""Planned runs: what makes two of them the same, and running what is missing of them."""

import json
from pathlib import Path

import pytest

from sabm_mesa import (
    Budget,
    Connection,
    KeynesianBeautyContest,
    Recorded,
    ScriptedMind,
)
from sabm_mesa.errors import BudgetExceeded, RunError, UnknownName
from sabm_mesa.llm import close_all
from sabm_mesa.runs.planned import RunSpec, find_runs, missing, run_missing
from sabm_mesa.runs.rerun import replay
from tests.core.support import Tiny, rows
from tests.llm_server import LLMServer
from tests.runs.reruns import count
from tests.runs.sweeps import FIXED

SMALL = {"n_players": 3, "n_rounds": 3}


def contest(seed: int = 1, **more) -> RunSpec:
    tags = more.pop("tags", {})
    return RunSpec(KeynesianBeautyContest, {**SMALL, **more}, seed, tags)


def test_a_run_is_known_by_what_it_is_and_not_by_how_it_was_asked_for() -> None:
    default = contest(minds="classical", condition="baseline")
    assert default.digest == contest().digest
    assert len(default.digest) == 32


@pytest.mark.parametrize(
    "other",
    [
        contest(2),
        contest(n_rounds=4),
        contest(minds="fixed:3"),
        contest(tags={"condition": "a"}),
        RunSpec(Tiny, FIXED, 1),
        contest().forked(1, {"reward_rule": "exclusive"}),
        contest().forked(2, {"reward_rule": "exclusive"}),
        contest(2).forked(1, {"reward_rule": "exclusive"}),
    ],
)
def test_what_makes_another_run(other) -> None:
    this = contest().forked(1, {"condition": "cooperative"})
    assert other.digest not in {contest().digest, this.digest}


def test_a_mind_in_a_file_is_what_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def act(seen, rng):\n    return 3\n")
    first = contest(minds=f"py:{file}").digest
    file.write_text("def act(seen, rng):\n    return 4\n")
    assert contest(minds=f"py:{file}").digest != first


def test_what_is_missing_is_run_and_tagged(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    a, b = contest(tags={"condition": "a"}), contest(tags={"condition": "b"})
    assert missing([a, b], path) == [a, b]
    assert run_missing({path: [a]}) == 1
    assert run_missing({path: [a, b]}) == 1
    assert run_missing({path: [b, a]}) == 0

    found = find_runs([a, b, contest()], path)
    assert {spec: run.run for spec, run in found.items()} == {a.digest: 0, b.digest: 1}
    assert found[b.digest].tags == {"condition": "b", "spec": b.digest}
    tags = [json.loads(each) for each in Recorded(path).runs()["tags"]]
    assert tags == [a.recorded_tags, b.recorded_tags]
    assert found[a.digest].measures == replay(path, 0).models[0].end_measures()


def test_a_run_that_no_plan_asked_for_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    KeynesianBeautyContest(**SMALL, rng=1, recording=path).run_model()
    assert find_runs([contest()], path) == {}


def test_forks_come_after_the_runs_that_they_fork(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    parent = contest()
    fork = parent.forked(1, {"condition": "cooperative"}, tags={"condition": "late"})
    again = fork.forked(2, {"reward_rule": "exclusive"})
    assert run_missing({path: [again, fork]}) == 3  # the parent, too
    assert run_missing({path: [parent, fork, again]}) == 0

    parents = dict(rows(path, "SELECT uid, parent FROM runs"))
    found = find_runs([parent, fork, again], path)
    of = [found[spec.digest] for spec in (parent, fork, again)]
    assert [parents[run.uid] for run in of] == [None, of[0].uid, of[1].uid]
    assert [run.tags.get("condition") for run in of] == [None, "late", None]
    assert [[fork["at"] for fork in run.forks] for run in of] == [[], [1], [1, 2]]


def test_a_run_that_was_cut_off_goes_on_with_a_mind_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"

    def spec(answers):
        return contest(minds=ScriptedMind(answers, "mine"), condition="cooperative")

    with pytest.raises(RunError, match="run out"):
        run_missing({path: [spec(["1"] * 4)]})
    left = spec(lambda _: "1")
    assert missing([left], path) == [left]
    assert run_missing({path: [left]}) == 1
    assert rows(path, "SELECT run, status FROM runs") == [(0, "finished")]
    assert missing([left], path) == []


def test_several_recordings_share_one_budget(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    paths = [tmp_path / name for name in ("a.sqlite", "b.sqlite")]
    with LLMServer(brain=lambda *_: "33") as server:
        plans = {path: [contest(minds=f"llm:stub@{server.url}")] for path in paths}

        def within(most):
            return run_missing(plans, Connection(budget=Budget(max_asks=most)))

        with pytest.raises(BudgetExceeded):
            within(10)
        with pytest.raises(BudgetExceeded):
            within(12)  # what was spent before counts
        assert sum(map(count, paths)) == 12 == server.stats["requests"]
        assert within(30) == 2
        assert server.stats["requests"] == 30
    close_all()
    assert run_missing(plans, Connection(budget=Budget(max_asks=0))) == 0


def test_wrong_use_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.sqlite"
    with pytest.raises(UnknownName, match="n_playrs"):
        run_missing({path: [contest(), contest(n_playrs=3)]})
    with pytest.raises(UnknownName, match="'big'"):
        run_missing({path: [contest(), contest().forked(1, {"reward_rule": "big"})]})
    assert not path.parent.exists()
