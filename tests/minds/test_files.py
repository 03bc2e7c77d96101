"""Minds from Python files: found, asked in their own processes, stopped, recorded, repeated."""

import hashlib
import json
import os
import resource
from copy import copy
from pathlib import Path

import pytest

from sabm_mesa import Recorded, communication, fork, replay, resume, sweep
from sabm_mesa.errors import MindError, MindSpecError, RecordingError
from sabm_mesa.minds.files.client import SupervisorClient
from sabm_mesa.minds.files.isolation import Isolation
from sabm_mesa.minds.files.mind import FileMind, mind_file, path_and_name
from sabm_mesa.minds.files.worker import TimeLimits
from tests.core.support import Tiny, rows, tiny

COUNTER = """
class Counter:
    n = 0

    def answer(self, ask):
        self.n += 1
        return 10 * ask.key.agent + self.n
"""


IMPORTS = """import os, stat, time
def is_link(f):
    try:
        return stat.S_ISSOCK(os.fstat(f).st_mode)
    except OSError:
        return False"""


@pytest.fixture
def mind(tmp_path):
    """A function that writes a file and returns the spec of the mind in it."""

    def written(source, name="mind.py"):
        path = tmp_path / name
        path.write_text(source)
        return f"py:{path}"

    return written


@pytest.fixture(scope="module")
def strict():
    """Little computing is allowed; on a busy machine a mind may wait long for it."""
    yield from supervisor(wait_s=60.0)


@pytest.fixture
def impatient():
    yield from supervisor(wait_s=1.0)


def supervisor(wait_s):
    limits = TimeLimits(compute_s=0.2, wait_s=wait_s, start_s=20.0, message_s=0.5)
    keeper = SupervisorClient(limits, Isolation(bubblewrap=False, namespaces=True))
    yield keeper
    keeper.close()


def played(spec, keeper=None, n=2, n_rounds=1, **given):
    """A run in which agent 1 has the mind, and the others always answer 7."""
    model = tiny(n=n, n_rounds=n_rounds, minds="fixed:7", rng=1, **given)
    cell = model.cells[0]
    cell.mind = FileMind(mind_file(spec), cell, keeper)
    model.run_model()
    return model


def reason(path):
    found = Recorded(path).decisions()
    assert found.loc[found["agent"] == 2, "value"].unique().tolist() == ["7"]
    return found.loc[found["agent"] == 1, "reason"].tolist()


# The content of a file.


def test_a_class_is_made_once_for_each_agent_and_may_learn(mind, tmp_path) -> None:
    path = tmp_path / "run.sqlite"
    spec = mind(COUNTER)
    model = tiny(n=2, n_rounds=3, minds=spec, rng=1, recording=path)
    model.run_model()

    assert model.log == [(1, 11), (2, 21), (1, 12), (2, 22), (1, 13), (2, 23)]
    assert set(model.agent_frame()["mind"]) == {spec}
    assert rows(path, "SELECT count(*) FROM asks WHERE latency_s > 0") == [(0,)]


@pytest.mark.parametrize(
    "source",
    [
        "def answer(ask):\n    return 5",
        "async def answer(ask):\n    return 5",
        "def five(ask):\n    return str(2 + 3)",
        "class Five:\n    async def answer(self, ask):\n        return 5.0",
        "import numpy as np\ndef answer(ask):\n    return np.int64(5)",
        "import helper\ndef answer(ask):\n    return helper.FIVE",
        "print('x' * 10_000_000)\ndef answer(ask):\n    print('x' * 10_000_000)\n    return 5",
    ],
)
def test_a_mind_is_a_class_or_a_function(source, mind, tmp_path) -> None:
    (tmp_path / "helper.py").write_text("FIVE = 5")
    model = tiny(n=1, minds=mind(source), rng=1)
    model.step()

    assert model.values == {1: 5}


def test_one_of_several_is_named(mind) -> None:
    two = mind("def low(ask):\n    return 1\nclass High:\n    def answer(self, ask): return 99\n")
    model = tiny(n=2, minds={f"{two}:low": 1, f"{two}:High": 1}, rng=1)
    model.step()

    assert model.values == {1: 1, 2: 99}


def test_the_file_and_the_name_in_a_spec() -> None:
    assert path_and_name("py:a/b.py") == ("a/b.py", "")
    assert path_and_name("py:a/b.py:Mine") == ("a/b.py", "Mine")
    assert path_and_name("py:a:b/c.py") == ("a:b/c.py", "")


