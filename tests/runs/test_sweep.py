"""Sweeps in this process: their tables, and that nothing is run, asked or paid for twice."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock

from sabm_mesa import Budget, Connection, KeynesianBeautyContest, sweep
from sabm_mesa.errors import (
    BudgetExceeded,
    MindSpecError,
    ParameterError,
    RecordingError,
    RunError,
    UnknownName,
)
from sabm_mesa.llm import close_all
from sabm_mesa.minds.scripted import FixedMind
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.tasks import TASKS
from sabm_mesa.runs.planned import RunSpec
from sabm_mesa.runs.pool import Task, play
from sabm_mesa.runs.rerun import replay
from sabm_mesa.runs.sweep import plan
from tests.core.support import Tiny, rows
from tests.llm_server import LLMServer

from .sweeps import FIXED, Failing, same

CONTEST = {"n_rounds": 2, "minds": "fixed:30"}


def test_every_combination_has_the_same_seeds() -> None:
    specs = plan("kbc", {"n_players": [3, 6], "condition": ["baseline", "cooperative"]}, {}, 2, 5)

    assert {spec.scenario for spec in specs} == {KeynesianBeautyContest}
    assert [(*spec.parameters.values(), spec.seed) for spec in specs] == [
        (3, "baseline", 5), (3, "baseline", 6), (3, "cooperative", 5), (3, "cooperative", 6),
        (6, "baseline", 5), (6, "baseline", 6), (6, "cooperative", 5), (6, "cooperative", 6),
    ]  # fmt: skip
    assert len({spec.digest for spec in specs}) == 8


def test_the_tables(tmp_path: Path) -> None:
    done = sweep("kbc", {"n_players": [3, 6]}, runs=2, folder=tmp_path, parameters=CONTEST)

    # All choose 30: the mean is 30, two thirds of it 20, and all are equally near: all win.
    data = done.model_data
    assert list(data.columns[:4]) == ["n_players", "seed", "run", "round"]
    assert data[["n_players", "seed", "run", "round"]].to_numpy().tolist() == [
        [n, seed, run, round_]
        for run, (n, seed) in enumerate([(3, 1), (3, 2), (6, 1), (6, 2)])
        for round_ in (0, 1)
    ]
    assert data["mean"].tolist() == [30.0] * 8
    assert data["target"].tolist() == [20.0] * 8
    runs = done.runs
    assert list(runs.columns[:5]) == ["n_players", "seed", "run", "rounds", "asks"]
    assert runs["rounds"].tolist() == [2] * 4
    # Each player acts in two rounds, and speaks in the second.
    assert runs["asks"].tolist() == [9, 9, 18, 18]
    assert runs["cost_usd"].tolist() == [0.0] * 4
    assert runs["n_winners"].tolist() == [3, 3, 6, 6]
    written = pd.read_csv(tmp_path / "runs.csv")
    pd.testing.assert_frame_equal(written, runs, check_dtype=False)
    assert sorted(path.name for path in tmp_path.iterdir() if "-" not in path.name) == [
        "model.csv", "recording.sqlite", "runs.csv",
    ]  # fmt: skip
    replay(done.path, range(4))


def test_a_parameter_with_the_name_of_a_data_column(tmp_path: Path) -> None:
    done = sweep(
        "bertrand", {"communication": [True, False]}, folder=tmp_path, parameters={"n_rounds": 3}
    )

    assert list(done.model_data.columns[:2]) == ["communication_set", "seed"]
    assert done.model_data["communication_set"].tolist() == [True] * 3 + [False] * 3
    assert done.runs["communication"].tolist() == [True, False]


def test_measures_by_name_have_a_column_each(tmp_path: Path) -> None:
    given = {"n_people": 8, "n_rounds": 2}
    done = sweep("evacuation", {"width": [15, 20]}, folder=tmp_path, parameters=given)

    names = [name for name in done.runs if name.startswith("escaped_by_persona.")]
    assert len(names) == 4
    assert done.runs[names].sum(axis="columns").tolist() == done.runs["escaped"].tolist()


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    counted: list[tuple[int, int]] = []
    first = sweep(
        "kbc", {"n_players": [3, 6]}, runs=2, folder=tmp_path / "a", parameters=CONTEST,
        watch=lambda *done: counted.append(done),
    )  # fmt: skip
    assert first.ran == 4
    assert counted == [(done, 4) for done in range(5)]
    again = sweep("kbc", {"n_players": [3, 6]}, runs=2, folder=tmp_path / "a", parameters=CONTEST)
    assert again.ran == 0
    same(first, again)
    more = sweep("kbc", {"n_players": [6, 9]}, runs=3, folder=tmp_path / "a", parameters=CONTEST)
    assert more.ran == 4
    fresh = sweep("kbc", {"n_players": [6, 9]}, runs=3, folder=tmp_path / "b", parameters=CONTEST)
    pd.testing.assert_frame_equal(
        more.model_data.drop(columns="run"), fresh.model_data.drop(columns="run")
    )


def test_a_half_written_folder(tmp_path: Path) -> None:
    vary, given = {"n_players": [3, 6]}, {"n_rounds": 2}
    whole = sweep("kbc", vary, runs=2, folder=tmp_path / "whole", parameters=given)
    folder = tmp_path / "cut"
    tasks = folder / TASKS
    tasks.mkdir(parents=True)
    for number, spec in enumerate(whole.specs[1:]):
        play(Task(tasks / f"{number}.sqlite", [spec]))
    cut = tasks / "0.sqlite"
    cut.write_bytes(cut.read_bytes()[:5000])
    (tasks / "unfinished-1").mkdir()
    (tasks / "unfinished-1" / "recording.sqlite").write_bytes(b"SQLite")
    (tasks / "other.sqlite").write_bytes(b"something else")
    (folder / "runs.csv").write_text("n_players,se")

    done = sweep("kbc", vary, runs=2, folder=folder, parameters=given)

    assert done.ran == 2
    same(whole, done)
    left = sorted(path.name for path in tasks.iterdir())
    assert left == ["0.sqlite", "other.sqlite"]  # what cannot be read is left as it is
    same(whole, sweep("kbc", vary, runs=2, folder=folder, parameters=given))


def test_a_merge_that_was_killed_is_done_again(tmp_path: Path) -> None:
    into, given = tmp_path / "recording.sqlite", {**FIXED, "n_rounds": 2}
    (tmp_path / TASKS).mkdir()
    specs = RunSpec(Tiny, given, 1).with_seeds([1, 2, 3])
    for spec in specs:
        play(Task(tmp_path / TASKS / f"{4 - spec.seed}.sqlite", [spec]))
    with Recording(into) as opened:  # killed after the commit and before the file was removed
        opened.merge(load_runs(tmp_path / TASKS / "3.sqlite"), {})

    assert sweep(Tiny, {}, runs=3, folder=tmp_path, parameters=given).ran == 0
    assert [(entry.run, entry.seed) for entry in load_runs(into)] == [
        (0, (1,)),
        (1, (2,)),
        (2, (3,)),
    ]
    for table, count in (("asks", 6), ("model_data", 2), ("agent_data", 2)):
        assert rows(into, f"SELECT run, count(*) FROM {table} GROUP BY run") == [
            (run, count) for run in range(3)
        ]
    assert not (tmp_path / TASKS).exists()
    replay(into, range(3))


def test_one_command_at_a_time(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / "sweep.lock"),
        pytest.raises(RecordingError, match="is running in"),
    ):
        sweep(Tiny, {}, folder=tmp_path, parameters=FIXED)
    assert sweep(Tiny, {}, folder=tmp_path, parameters=FIXED).ran == 1


def test_a_run_that_fails_leaves_what_is_finished(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="failing, round 0: ZeroDivisionError: nothing to share"):
        sweep(Failing, {}, runs=3, folder=tmp_path, parameters=FIXED)

    assert not (tmp_path / TASKS).exists()
    assert [entry.seed for entry in load_runs(tmp_path / "recording.sqlite")] == [(1,)]


def test_a_recording_that_is_about_to_be_made_is_none_yet(tmp_path: Path) -> None:
    (tmp_path / "recording.sqlite").touch()
    assert load_runs(tmp_path / "recording.sqlite", missing_ok=True) == []
    assert sweep(Tiny, {}, folder=tmp_path, parameters=FIXED).ran == 1


def test_mind_objects_are_asked_here(tmp_path: Path) -> None:
    class Counting:
        paid = False

        def __init__(self) -> None:
            self.asked = 0

        async def answer(self, _ask):
            self.asked += 1
            return 9

    mind = Counting()
    done = sweep(
        Tiny, {"n": [2, 3]}, runs=2, folder=tmp_path, parameters={"minds": mind}, on="processes"
    )
    assert mind.asked == 10
    assert done.runs["sum"].tolist() == [18, 18, 27, 27]
    assert sweep(Tiny, {"n": [2, 3]}, runs=2, folder=tmp_path, parameters={"minds": mind}).ran == 0
    assert mind.asked == 10
    both = sweep(Tiny, {"minds": [FixedMind(3), mind]}, folder=tmp_path)
    assert both.runs["minds"].tolist() == ["fixed:3", "Counting"]
    assert both.runs["sum"].tolist() == [9, 27]


@pytest.mark.slow
def test_nothing_is_paid_for_twice_and_no_cap_is_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    vary = {"n_players": [3, 4]}
    given = {"n_rounds": 2}
    with LLMServer(latency=0.05) as server:
        vary["minds"] = [f"llm:gpt-4o-mini@{server.url}", "classical"]

        def swept(folder: str, caps: Budget | None = None, ceiling: int | None = None):
            how = Connection(budget=caps, max_concurrency=ceiling)
            return sweep(
                "kbc", vary, runs=2, folder=tmp_path / folder, parameters=given, connection=how
            )

        whole = swept("whole", ceiling=2)
        asked = server.stats["requests"]
        assert asked == 2 * 9 + 2 * 12
        assert server.max_in_flight == 2  # one limit over all runs
        with pytest.raises(BudgetExceeded):
            swept("cut", Budget(max_asks=20))
        with pytest.raises(BudgetExceeded):
            swept("cut", Budget(max_asks=20))  # it counts what was spent before
        assert server.stats["requests"] == asked + 20
        cut = swept("cut", Budget(max_asks=asked))
        assert server.stats["requests"] == 2 * asked
        assert cut.ran == 4  # the classical runs had been done
        same(whole, cut)
        assert swept("cut").ran == 0
        assert server.stats["requests"] == 2 * asked
    close_all()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert swept("whole").ran == 0  # no key is needed to read what is there
    assert np.all(whole.runs["cost_usd"][whole.runs["minds"] != "classical"] > 0)


# Refusals.


@pytest.mark.parametrize(
    ("vary", "options", "error", "says"),
    [
        ({"n_playrs": [3]}, {}, UnknownName, "Did you mean 'n_players'"),
        ({"n_players": [3, 0]}, {}, ParameterError, "n_players must be"),
        ({"n_players": []}, {}, ParameterError, "needs a list of values"),
        ({"n_players": "345"}, {}, ParameterError, "needs a list of values"),
        ({"n_players": [3, 3]}, {}, ParameterError, "the value 3 twice"),
        ({"n_players": [3]}, {"parameters": {"n_players": 4}}, ParameterError, "given twice"),
        ({"rng": [1, 2]}, {}, ParameterError, "rng is not a parameter that a sweep sets"),
        ({"minds": [{"fixed:1": 2}]}, {}, MindSpecError, "2 are given for 24 agents"),
        ({}, {"runs": 0}, ParameterError, "runs must be"),
        ({}, {"seed": -1}, ParameterError, "seed must be"),
        ({}, {"on": "mars"}, UnknownName, "Known: here, processes, ray"),
        ({}, {"workers": 2}, ParameterError, "number of workers"),
        ({}, {"on": "processes", "workers": 0}, ParameterError, "workers must be"),
        ({}, {"on": "processes", "address": "auto"}, ParameterError, "sweep on ray"),
    ],
)
def test_wrong_use_leaves_no_file(vary, options, error, says, tmp_path: Path) -> None:
    with pytest.raises(error, match=says) as caught:
        sweep("kbc", vary, folder=tmp_path / "out", **options)

    assert caught.value.exit_status == 2
    assert not (tmp_path / "out").exists()


def test_what_only_this_process_knows_is_not_sent_to_others(tmp_path: Path) -> None:
    class Local(KeynesianBeautyContest):
        pass

    with pytest.raises(ParameterError, match="define the scenario in a module"):
        sweep(Local, {}, folder=tmp_path / "out", on="processes")
    assert not (tmp_path / "out").exists()
    assert sweep(Local, {}, folder=tmp_path / "out", parameters={"n_players": 3}).ran == 1
