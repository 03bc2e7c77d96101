"""The engine: one loop for all models, usable from anywhere but itself."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sabm_mesa import ScriptedMind, action
from sabm_mesa.core import engine
from sabm_mesa.errors import MindError, RunError
from sabm_mesa.runs.run import run_all
from tests.core.support import Cell, Priced, Tiny, Waiting, rows, tiny


async def where():
    return threading.current_thread().name, asyncio.get_running_loop()


def test_an_exit_of_the_work_comes_back_and_the_engine_goes_on(monkeypatch) -> None:
    class Exiting(Tiny):
        def update(self):
            sys.exit(4)

    async def leave(_agent):
        sys.exit(3)

    def exit_of(model: Tiny) -> object:
        with pytest.raises(SystemExit) as ended:
            model.step()
        assert not model.running
        return ended.value.code

    assert exit_of(Exiting(minds="fixed:1")) == 4
    monkeypatch.setattr(Cell, "act", leave)
    assert exit_of(Tiny(minds="fixed:1")) == 3
    assert engine.run(asyncio.sleep(0, 5)) == 5


def test_a_model_steps_inside_a_running_loop() -> None:
    async def notebook():
        model = tiny(n_rounds=2, minds=Waiting(lambda _: "2"), rng=1)
        model.run_model()
        return model.datacollector.model_vars["sum"]

    assert asyncio.run(notebook()) == [6, 6]


def test_models_on_many_threads_share_the_loop_and_wait_for_one_another() -> None:
    """Every model's agents answer only when those of all models have been asked."""
    barrier = []
    opened = asyncio.Event()

    class Meeting(Waiting):
        async def answer(self, ask):
            barrier.append(ask.key.agent)
            if len(barrier) == 8:
                opened.set()
            await asyncio.wait_for(opened.wait(), 20)
            return await super().answer(ask)

    mind = Meeting(lambda ask: str(ask.key.agent))
    models = [tiny(n=2, minds=mind, rng=seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda model: model.step(), models))

    assert [model.sum for model in models] == [3] * 4


def test_a_model_cannot_be_stepped_within_another_models_round() -> None:
    inner = tiny(minds="fixed:1", rng=1)

    def answer(_):
        inner.step()

    outer = tiny(minds=ScriptedMind(answer), rng=1)
    with pytest.raises(RunError, match="cannot be stepped from inside another model's round"):
        outer.step()

    assert (inner.round, inner.running) == (-1, True)
    assert not outer.running


class Stopping:
    """A mind that stops everything while the others are under way, and that takes its time."""

    spec, instant, paid = "stopping", False, False

    def __init__(self, stop) -> None:
        self.stop, self.wound_up = stop, []

    async def answer(self, ask):
        if ask.key.agent == 3:
            self.stop()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            self.wound_up.append(ask.key.agent)


class StoppingAgain(Stopping):
    """Stops everything a second time while it winds up."""

    async def answer(self, ask):
        try:
            return await super().answer(ask)
        finally:
            self.wound_up.remove(ask.key.agent)
            if ask.key.agent == 3:
                self.stop()
            await asyncio.sleep(0.1)  # time for the interrupt to be seen
            self.wound_up.append(ask.key.agent)


def test_stopping_a_model_ends_its_round_when_it_has_wound_up(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    mind = Stopping(None)
    model = tiny(action(), minds=mind, rng=1, recording=path)
    mind.stop = model.stop
    with pytest.raises(RunError, match="The run was stopped"):
        model.step()

    assert sorted(mind.wound_up) == [1, 2, 3]
    assert not model.running
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", "stopped")]
    assert engine.run(where())[0] == "sabm-engine"


def test_stopping_one_scope_leaves_the_others_alone() -> None:
    async def work(scope):
        scope.stop()
        await asyncio.sleep(0)
        return "done"

    stopped, other = engine.Scope(), engine.Scope()
    assert engine.run(work(stopped), other) == "done"
    with pytest.raises(RunError, match="The run was stopped"):
        engine.run(work(other), stopped)


def test_a_failing_batch_of_runs_stops_no_other_model() -> None:
    """A model of another thread waits while runs that know nothing of it fail."""
    waiting, free = threading.Event(), asyncio.Event()

    class Waits:
        instant, paid, spec = False, False, "waits"

        async def answer(self, ask):
            waiting.set()
            await free.wait()
            return ask.key.agent

    innocent = tiny(action(), n_rounds=1, minds=Waits(), rng=1)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(innocent.run_model)
        assert waiting.wait(30)

        with pytest.raises(MindError, match="has run out"):
            run_all(Tiny, {"minds": ScriptedMind([])}, runs=2, seed=1)

        async def release():
            free.set()

        engine.run(release())
        future.result(30)

    assert innocent.round == 0
    assert innocent.usage.invalid == 0


@pytest.mark.parametrize("kind", [Stopping, StoppingAgain], ids=["once", "twice"])
def test_an_interrupt_cancels_the_round_and_waits_until_it_has_wound_up(tmp_path, kind) -> None:
    path = tmp_path / "r.sqlite"
    mind = kind(lambda: os.kill(os.getpid(), signal.SIGINT))
    model = tiny(action(), minds=mind, rng=1, recording=path)
    with pytest.raises(KeyboardInterrupt):
        model.step()

    assert sorted(mind.wound_up) == [1, 2, 3]
    assert not model.running
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", "stopped")]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_answer_that_was_paid_for_survives_a_stop(tmp_path) -> None:
    path = tmp_path / "r.sqlite"

    class Sent(Priced):
        async def answer(self, ask):
            reply = await super().answer(ask)
            try:
                if ask.key.agent == 3:
                    model.stop()
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                reply.stopped = True
            return reply

    model = tiny(minds=Sent(lambda ask: str(ask.key.agent)), rng=1, recording=path)
    with pytest.raises(RunError, match="stopped"):
        model.step()

    assert rows(path, "SELECT agent, value FROM asks ORDER BY 1") == [(1, "1"), (2, "2"), (3, "3")]
    assert model.values == {1: 0, 2: 0, 3: 0}


FORK = """
import os
from sabm_mesa import KeynesianBeautyContest

def mean():
    model = KeynesianBeautyContest(n_players=3, rng=1)
    model.run_model()
    return model.mean

here = mean()
child = os.fork()
if child == 0:
    os._exit(0 if mean() == here else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_gets_an_engine_of_its_own() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK]

    assert subprocess.run(command, timeout=300, check=False).returncode == 0
