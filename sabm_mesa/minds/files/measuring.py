"""The resource use of a mind's processes, measured from outside, out of the mind's control.

The numbers are those of ``/proc``: without it nothing is measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sabm_mesa.minds.files.isolation import PROCESSES

MEMORY = 2**30
"""The memory limit of a mind in bytes, in addition to that of any Python process."""
ADDRESSES = 2 * MEMORY
"""The limit of its address space in bytes, which includes unused shared memory."""
SLACK_S = 0.25
"""Seconds of computing for reading a question, and between two measurements."""
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
_TIMES, _THREADS, _SIZE, _RESIDENT = slice(11, 15), 17, 20, 21
"""Fields of ``/proc/PID/stat`` after the name of the program."""


class Used(NamedTuple):
    """The resource use of the processes of a mind.

    Attributes:
        compute_s: seconds of computing since it began, also of children that have ended.
        memory: bytes in memory, in addition to those of any Python process.
        addresses: bytes of addresses, likewise.
        tasks: processes and threads.
    """

    compute_s: float = 0.0
    memory: int = 0
    addresses: int = 0
    tasks: int = 0

    def problem(self, before_s: float, limit_s: float) -> str:
        """The passed limit; ``""`` when none is passed.

        Args:
            before_s: seconds of computing that do not count.
            limit_s: seconds that it may compute.
        """
        if self.compute_s - before_s > limit_s + SLACK_S:
            return f"it computed for longer than {limit_s:g} s"
        if self.memory > MEMORY or self.addresses > ADDRESSES:
            return f"it took more than {MEMORY >> 20:,} MiB of memory"
        if self.tasks > PROCESSES:
            return f"it started more than {PROCESSES} processes and threads"
        return ""


def used(root: int, *, waits: int) -> Used:
    """Measure a process and its descendants.

    Args:
        root: the process.
        waits: the number of the supervisor's own processes among them.
    """
    if sys.platform != "linux":
        return Used()
    base = _stat(os.getpid())
    stats = [stat for pid in _tree(root) if (stat := _stat(pid))]
    if not base or not stats:
        return Used()
    return Used(
        sum(sum(stat[_TIMES]) for stat in stats) / _TICKS,
        sum(max(0, stat[_RESIDENT] - base[_RESIDENT]) for stat in stats) * _PAGE,
        sum(max(0, stat[_SIZE] - base[_SIZE]) for stat in stats),
        sum(stat[_THREADS] for stat in stats) - waits,
    )


def addresses_of_this_process() -> int:
    """The address space of this process in bytes; 0 if the system does not report it."""
    stat = _stat(os.getpid())
    return stat[_SIZE] if stat else 0


def _tree(root: int) -> Iterator[int]:
    """A process and its living descendants; of too many, enough to detect that."""
    left, seen = [root], {root}
    while left and len(seen) <= 4 * PROCESSES:
        pid = left.pop()
        yield pid
        with suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with suppress(OSError):
                    new = {*map(int, (thread / "children").read_text().split())} - seen
                    seen |= new
                    left += new


def _stat(pid: int) -> list[int]:
    """The numbers of a process; none when it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    # The name of the program, in brackets, may hold spaces and brackets; a letter follows it.
    return [0, *map(int, text[text.rindex(")") + 1 :].split()[1:])]