@pytest.mark.parametrize(
    ("source", "name", "problem"),
    [  # the other cases are in tests/minds/test_worker.py
        ("x = 1\ndef answer(ask)\n", "", "line 2: SyntaxError: expected ':'"),
        ("import os\nos._exit(3)", "", "it ended its process (exit status 3)"),
        ("def a(ask): pass", "c", "it has no c (minds in it: a)"),
    ],
)
def test_a_file_without_a_mind_is_refused_before_anything_runs(
    source, name, problem, mind, tmp_path
) -> None:
    spec = mind(source) + (f":{name}" if name else "")
    with pytest.raises(MindSpecError) as refused:
        tiny(n=1, minds=spec, rng=1, recording=tmp_path / "run.sqlite")

    assert problem in str(refused.value)
    assert f"{tmp_path / 'mind.py'} cannot be used as a mind: " in str(refused.value)
    assert not (tmp_path / "run.sqlite").exists()


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(MindSpecError, match=r"Cannot read the mind nowhere\.py: No such file"):
        tiny(n=1, minds="py:nowhere.py", rng=1)
    with pytest.raises(MindSpecError, match=r"Known forms: .*py:FILE, py:FILE:NAME"):
        tiny(n=1, minds="py:", rng=1)


def test_a_scenario_of_a_script_cannot_be_known_elsewhere(mind) -> None:
    class InScript(Tiny):
        pass

    InScript.__module__ = "__main__"
    with pytest.raises(MindSpecError, match="define the scenario in a module"):
        InScript(minds=mind(COUNTER))


# Minds that lose decisions.


@pytest.mark.fast_cases(5)
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise ValueError('no idea')", "line 8: ValueError: no idea"),
        ("while True: pass", "it computed for longer than 0.2 s"),
        ("import sys; sys.exit()", "line 8: SystemExit"),
        ("os._exit(4)", "it ended its process (exit status 4)"),
        ("os.kill(os.getpid(), 9)", "its process was ended by SIGKILL"),
        ("return bytearray(2**31)[0]", "line 8: MemoryError"),
        ("return {5}", "it answered with a set, which is neither number, text, dict nor list"),
        ("return type('X', (int,), {})(5)", "it answered with a X, which is neither"),
        ("return 10**5000", "it answered with a number that is too large"),
        ("return {'a': [float('nan')]}", "it answered with NaN, which is no number"),
        ("raise type('X', (Exception,), {'__str__': lambda _: 1})", "line 8: X"),
        ("return '5' * 200_000", "it answered with 200,000 letters (100,000 at most)"),
        (
            "[os.write(f, b'junk' * 9) for f in range(3, 99) if is_link(f)]; time.sleep(9)",
            "it wrote to the pipe of its process",
        ),
        (
            "[os.write(f, bytes([0, 0, 9, 9])) for f in range(3, 99) if is_link(f)]; time.sleep(9)",
            "it wrote to the pipe of its process",
        ),
    ],
    ids=lambda text: text[:24],
)
def test_a_mind_loses_its_decision_and_not_the_run(body, problem, mind, strict, tmp_path):
    spec = mind(f"{IMPORTS}\ndef answer(ask):\n    {body}\n")
    loses_its_decision(spec, strict, problem, tmp_path / "run.sqlite")


@pytest.mark.slow
def test_a_mind_that_sleeps_loses_its_decision_too(mind, impatient, tmp_path) -> None:
    spec = mind("import time\ndef answer(ask):\n    time.sleep(60)\n")
    loses_its_decision(spec, impatient, "it took too long", tmp_path / "run.sqlite")


def loses_its_decision(spec, keeper, problem, path):
    model = played(spec, keeper, recording=path)

    (said,) = reason(path)
    assert said.startswith(f"No answer came: {problem}")
    assert model.values == {1: 0, 2: 7}
    assert (model.total.asks, model.total.invalid, model.total.reasks) == (2, 1, 0)


def test_an_illegal_answer_is_asked_for_again_with_the_reason(mind) -> None:
    spec = mind("def answer(ask):\n    return len(ask.rejected) + (0 if ask.rejected else 101)\n")
    model = tiny(n=1, minds=spec, rng=1)
    model.step()

    assert model.values == {1: 1}
    assert model.total.reasks == 1


