"""Child processes that live and die on their own; the parent has one thread, so it can fork."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

FAILED = 70
HANGS_S = 600
MEMORY = Path("/dev/shm")


def settle() -> None:
    """Leave what was imported so far out of the garbage collection, which would copy it."""
    gc.collect()
    gc.freeze()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for recordings: in memory where there is such a place, since disks are slow."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sabm-chaos-", dir=place) as folder:
        yield Path(folder)


def start(work: Callable[[], object], said: Path, hangs_s: int = HANGS_S) -> int:
    """Start a child that does some work and nothing else of what the parent does.

    Args:
        work: the work.
        said: where the child's output goes.
        hangs_s: seconds after which it is ended; 0: never.

    Returns:
        The id of the process.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = FAILED
    gc.disable()
    try:
        signal.alarm(hangs_s)  # its default action ends the process
        with said.open("ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        work()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        if status == FAILED:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def ended(child: int) -> int:
    """Wait for a child; its exit status, or the signal that ended it as a negative number."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def do(work: Callable[[], object], said: Path) -> int:
    """Have a child do some work; how it ended."""
    return ended(start(work, said))


def last_line(said: Path) -> str:
    """The last that a child said: the error, when it failed."""
    lines = said.read_text("utf-8", "replace").split("\n") if said.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def at_once(tasks: Iterable[Callable[[], object]], processes: int, said: Path) -> list[int]:
    """Do tasks in their own processes, this many at once; their exit statuses in any order."""
    under_way: set[int] = set()
    statuses = []

    def wait_for_one() -> None:
        child, status = os.wait()
        under_way.discard(child)
        statuses.append(os.waitstatus_to_exitcode(status))

    for task in tasks:
        while len(under_way) >= processes:
            wait_for_one()
        under_way.add(start(task, said, hangs_s=0))
    while under_way:
        wait_for_one()
    return statuses
