"""Minds from a Python file, such as the work of students: ``py:FILE`` or ``py:FILE:NAME``.

The file has a class with a method ``answer(self, ask)``, which is created without arguments, once
for each agent, so that it may learn; or a function ``answer(ask)``. Either may be ``async``. The
page docs/how-to/own-minds.md says what they may use and answer. Python's own random numbers and
numpy's are seeded for each question, so that a run can be repeated.

All minds in a file live in one process, each agent's in a module of its own. They see copies of the
questions and nothing else of the model or of other files. The process is limited
(`sabm_mesa.minds.files.worker`) and runs in a sandbox where bubblewrap works
(`sabm_mesa.minds.files.sandbox`). A mind that raises an exception, gives another kind of answer,
takes too long (1 s of computing, 10 s in all) or ends the process loses that decision, which is
recorded as invalid, with the reason. After the loss of their process all minds
in it start again without their memory. A mind that has lost three is not asked again in that run.

An answer counts as free and repeatable. A replay takes the answers from the recording and does not
need the file. Resuming a run needs the unchanged file: its minds are asked again, so that they
learn again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.answers import FAILED, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.toml_io import read_file
from sabm_mesa.errors import MindError, MindSpecError, RecordingError, one_line
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.files.process import FileProcess, Items
from sabm_mesa.minds.files.sandbox import environment, is_sandboxed, sandbox

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent

WAIT_S = 10.0
"""The longest wait for an answer, in seconds."""
LOSSES = 3
"""The number of lost processes after which a mind is not asked again in a run."""
LONGEST_REASON = 300
SENT = ("name", "facts", "spec", "key", "answer_format", "position")
"""The arguments of an `Ask` that a mind gets, in addition to the prompts."""
KEPT_PROCESSES = 32
"""The number of minds whose processes stay for the next run."""
_numbers = count(1)


@dataclass(frozen=True)
class MindFile:
    """A mind in a file.

    Attributes:
        start: the content of the file, its path and the name of the class or function in it.
        version: the SHA-256 of the file.
        process: the process of the file.
    """

    spec: str
    start: Mapping[str, Any]
    version: str
    process: FileProcess


def mind_file(spec: str) -> MindFile:
    """Find the mind that a spec names; the file is run for it, in its own process.

    Raises:
        MindSpecError: when the file cannot be read or run, or has no such mind; when there are no
            such processes here, a demanded sandbox does not work, or a variable is not set.
    """
    if not hasattr(os, "fork"):
        raise MindSpecError(
            "Minds from files (py:FILE) need Linux or macOS; on Windows, WSL has one."
        )
    (path, name), source = path_and_name(spec), read(spec)
    file = Path(path).resolve()
    start = ("source", source), ("path", str(file)), ("name", name)
    command = sandbox(file.parent) if is_sandboxed() else []
    process = _started(path, start, tuple(command), environment(), os.getpid())
    return MindFile(spec, dict(start), digest(source), process)


@lru_cache(KEPT_PROCESSES)
def _started(
    path: str, start: Items, command: tuple[str, ...], environment: Items, pid: int
) -> FileProcess:
    """The process for a mind, the same one in run after run."""
    del pid  # a fork of this process has its own
    process = FileProcess(command, environment)
    with ThreadPoolExecutor(1) as thread:  # this one may have a running event loop
        asked = process.ask(0, lambda: dict(start), None, 0.0)
        outcome = thread.submit(asyncio.run, asked).result()
    process.end()  # bubblewrap ends with the thread that started it
    if "problem" in outcome:
        raise MindSpecError(f"{path} cannot be used as a mind: {one_line(outcome['problem'])}.")
    return process


def read(spec: str) -> bytes:
    """Return the content of the file that a spec names.

    Raises:
        MindSpecError: when it cannot be read.
    """
    return read_file(path_and_name(spec)[0], "mind", MindSpecError)


def path_and_name(spec: str) -> tuple[str, str]:
    """The file and the name in a spec; the name is ``""`` without one."""
    rest = spec.partition(":")[2]
    path, _, name = rest.rpartition(":")
    return (path, name) if path and name.isidentifier() else (rest, "")


def digest(source: bytes) -> str:
    """The recorded form of the SHA-256 of a file."""
    return hashlib.sha256(source).hexdigest()


class FileMind(Mind):
    """The mind of one agent, in the process of its file."""

    instant = True  # it waits, but not for long, and only one run at a time needs the process
    paid = False

    def __init__(self, file: MindFile, agent: SmartAgent) -> None:
        self.spec, self.version = file.spec, file.version
        self._file, self._agent = file, agent
        self._losses = self._number = 0

    async def answer(self, ask: Ask) -> object:
        """Ask the mind.

        Returns:
            Its answer; a reply with the reason when it lost the decision.

        Raises:
            MindError: when its facts cannot be sent to another process, or no process can be
                started.
        """
        if self._losses == LOSSES:
            return _failed(f"not asked any more, since it has lost its process {LOSSES} times")
        self._number = self._number or next(_numbers)
        given = {name: getattr(ask, name) for name in SENT}
        rng = self._agent.stream(ask.key, len(ask.rejected))
        try:
            question = pickle.dumps((given, ask.rejected, rng))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise MindError(
                f"The facts for {self.spec!r} at {ask.key} cannot be sent to its process: {error}"
            ) from None

        def start() -> Mapping[str, Any]:
            return {
                **self._file.start,
                "seed": f"{self._agent.model.entropy}/{self._agent.unique_id}",
                "book": pickle.dumps(ask.book),
                "scenario": type(self._agent).__module__,
            }

        asked = self._file.process.ask(self._number, start, question, WAIT_S)
        # An answer that a stopped run leaves is still read: it is not that to a later question.
        outcome = await asyncio.shield(asked)
        if "problem" not in outcome:
            return outcome["answer"]
        self._losses += bool(outcome.get("lost"))
        return _failed(str(outcome["problem"]))

    def close(self) -> None:
        """Release the mind in the process; the next question creates it again."""
        self._file.process.forget(self._number)

    def __getstate__(self) -> dict[str, Any]:
        """A copy is another mind, which begins anew."""
        return {**self.__dict__, "_number": 0}


def file_mind_maker(
    spec: str, module: str, recorded: str | None = None
) -> Callable[[SmartAgent], FileMind]:
    """The function that gives each agent its mind from a file.

    Args:
        recorded: the recorded SHA-256 of the file; None allows any.

    Raises:
        MindSpecError: when the file cannot be read or run, or has no such mind.
        RecordingError: when the file was changed.
    """
    if module == "__main__":
        raise MindSpecError(
            f"{spec!r} decides in its own process, which cannot import a scenario from the main "
            "script: define the scenario in a module."
        )
    file = mind_file(spec)
    if recorded not in {None, file.version}:
        raise RecordingError(
            f"{path_and_name(spec)[0]} was changed since the run was recorded (SHA-256 "
            f"{str(recorded)[:12]}… then, {file.version[:12]}… now): restore it, or fork the run "
            "with another file."
        )
    return lambda agent: FileMind(file, agent)


def _failed(problem: str) -> Reply:
    return Reply(one_line(problem)[:LONGEST_REASON], finish_reason=FAILED)
