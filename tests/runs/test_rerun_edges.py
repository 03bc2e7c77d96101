"""Cases in which a continued run could silently become another one."""

import asyncio
import json
import os
from dataclasses import replace

import pytest

from sabm_mesa import Budget, Connection, KeynesianBeautyContest, ScriptedMind, fork, replay, resume
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import MindSpecError, RecordingError, ReplayMismatch, RunError
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.store import session_is_open
from sabm_mesa.recording.writing import BatchWriter
from sabm_mesa.runs.rerun import spent_before
from tests.core.support import Priced, Tiny, rows, tiny
from tests.llm_server import LLMServer
from tests.runs.reruns import change


class Half(KeynesianBeautyContest):
    """A user's own rules under the name of the scenario they came from."""

    def update(self):
        super().update()
        self.target = self.mean / 10


def test_the_rules_of_a_subclass_are_those_it_was_recorded_with(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = Half(n_players=3, n_rounds=2, rng=1, recording=path)
    model.run_model()

    (again,) = replay(path).models
    assert type(again) is Half
    assert again.target == model.target == model.mean / 10


def test_no_module_is_imported_because_a_recording_names_it(tmp_path, monkeypatch) -> None:
    path = tmp_path / "r.sqlite"
    tiny(minds="fixed:1", rng=1, recording=path).run_model()
    (tmp_path / "strange_module.py").write_text("raise SystemExit('it was run')")
    monkeypatch.syspath_prepend(tmp_path)
    change(path, "UPDATE runs SET model = 'strange_module:X'")

    with pytest.raises(RecordingError, match=r"not registered here: give its file with --scen"):
        replay(path)


def test_two_minds_of_one_spec_are_refused_before_anything_is_recorded(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    minds = [ScriptedMind(["1"]), ScriptedMind(["2"]), "fixed:3"]
    tiny(minds=minds, rng=1).run_model()  # unrecorded there is nothing to mix up

    model = tiny(minds=minds, rng=1, recording=path)
    with pytest.raises(MindSpecError, match=r"Two different minds have the spec 'scripted'"):
        model.run_model()
    assert not path.exists()


def test_a_recording_in_use_is_refused_by_its_name_and_by_a_link(tmp_path) -> None:
    path, link = tmp_path / "r.sqlite", tmp_path / "link.sqlite"
    model = Tiny(minds=Priced(lambda _: "1"), n_rounds=2, rng=1, recording=path)
    model.step()
    link.symlink_to(path)
    try:
        for name in (path, link):
            with pytest.raises(RecordingError, match="in use"):
                resume(name, scenario=Tiny)
    finally:
        model.close()


def test_a_recording_stays_where_it_was_opened(tmp_path, monkeypatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with Recording("r.sqlite") as recording:
        os.chdir(tmp_path / "b")
        tiny(minds="fixed:1", rng=1, recording=recording).run_model()
        assert session_is_open(tmp_path / "a" / "r.sqlite", recording.session.uid)
    assert list((tmp_path / "b").iterdir()) == []
    assert rows(tmp_path / "a" / "r.sqlite", "SELECT status FROM runs") == [("finished",)]


def test_answers_that_are_not_asked_for_again_are_noticed_when_the_run_goes_on(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = Tiny(minds="fixed:1", n_rounds=3, rng=1, recording=path)
    model.step()
    model.step()
    model.close()
    columns = [name for _, name, *_ in rows(path, "PRAGMA table_info(asks)")]
    fields = ", ".join("9 AS agent" if name == "agent" else name for name in columns)
    change(path, f"INSERT INTO asks SELECT {fields} FROM asks WHERE agent = 3 AND round = 1")

    with pytest.raises(
        ReplayMismatch, match="1 of the 4 recorded answers of round 1 were not asked"
    ):
        resume(path, scenario=Tiny)


def test_other_columns_are_another_model(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    Tiny(minds="fixed:1", rng=1, recording=path).run_model()
    change(path, "UPDATE runs SET model_columns = replace(model_columns, 'sum', 'total')")

    with pytest.raises(ReplayMismatch, match=r"whose model data have other columns \(sum, total\)"):
        replay(path, scenario=Tiny)


def test_a_budget_of_the_caller_is_not_changed_and_what_was_assumed_is_assumed_again(
    tmp_path,
) -> None:
    """The server reports no tokens: each answer counts as the most that it could cost."""
    path = tmp_path / "r.sqlite"
    with LLMServer(faults=[]) as server:
        budget = Budget(max_asks=5)
        connection = Connection(server.url, budget=budget)
        model = KeynesianBeautyContest(
            n_players=6, n_rounds=1, minds="llm:stub", rng=1, recording=path, connection=connection
        )
        with pytest.raises(RunError, match="budget of 5 asks"):
            model.run_model()
        assert budget.spent.asks == 5
        change(path, "UPDATE asks SET prompt_tokens = 0, completion_tokens = 0")
        spent = spent_before(load_runs(path), None)
        assert spent.asks == 5
        assert spent.tokens > 5 * 256  # the limit of an answer, and its prompt
        more = replace(connection, budget=Budget(max_asks=6))
        resume(path, connection=more)
        assert more.budget is not None
        assert more.budget.spent.asks == 0
        assert server.stats["status_200"] == 6


MISTRAL = "https://api.mistral.ai/v1"


@pytest.mark.parametrize(("named", "has_price"), [(MISTRAL, True), ("lab", True), ("home", False)])
def test_what_was_spent_is_priced_as_where_it_was_asked(tmp_path, named, has_price) -> None:
    path, model = tmp_path / "r.sqlite", "mistral-small-latest"
    with LLMServer() as server:
        run_on = Connection(server.url)
        KeynesianBeautyContest(
            n_players=2, n_rounds=1, minds="llm:stub", rng=1, recording=path, connection=run_on
        ).run_model()
    change(
        path, f"UPDATE asks SET prompt_tokens = 0, cost_usd = NULL, mind = 'llm:{model}@{named}'"
    )
    listed = json.dumps({"endpoints": {"lab": MISTRAL, "home": "http://127.0.0.1:8000/v1"}})
    change(path, f"UPDATE runs SET connection = '{listed}'")

    assert (spent_before(load_runs(path), None).cost_usd > 0) == has_price


def test_a_mind_that_learns_remembers_what_is_recorded(tmp_path) -> None:
    class Learner:
        spec, paid = "learner", True

        def __init__(self):
            self.seen = []

        async def answer(self, ask):
            if len(self.seen) == 4 and not self.seen_all:
                raise ValueError("the network is gone")
            answer = str(len(self.seen))
            self.remember(ask, Reply(answer))
            return answer

        def remember(self, ask, reply):
            self.seen.append((ask.key.agent, reply.answer))

    path = tmp_path / "r.sqlite"
    first, second, whole = Learner(), Learner(), Learner()
    first.seen_all, second.seen_all, whole.seen_all = False, True, True
    order = {"n_rounds": 3, "rng": 1, "n": 2}
    with pytest.raises(RunError, match="network"):
        Tiny(minds=first, recording=path, **order).run_model()
    resumed = resume(path, scenario=Tiny, minds={"learner": second})
    clean = Tiny(minds=whole, **order)
    clean.run_model()

    assert resumed.model_frame()["sum"].tolist() == clean.model_frame()["sum"].tolist()


def test_a_writer_that_cannot_begin_says_so(tmp_path) -> None:
    def connect():
        raise OSError("too many open files")

    async def commit():
        await writer.committed()

    writer = BatchWriter(tmp_path / "r.sqlite", connect)
    with pytest.raises(RecordingError, match="too many open files"):
        asyncio.run(commit())


def test_what_is_forked_changes_what_is_named_and_no_more(tmp_path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[prompts]\nreward_independent = "Winners get a box."\n')
    path = tmp_path / "r.sqlite"
    KeynesianBeautyContest(
        n_players=3, n_rounds=3, rng=1, prompts=str(own), recording=path
    ).run_model()
    own.write_text('[prompts]\nreward_independent = "Winners get a car."\n')

    with pytest.raises(RecordingError, match=r"have changed since \(reward_independent\)"):
        fork(path, 1, {"condition": "cooperative"}, tmp_path / "f.sqlite")
    assert not (tmp_path / "f.sqlite").exists()
    fork(path, 1, {"reward_rule": "exclusive"}, tmp_path / "g.sqlite")
