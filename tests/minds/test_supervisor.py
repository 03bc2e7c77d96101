"""The process of all minds from files, in this one: what it says, believes, allows and measures."""

import os
import resource
import signal
import subprocess
import sys
from typing import Any

import pytest

from sabm_mesa.minds.files.isolation import FILES, PROCESSES, children
from sabm_mesa.minds.files.measuring import (
    ADDRESSES,
    MEMORY,
    SLACK_S,
    Used,
    addresses_of_this_process,
    used,
)
from sabm_mesa.minds.files.supervisor import (
    _allow_files,
    _interrupt,
    _lost,
    _sound,
    _why,
    _within,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.mark.parametrize(
    ("ended", "says"),
    [
        (signal.SIGPROF, "longer than 0.5 s"),
        (signal.SIGHUP, "SIGHUP"),
        (signal.SIGKILL, "SIGKILL"),
        (signal.SIGSEGV, "SIGSEGV"),
        (0, "(exit status 0)"),
        (4, "(exit status 4)"),
    ],
)
def test_why_a_process_ended(ended: int, says: str) -> None:
    status = int(ended) if isinstance(ended, signal.Signals) else ended << 8

    assert says in _why(status, 0.5)


@pytest.mark.parametrize(
    ("told", "is_sound"),
    [
        ({"problem": "no idea"}, True),
        ({"problem": 5}, False),
        ({"problem": 5, "answer": 5}, False),
        ({"name": "Five", "paid": False}, True),
        ({"name": 5}, False),
        ({}, False),
        ({"answer": 5}, True),
        ({"answer": {"a": [1, None, "x"]}}, True),
        ({"answer": float("nan")}, False),
        ({"answer": 10**400}, False),
        ({"answer": {5}}, False),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_only_what_a_mind_may_write_is_believed(told: dict[str, Any], is_sound: bool) -> None:
    assert _sound(told) is is_sound


def test_a_lost_decision_says_that_the_process_is_lost() -> None:
    assert _lost("it ended") == {"problem": "it ended", "lost": True}


def test_a_block_that_waits_for_too_long_is_interrupted() -> None:
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        reader, writer = os.pipe()
        with pytest.raises(TimeoutError), _within(0.01):
            os.read(reader, 1)  # nothing will ever come
        with _within(60.0):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        os.close(reader)
        os.close(writer)
    finally:
        signal.signal(signal.SIGALRM, before)


NO_LIMIT = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "after"),
    [
        (256, 8192, FILES),
        (256, FILES, FILES),
        (256, 1024, 1024),
        (1024, 1024, None),
        (FILES, 8192, None),
        (FILES + 1, 8192, None),
        (256, NO_LIMIT, FILES),
        (NO_LIMIT, NO_LIMIT, None),
        (0, 512, 512),
    ],
)
def test_open_files_are_allowed_as_far_as_they_may_be(
    soft: int, hard: int, after: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: raised.append(limits))
    _allow_files()

    assert raised == ([] if after is None else [(after, hard)])


# Measuring.


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (Used(), ""),
        (Used(compute_s=3.0 + SLACK_S), ""),
        (Used(compute_s=3.0 + SLACK_S + 0.01), "longer than 2 s"),
        (Used(memory=MEMORY, addresses=ADDRESSES, tasks=PROCESSES), ""),
        (Used(memory=MEMORY + 1), "1,024 MiB"),
        (Used(addresses=ADDRESSES + 1), "1,024 MiB"),
        (Used(tasks=PROCESSES + 1), "64 processes"),
    ],
)
def test_the_limit_that_is_passed(use: Used, says: str) -> None:
    problem = use.problem(before_s=1.0, limit_s=2.0)

    assert says in problem
    assert bool(problem) == bool(says)


@LINUX
def test_this_process_uses_hardly_more_than_any_python_process() -> None:
    own = used(os.getpid(), waits=0)
    time_s = sum(os.times()[:4])

    assert time_s - 0.5 <= own.compute_s <= time_s + 100
    assert own.memory < MEMORY / 2
    assert own.addresses < ADDRESSES / 2
    assert addresses_of_this_process() > 10**7


@LINUX
def test_children_are_measured_with_their_parent_and_one_that_ended_is_nothing() -> None:
    begin = "sleep 100 & echo $!; read line; kill $!"
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", begin], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert child.pid in children()
        assert grandchild not in children()
        assert used(child.pid, waits=0).tasks == 2
        assert used(child.pid, waits=1).tasks == 1
        assert used(grandchild, waits=0).tasks == 1
    assert child.pid not in children()
    assert used(child.pid, waits=0) == Used()
