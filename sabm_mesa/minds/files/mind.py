"""Minds from a Python file, such as the work of students: ``py:FILE`` or ``py:FILE:NAME``.

The file has a class with a method ``answer(self, ask)``, which is created without arguments, once
for each agent, so that it may learn; or a function ``answer(ask)``. Either may be ``async``. It
answers in the form of ``ask.spec``: with a number or a text, or a dict or list of these::

    class Mine:
        def answer(self, ask):
            return ask.rng.integers(0, 101)

The question has all that it may use: ``ask.observation`` (all that the agent can see), ``ask.name``
(the name of the question), ``ask.spec`` (the legal answers), ``ask.rejected`` (unusable answers,
with the reasons), ``ask.messages()`` (the prompt of a language model) and ``ask.rng`` (its
randomness; Python's `random` and numpy's are seeded too, so that a run can be repeated).

Each agent's mind lives in its own process. It sees a copy of the question and nothing else of the
model or of other minds, and can be stopped: a decision may take 1 s of computing and 10 s in all
(120 s for a paid mind). A mind that raises an exception, takes longer, ends its process, needs more
memory than 1 GiB or gives another kind of answer loses that decision, which is recorded as invalid,
with the reason. After the loss of its process it starts again without its memory; after three lost
processes, it is not asked again in that run. Its output is discarded. A mind gets few environment
variables, without keys and account names. Its isolation from files, the network and other processes
depends on the machine: see `sabm_mesa.minds.files.isolation`.

An answer counts as free and repeatable, unless the user declares the file as paid
(``--paid-mind FILE``). A file with ``paid = True`` is refused without that option. A recording has
the SHA-256 of the file under ``versions``. A replay takes the answers from the recording and does
not need the file. Resuming a run needs the unchanged file: free minds are asked again, so that they
learn again, and paid minds continue without their memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import pickle
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.answers import FAILED, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.toml_io import read_file
from sabm_mesa.errors import MindError, MindSpecError, RecordingError, one_line
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.files.client import SupervisorClient, client
from sabm_mesa.minds.files.isolation import is_paid
from sabm_mesa.minds.files.worker import AskMessage, Start

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent

LOSSES = 3
"""The number of lost processes after which a mind is not asked again in a run."""
LONGEST_REASON = 300


@dataclass(frozen=True)
class MindFile:
    """A mind in a file.

    Attributes:
        spec: its spec: ``py:FILE`` or ``py:FILE:NAME``.
        path: the file.
        name: the name of the class or function in it.
        source: the content of the file.
        paid: whether its answers cost money.
    """

    spec: str
    path: str
    name: str
    source: bytes
    paid: bool

    @property
    def version(self) -> str:
        """The SHA-256 of the file."""
        return digest(self.source)


def mind_file(spec: str) -> MindFile:
    """Find the mind that a spec names; the file is run for it, in its own process.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.

    Raises:
        MindSpecError: when the file cannot be read or run, has no such mind, or sets `paid` without
            the user's consent.
    """
    path, name = path_and_name(spec)
    source = read(spec)
    facts = _facts_of(path, name, source)
    if facts.get("paid") and not is_paid(path):
        raise MindSpecError(
            f"{path} sets paid = True, which needs your consent: give --paid-mind {path}, or "
            "remove that line."
        )
    return MindFile(spec, path, str(facts.get("name")), source, is_paid(path))


def read(spec: str) -> bytes:
    """Return the content of the file that a spec names.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.

    Raises:
        MindSpecError: when it cannot be read.
    """
    path, _ = path_and_name(spec)
    return read_file(path, "mind", MindSpecError)


def path_and_name(spec: str) -> tuple[str, str]:
    """The file and the name in a spec; the name is ``""`` without one.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.
    """
    rest = spec.partition(":")[2]
    path, _, name = rest.rpartition(":")
    return (path, name) if path and name.isidentifier() else (rest, "")


def digest(source: bytes) -> str:
    """The recorded form of the SHA-256 of a file."""
    return hashlib.sha256(source).hexdigest()


@cache  # a command builds the same model several times
def _facts_of(path: str, name: str, source: bytes) -> Mapping[str, Any]:
    supervisor = client(path)
    player, ready = supervisor.start(Start(source=source, path=path, name=name))
    facts = ready.result()
    supervisor.end(player)
    supervisor.flush()
    if "problem" in facts:
        raise MindSpecError(f"{path} cannot be used as a mind: {one_line(facts['problem'])}.")
    return facts


class FileMind(Mind):
    """The mind of one agent, in its own process.

    Args:
        file: its file.
        agent: its agent, whose random streams it uses.
        supervisor: the client of the supervisor of its process; None: the client for the file.

    Attributes:
        version: the SHA-256 of the file.
    """

    instant = True  # it waits, but not for long, and only one run at a time needs processes

    def __init__(
        self, file: MindFile, agent: SmartAgent, supervisor: SupervisorClient | None = None
    ) -> None:
        self.spec, self.paid, self.version = file.spec, file.paid, file.version
        self._file, self._agent, self._given = file, agent, supervisor
        self._client: SupervisorClient | None = None
        self._losses = 0
        self._worker: int | None = None
        self._end: Callable[[], object] = _nothing

    async def answer(self, ask: Ask) -> object:
        """Ask the mind.

        Args:
            ask: the question.

        Returns:
            Its answer; a reply with the reason when it lost the decision.

        Raises:
            MindError: when its observation cannot be sent to another process, or no process can be
                started.
        """
        if self._losses == LOSSES:
            return _failed(f"not asked any more, since it has lost its process {LOSSES} times")
        question = self._question(ask)
        try:
            outcome = await self._begun(ask)
            begun = "problem" not in outcome
            if begun and self._worker is not None and self._client is not None:
                outcome = await self._client.outcome(
                    self._client.ask(self._worker, question), paid=self.paid
                )
        except asyncio.CancelledError:  # its answer would be taken for that to a later question
            self.close()
            raise
        if "problem" not in outcome:
            return outcome.get("answer")
        if outcome.get("lost") or not begun:
            self._losses += 1
            self.close()
        return _failed(str(outcome["problem"]))

    def close(self) -> None:
        """End the process of the mind; the next question starts a new one."""
        if self._worker is not None and self._client is not None:
            self._worker = None
            self._end()
            self._client.flush()

    async def _begun(self, ask: Ask) -> Mapping[str, Any]:
        if self._worker is not None:
            return {}
        self._client = supervisor = self._given or client(self._file.path)
        start = Start(
            source=self._file.source,
            path=self._file.path,
            name=self._file.name,
            seed=f"{self._agent.model.entropy}/{self._agent.unique_id}",
            module=type(self._agent).__module__,
            book=pickle.dumps(ask.book),
            paid=self.paid,
        )
        self._worker, ready = supervisor.start(start)
        ended = weakref.finalize(self, supervisor.end, self._worker)
        ended.atexit = False
        self._end = ended
        return await supervisor.outcome(ready)

    def _question(self, ask: Ask) -> bytes:
        try:
            return pickle.dumps(
                AskMessage(
                    ask.name, ask.observation, ask.spec, ask.key, ask.answer_format, ask.position,
                    ask.rejected, ask.extractions, self._agent.stream(ask.key, len(ask.rejected)),
                )
            )  # fmt: skip
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise MindError(
                f"What {self.spec!r} would observe at {ask.key} cannot be sent to its process: "
                f"{error}"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        """A copy has no process, and starts a new one."""
        return {**self.__dict__, "_worker": None, "_client": None, "_end": _nothing}


def file_mind_maker(
    spec: str, module: str, recorded: str | None = None
) -> Callable[[SmartAgent], FileMind]:
    """The function that gives each agent its mind from a file.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.
        module: the module of the scenario.
        recorded: the recorded SHA-256 of the file; None: any.

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
            f"{file.path} was changed since the run was recorded (SHA-256 {str(recorded)[:12]}… "
            f"then, {file.version[:12]}… now): restore it, or fork the run with another file."
        )
    return lambda agent: FileMind(file, agent)


def _failed(problem: str) -> Reply:
    return Reply(one_line(problem)[:LONGEST_REASON], finish_reason=FAILED)


def _nothing() -> None:
    """A placeholder for the end of a process that was never started."""
