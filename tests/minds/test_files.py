"""Minds from Python files: found, asked in their own processes, stopped, recorded, repeated."""

import gc
import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from sabm_mesa import Recorded, communication, fork, replay, resume
from sabm_mesa.errors import MindError, MindSpecError, RecordingError
from sabm_mesa.minds.files.mind import _started, path_and_name
from tests.core.support import Tiny, rows, tiny

COUNTER = """
class Counter:
    n = 0

    def answer(self, ask):
        self.n += 1
        return 10 * ask.key.agent + self.n
"""


@pytest.fixture
def mind(tmp_path):
    """A function that writes a file and returns the spec of the mind in it."""

    def written(source, name="mind.py"):
        path = tmp_path / name
        path.write_text(source)
        return f"py:{path}"

    yield written
    _started.cache_clear()


# The content of a file.


def test_a_class_is_made_once_for_each_agent_and_may_learn_and_its_file_is_recorded(
    mind, tmp_path
) -> None:
    path = tmp_path / "run.sqlite"
    spec = mind(COUNTER)
    model = tiny(n=2, n_rounds=3, minds=spec, rng=1, recording=path)
    model.run_model()

    assert model.log == [(1, 11), (2, 21), (1, 12), (2, 22), (1, 13), (2, 23)]
    assert set(model.agent_frame()["mind"]) == {spec}
    assert rows(path, "SELECT count(*) FROM asks WHERE latency_s > 0") == [(0,)]
    ((versions,),) = rows(path, "SELECT versions FROM runs")
    assert json.loads(versions)[spec] == hashlib.sha256(COUNTER.encode()).hexdigest()
    assert rows(path, "SELECT minds FROM runs") == [(json.dumps({spec: 2}, separators=(",", ":")),)]


def test_answers_have_many_forms_and_what_is_printed_is_discarded(mind, tmp_path) -> None:
    (tmp_path / "helper.py").write_text("FIVE = 5")
    source = """
import helper, numpy as np
print("x" * 10_000_000)
class Mine:
    async def answer(self, ask):
        print("x" * 10_000_000)
        return [5, 5.0, str(2 + 3), np.int64(5), helper.FIVE][ask.key.agent - 1]
"""
    model = tiny(n=5, minds=mind(source), rng=1)
    model.step()

    assert set(model.values.values()) == {5}


def test_the_file_and_the_name_in_a_spec() -> None:
    assert path_and_name("py:a/b.py") == ("a/b.py", "")
    assert path_and_name("py:a/b.py:Mine") == ("a/b.py", "Mine")
    assert path_and_name("py:a:b/c.py") == ("a:b/c.py", "")


