"""Minds from a Python file, such as those that students hand in: ``py:FILE`` or ``py:FILE:NAME``.

The file holds a class with a method ``answer(self, ask)``, which is made without arguments, once
for each agent, so that it may keep what it learns; or a function ``answer(ask)``. Either may be
``async``. It answers with a number or a text, as ``ask.spec`` asks for it::

    class Mine:
        def answer(self, ask):
            return ask.rng.integers(0, 101)

What it may use is in the question: ``ask.observation`` (all that the agent can see), ``ask.name``
(what is asked), ``ask.spec`` (what a legal answer is), ``ask.rejected`` (answers that could not be
used, with the reasons), ``ask.messages()`` (what a language model would be told) and ``ask.rng``
(its randomness; Python's `random` and numpy's are seeded too, so that a run can be repeated).

Each agent's mind lives in a process of its own. It sees a copy of the question and nothing else of
the model or of other minds, and can be stopped: a decision may take 1 s of computing and 10 s in
all (120 s for a mind that says ``paid = True`` of itself). A mind that raises, takes longer, ends
its process, needs more memory than 1 GiB or answers with something else loses that decision: it is
recorded as invalid, with the reason. After a loss of its process it begins anew, without what it
has learned; when it has lost three, it is not asked any more in that run. What it prints is thrown
away. All this guards against mistakes, not against malice: a file is a program, and runs with the
rights of whoever runs it.

An answer counts as free, so that it can be had again, unless the class or function has an attribute
``paid = True``. A recording holds the SHA-256 of the file under ``versions``. A replay takes the
answers from the recording and does not need the file; going on with a run needs it unchanged: free
minds are asked again, so that they learn again, and paid ones go on without what they had learned.
"""

from __future__ import annotations

import asyncio
import pickle
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.asks import FAILED, Ask, Reply
from sabm_mesa.errors import MindError, MindSpecError, RecordingError, one_line
from sabm_mesa.minds.students.files import MindFile, mind_file
from sabm_mesa.minds.students.keeper import Keeper, keeper
from sabm_mesa.minds.students.player import Question, Start

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.models.base import SmartModel

LOSSES = 3
"""Lost processes after which a mind is not asked any more in a run."""
LONGEST_REASON = 300


class StudentMind:
    """The mind of one agent, in a process of its own.

    Args:
        file: where it is from.
        agent: whose mind it is; its random streams are the mind's.
        keeper: who has its process; that of this process when None.

    Attributes:
        version: the SHA-256 of the file.
    """

    instant = True  # it is waited for, but not for long, and only one run at a time needs processes

    def __init__(self, file: MindFile, agent: SmartAgent, keeper: Keeper | None = None) -> None:
        self.spec, self.paid, self.version = file.spec, file.paid, file.version
        self._file, self._agent, self._keeper = file, agent, keeper
        self._losses = 0
        self._player: int | None = None
        self._end: Callable[[], object] = _nothing

    async def answer(self, ask: Ask) -> object:
        """Ask the mind.

        Args:
            ask: the question.

        Returns:
            Its answer; a reply that says why there is none when it lost the decision.

        Raises:
            MindError: when what it would observe cannot be sent to another process, or none can be
                started.
        """
        if self._losses == LOSSES:
            return _failed(f"not asked any more, since it has lost its process {LOSSES} times")
        question = self._question(ask)
        try:
            outcome = await self._begun(ask)
            begun = "problem" not in outcome
            if begun and self._player is not None:
                own = self._keeper or keeper()
                outcome = await asyncio.wrap_future(own.ask(self._player, question))
        except asyncio.CancelledError:  # its answer would be taken for that to a later question
            self.rest()
            raise
        if "problem" not in outcome:
            return outcome.get("answer")
        if outcome.get("lost") or not begun:
            self._losses += 1
            self.rest()
        return _failed(str(outcome["problem"]))

    def rest(self) -> None:
        """End the process of the mind; when it is asked again it begins anew."""
        if self._player is not None:
            self._player = None
            self._end()
            (self._keeper or keeper()).flush()

    async def _begun(self, ask: Ask) -> Mapping[str, Any]:
        if self._player is not None:
            return {}
        own = self._keeper or keeper()
        start = Start(
            source=self._file.source,
            path=self._file.path,
            name=self._file.name,
            seed=f"{self._agent.model.entropy}/{self._agent.unique_id}",
            module=type(self._agent).__module__,
            book=pickle.dumps(ask.book),
            paid=self.paid,
        )
        self._player, ready = own.start(start)
        ended = weakref.finalize(self, own.end, self._player)
        ended.atexit = False
        self._end = ended
        return await asyncio.wrap_future(ready)

    def _question(self, ask: Ask) -> bytes:
        try:
            return pickle.dumps(
                Question(
                    ask.name, ask.observation, ask.spec, ask.key, ask.answer_format, ask.position,
                    ask.rejected, self._agent.stream(ask.key, len(ask.rejected)),
                )
            )  # fmt: skip
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise MindError(
                f"What {self.spec!r} would observe at {ask.key} cannot be sent to its process: "
                f"{error}"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        """A copy has no process, and begins anew."""
        return {**self.__dict__, "_player": None, "_end": _nothing}


def student_maker(
    spec: str, model: SmartModel, recorded: str | None = None
) -> Callable[[SmartAgent], StudentMind]:
    """The function that gives each agent its mind from a file.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.
        model: the model.
        recorded: the SHA-256 that the file had when the run was recorded; None: any.

    Raises:
        MindSpecError: when the file cannot be read or run, or holds no such mind.
        RecordingError: when the file was changed.
    """
    if type(model).__module__ == "__main__":
        raise MindSpecError(
            f"{spec!r} decides in a process of its own, which cannot know a scenario that is part "
            "of the script: define the scenario in a module."
        )
    file = mind_file(spec)
    if recorded not in {None, file.version}:
        raise RecordingError(
            f"{file.path} was changed since the run was recorded (SHA-256 {str(recorded)[:12]}… "
            f"then, {file.version[:12]}… now): restore it, or fork the run with another file."
        )
    return lambda agent: StudentMind(file, agent)


def _failed(problem: str) -> Reply:
    return Reply(one_line(problem)[:LONGEST_REASON], finish_reason=FAILED)


def _nothing() -> None:
    """Stands for the end of a process that has not begun."""