def test_what_was_learned_is_kept_unless_the_process_is_lost(mind, strict) -> None:
    source = "import os\n" + COUNTER + "        {}\n"
    body = "        if ask.key.round == 1: {}\n        return 10 * ask.key.agent + self.n\n"
    raising = source.replace("        return 10 * ask.key.agent + self.n\n", "").format("")
    kept = mind(raising.rstrip() + "\n" + body.format("raise ValueError"), "kept.py")
    lost = mind(raising.rstrip() + "\n" + body.format("os._exit(1)"), "lost.py")

    def answers(spec):
        return [value for agent, value in played(spec, strict, n_rounds=4).log if agent == 1]

    assert answers(kept) == [11, None, 13, 14]
    assert answers(lost) == [11, None, 11, 12]


def test_a_mind_that_lost_three_processes_is_not_asked_any_more(mind, strict, tmp_path) -> None:
    spec = mind("import os\ndef answer(ask):\n    os._exit(ask.key.round)\n")
    path = tmp_path / "run.sqlite"
    played(spec, strict, n_rounds=5, recording=path)

    lost = [f"No answer came: it ended its process (exit status {i})." for i in range(3)]
    given_up = "No answer came: not asked any more, since it has lost its process 3 times."
    assert reason(path) == [*lost, given_up, given_up]


@pytest.mark.slow
def test_the_process_of_all_minds_may_be_lost_too(mind) -> None:
    kill = "if ask.key.round == 0: os.kill(os.getppid(), 9)"
    model = played(mind(f"import os\ndef answer(ask):\n    {kill}\n    return 5"), None, 1, 2)

    assert model.log == [(1, None), (1, 5)]


