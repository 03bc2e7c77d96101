"""Scenarios that lose their worker, wait or fail, and a script that sweeps."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pandas as pd

from tests.core.support import Tiny

FIXED = {"minds": "fixed:7"}
"""Parameters of the tiny scenario, which has no classical mind."""


class Mortal(Tiny):
    """Its process is killed in the first round of runs whose seed is `fatal`, this many times.

    Each death leaves a file in the folder `graves`.
    """

    scenario_name = "mortal"

    def __init__(self, graves: str = "", fatal: int = 0, times: int = 1, **settings: Any) -> None:
        super().__init__(**settings)
        self.graves, self.fatal, self.times = Path(graves), fatal, times

    def update(self) -> None:
        super().update()
        if self.entropy[0] == self.fatal and len(list(self.graves.iterdir())) < self.times:
            (self.graves / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Held(Tiny):
    """Runs with seeds from 3 on wait for a file, and say in which process they do."""

    scenario_name = "held"

    def __init__(self, gate: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.gate = Path(gate)

    def update(self) -> None:
        super().update()
        if self.entropy[0] >= 3:
            self.gate.with_suffix(f".{os.getpid()}").touch()
            until(self.gate.exists)


class Waiting(Tiny):
    """Each run says in which process it is."""

    scenario_name = "waiting"

    def __init__(self, pids: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.pids = pids

    def begin_round(self) -> None:
        super().begin_round()
        if self.pids:
            Path(self.pids, str(os.getpid())).touch()


class Failing(Tiny):
    """Runs with the seed 2 fail."""

    scenario_name = "failing"

    def update(self) -> None:
        super().update()
        if self.entropy[0] == 2:
            raise ZeroDivisionError("nothing to share")


def until(reached: Any, seconds: float = 120.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.01)


def lives(process: int) -> bool:
    """Whether a process continues; one that has ended and waits to be taken note of does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except OSError:
        return False
    return state[0] not in "ZX"


def same(one: Any, other: Any) -> None:
    """Two sweeps have the same tables, bit for bit."""
    pd.testing.assert_frame_equal(one.model_data, other.model_data, check_exact=True)
    pd.testing.assert_frame_equal(one.runs, other.runs, check_exact=True)
    for mine, theirs in zip(one.files, other.files, strict=True):
        assert mine.read_bytes() == theirs.read_bytes()