@pytest.mark.parametrize(
    ("source", "name", "problem"),
    [  # the other cases are in tests/minds/test_worker.py
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


def lost(mind, attacks, path, before="\n"):
    """Play one agent for each attack, and one without; return the reasons of invalid decisions."""
    bodies = "".join(f"    {body}\n" for body in attacks)
    head = f"import mmap, os, resource, sys, time{before}def answer(ask):\n"
    source = f"{head}{bodies}    return 7\n"
    model = tiny(n=len(attacks) + 1, minds=mind(source), rng=1, recording=path)
    model.run_model()
    found = Recorded(path).decisions().sort_values("agent")["reason"].tolist()

    assert set(model.values.values()) == {0, 7}
    assert model.values[len(attacks) + 1] == 7
    assert model.total.invalid == len(attacks)
    return found


def by_agent(*bodies):
    return [f"if ask.key.agent == {i}: {body}" for i, body in enumerate(bodies, 1)]


def test_a_mind_loses_its_decision_and_not_the_run(mind, tmp_path) -> None:
    losing = {
        "raise ValueError('no idea')": "line 3: ValueError: no idea",
        "return bytearray(2**31)[0]": "line 4: MemoryError",
        "mmap.mmap(-1, 3 << 30)": "line 5: OSError: [Errno 12] Cannot allocate memory",
        "return {5}": "it answered with a set, which is neither number, text, dict nor list",
        "raise ValueError(resource.getrlimit(resource.RLIMIT_CORE))": "line 7: ValueError: (0, 0)",
        "os.fork(); raise ValueError": "line 8: ValueError",
    }
    found = lost(mind, by_agent(*losing), tmp_path / "run.sqlite")

    for reason, problem in zip(found, losing.values(), strict=False):
        assert reason.startswith(f"No answer came: {problem}")


SOCKETS = """
import stat
def sockets():
    return [f for f in map(int, os.listdir("/dev/fd")) if is_socket(f)]
def is_socket(f):
    try:
        return stat.S_ISSOCK(os.fstat(f).st_mode)
    except OSError:
        return False
"""
JUNK = "it wrote to the pipe of its process"


@pytest.mark.parametrize(
    "losing",
    [
        {
            "os._exit(4)": "it ended its process (exit status 4)",
            "os.kill(os.getpid(), 9)": "its process was ended by SIGKILL",
            r"[os.write(f, b'junk\n') for f in sockets()]": JUNK,
        },
        pytest.param(
            {
                "[time.process_time() for _ in iter(int, 1)]": "it computed for longer than 1 s",
                "time.sleep(60)": "it took too long",
                "[os.write(f, b'x' * 2**21) for f in sockets()]": JUNK,
                r"[os.write(f, b'{\"answer\": NaN}\n') for f in sockets()]": JUNK,
                r"[os.write(f, b'[' * 99_999 + b'\n') for f in sockets()]": JUNK,
            },
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_mind_loses_its_process_and_the_others_go_on(losing, mind, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("sabm_mesa.minds.files.mind.WAIT_S", 15.0)
    found = lost(mind, by_agent(*losing), tmp_path / "run.sqlite", SOCKETS)

    assert found[:-1] == [f"No answer came: {problem}." for problem in losing.values()]


@pytest.mark.slow
def test_what_was_learned_is_kept_unless_the_process_is_lost(mind) -> None:
    source = f"import os\n{COUNTER}".replace(
        "        return", "        if ask.key[:3] == (1, 'act', 1): {}\n        return"
    )
    kept = mind(source.format("raise ValueError"), "kept.py")
    lost = mind(source.format("os._exit(1)"), "lost.py")

    def answers(spec):
        model = tiny(n=2, n_rounds=4, minds=spec, rng=1)
        model.run_model()
        return [[value for agent, value in model.log if agent == number] for number in (1, 2)]

    assert answers(kept) == [[11, None, 13, 14], [21, 22, 23, 24]]
    assert answers(lost) == [[11, None, 11, 12], [21, 21, 22, 23]]


def test_what_the_system_refuses_is_no_fault_of_the_mind(mind, monkeypatch) -> None:
    model = tiny(n=1, minds=mind(COUNTER), rng=1)

    def refused(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("subprocess.Popen", refused)
    with pytest.raises(MindError, match=r"for another mind \(Too many open files\): use fewer"):
        model.step()


@pytest.mark.slow
def test_a_mind_sees_neither_the_model_nor_others(mind) -> None:
    source = """
import gc, sys
secret = 0

class Spy:
    def answer(self, ask):
        global secret
        secret += 1
        vars(ask.facts)["seen"] = "changed"
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


@pytest.mark.slow
def test_the_process_of_a_file_goes_on_in_the_next_run_and_ends_with_it(mind) -> None:
    spec = mind("import os\ndef answer(ask):\n    return f'{os.getpid()}'\n")

    def played():
        model = tiny(communication(order="fixed"), n=2, n_rounds=2, minds=spec, rng=1)
        model.run_model()
        return {int(pid) for _, pid in model.log}

    (pid,) = played()
    assert played() == {pid}
    os.kill(pid, 0)
    _started.cache_clear()
    until = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        gc.collect()  # the engine may still hold the model
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# Chance.


@pytest.mark.slow
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


def test_a_run_goes_on_with_what_the_mind_has_learned_and_not_with_another_file(
    mind, tmp_path
) -> None:
    path, spec = tmp_path / "run.sqlite", mind(COUNTER)
    model = tiny(n=2, n_rounds=4, minds=spec, rng=1, recording=path)
    model.step()
    model.step()
    model.close("cut off")
    mind(COUNTER + "\n")

    with pytest.raises(RecordingError, match=r"mind\.py was changed since the run was recorded"):
        resume(path, scenario=Tiny)
    Path(spec.removeprefix("py:")).unlink()
    with pytest.raises(MindSpecError, match="Cannot read the mind"):
        resume(path, scenario=Tiny)

    mind(COUNTER)
    (model,) = resume(path, scenario=Tiny).models
    assert [value for agent, value in model.log if agent == 1] == [11, 12, 13, 14]


@pytest.mark.slow
def test_a_fork_to_a_mind_from_a_file(mind, tmp_path) -> None:
    path, into, spec = tmp_path / "run.sqlite", tmp_path / "fork.sqlite", mind(COUNTER)
    tiny(n=2, n_rounds=3, minds="fixed:5", rng=1, recording=path).run_model()
    done = fork(path, 1, {"minds": {spec: 1, "fixed:6": 1}}, into, scenario=Tiny)

    assert done.models[0].log == [(1, 5), (2, 5), (1, 11), (2, 6), (1, 12), (2, 6)]
    Path(spec.removeprefix("py:")).unlink()
    assert replay(into, scenario=Tiny).models[0].log == done.models[0].log
    ((forks,),) = rows(into, "SELECT forks FROM runs")
    assert json.loads(forks)[0]["versions"] == {spec: hashlib.sha256(COUNTER.encode()).hexdigest()}