def test_what_the_system_refuses_is_no_fault_of_the_mind(mind) -> None:
    spec = mind("import os\ndef answer(ask):\n    return f'{os.getppid()}'\n")
    one, other = (tiny(communication(order="fixed"), n=1, minds=spec, rng=1) for _ in range(2))
    one.step()
    forks = int(one.log[0][1])
    limits = resource.prlimit(forks, resource.RLIMIT_NOFILE)
    resource.prlimit(forks, resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(MindError, match=r"for another mind \(Too many open files\): use fewer"):
            other.step()
    finally:
        resource.prlimit(forks, resource.RLIMIT_NOFILE, limits)


def test_a_mind_sees_neither_the_model_nor_others(mind) -> None:
    source = """
import gc, sys
secret = 0

class Spy:
    def answer(self, ask):
        global secret
        secret += 1
        object.__setattr__(ask.observation, "seen", "changed")
        models = [o for o in gc.get_objects() if type(o).__name__ == "Played"]
        above = []
        frame = sys._getframe()
        while frame:
            above.append(frame.f_code.co_name)
            frame = frame.f_back
        return 50 * len(models) + 50 * ("put" in above) + secret
"""
    model = tiny(n=3, minds=mind(source), rng=1)
    model.step()

    assert model.values == {1: 1, 2: 1, 3: 1}


def test_the_processes_end_with_the_run(mind) -> None:
    spec = mind("import os\ndef answer(ask):\n    return f'{os.getpid()}'\n")
    model = tiny(communication(order="fixed"), n=2, n_rounds=2, minds=spec, rng=1)
    model.step()
    one, other = (int(pid) for _, pid in model.log)

    os.kill(one, 0)
    os.kill(other, 0)
    assert one != other
    model.step()
    assert [int(pid) for _, pid in model.log] == [one, other] * 2
    mind_file(mind(COUNTER, "later.py"))  # has to wait until those processes have been ended
    for pid in (one, other):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# Chance.


def test_the_randomness_is_the_minds_own(mind) -> None:
    spec = mind(
        "import random, numpy\n"
        "def answer(ask):\n"
        "    own = ask.rng.integers(0, 30) + ask.rng.integers(0, 30)\n"
        "    return int(own + random.randrange(20) + numpy.random.randint(20))\n"
    )

    def picks(n, rng):
        model = tiny(n=n, n_rounds=3, minds={spec: 2, "fixed:1": n - 2}, rng=rng)
        model.run_model()
        return [pick for pick in model.log if pick[0] <= 2]

    assert picks(2, 1) == picks(2, 1) == picks(4, 1)
    assert picks(2, 1) != picks(2, 2)
    assert len({value for _, value in picks(2, 1)}) > 3


# Recordings.


def test_the_file_is_part_of_what_is_recorded(mind, tmp_path) -> None:
    path, spec = tmp_path / "run.sqlite", mind(COUNTER)
    model = tiny(n=1, minds=spec, rng=1, recording=path)
    model.run_model()

    ((versions,),) = rows(path, "SELECT versions FROM runs")
    assert json.loads(versions)[spec] == hashlib.sha256(COUNTER.encode()).hexdigest()
    assert rows(path, "SELECT minds FROM runs") == [(json.dumps({spec: 1}, separators=(",", ":")),)]


def test_a_replay_does_not_need_the_file(mind, tmp_path) -> None:
    path = tmp_path / "run.sqlite"
    spec = mind("def answer(ask):\n    return 1 // (ask.key.round - 1)\n")
    first = tiny(n=2, n_rounds=3, minds={spec: 1, "fixed:3": 1}, rng=1, recording=path)
    first.run_model()
    Path(spec.removeprefix("py:")).unlink()

    (again,) = replay(path, scenario=Tiny).models
    assert again.agent_frame().equals(first.agent_frame())
    assert again.total.invalid == first.total.invalid == 2  # -1 and a division by zero


def test_a_paid_answer_is_not_asked_for_again(mind, tmp_path, monkeypatch) -> None:
    path, asked = tmp_path / "run.sqlite", tmp_path / "asked"
    note = f"        open({str(asked)!r}, 'a').write('x')\n"
    spec = mind(
        f"class Paid:\n    paid = True\n    def answer(self, ask):\n{note}        return 5\n"
    )
    monkeypatch.setenv("SABM_PAID_MINDS", spec.removeprefix("py:"))
    cut_off(spec, path)
    (model,) = resume(path, scenario=Tiny).models

    assert [value for _, value in model.log] == [5] * 8
    assert asked.read_text() == "x" * 8  # two agents, four rounds, each once


def cut_off(spec, path):
    model = tiny(n=2, n_rounds=4, minds=spec, rng=1, recording=path)
    model.step()
    model.step()
    model.close("cut off")


def test_a_run_goes_on_with_what_the_mind_has_learned(mind, tmp_path) -> None:
    path, spec = tmp_path / "run.sqlite", mind(COUNTER)
    cut_off(spec, path)
    (model,) = resume(path, scenario=Tiny).models

    assert [value for agent, value in model.log if agent == 1] == [11, 12, 13, 14]


def test_a_run_does_not_go_on_with_another_file(mind, tmp_path) -> None:
    path, spec = tmp_path / "run.sqlite", mind(COUNTER)
    cut_off(spec, path)
    mind(COUNTER + "\n")

    with pytest.raises(RecordingError, match=r"mind\.py was changed since the run was recorded"):
        resume(path, scenario=Tiny)
    Path(spec.removeprefix("py:")).unlink()
    with pytest.raises(MindSpecError, match="Cannot read the mind"):
        resume(path, scenario=Tiny)


def test_a_fork_to_a_mind_from_a_file(mind, tmp_path) -> None:
    path, into, spec = tmp_path / "run.sqlite", tmp_path / "fork.sqlite", mind(COUNTER)
    tiny(n=2, n_rounds=3, minds="fixed:5", rng=1, recording=path).run_model()
    done = fork(path, 1, {"minds": {spec: 1, "fixed:6": 1}}, into, scenario=Tiny)

    assert done.models[0].log == [(1, 5), (2, 5), (1, 11), (2, 6), (1, 12), (2, 6)]
    Path(spec.removeprefix("py:")).unlink()
    assert replay(into, scenario=Tiny).models[0].log == done.models[0].log
    ((forks,),) = rows(into, "SELECT forks FROM runs")
    assert json.loads(forks)[0]["versions"] == {spec: hashlib.sha256(COUNTER.encode()).hexdigest()}


def test_a_copy_of_a_model_has_minds_that_begin_anew(mind) -> None:
    model = tiny(n=1, n_rounds=2, minds=mind(COUNTER), rng=1)
    model.step()
    agent = model.cells[0]
    copied = copy(agent.mind)
    agent.mind = copied
    model.step()

    assert model.log == [(1, 11), (1, 11)]


# Sweeps.


@pytest.mark.slow
def test_a_sweep_runs_again_when_a_file_was_changed(mind, tmp_path) -> None:
    spec = mind("def answer(ask):\n    return int(ask.rng.integers(50))")

    def swept():
        return sweep(
            Tiny, {"n": [1, 2]}, folder=tmp_path / "out", parameters={"n_rounds": 1, "minds": spec}
        )

    assert [swept().ran, swept().ran] == [2, 0]
    mind("def answer(ask):\n    return 77")
    again = swept()
    assert again.ran == 2
    assert again.model_data["sum"].tolist() == [77, 154]
