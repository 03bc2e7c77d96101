"""Preliminary tests: can a language model be studied in a scenario at all?

Papers give models a few problems before the larger runs. An `Exam` is such a test: the run in which
the problems are asked, a checker of the answers, and a threshold. ``sabm doctor SCENARIO --minds
SPEC`` holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import AnswerSpec, Decision
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Marks


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes:
        kind: its kind.
        entry: the prompt entry with the question.
        facts: the facts for the prompt.
        spec: what a legal answer is.
        is_right: the checker of a legal answer.
    """

    kind: str
    entry: str
    facts: Mapping[str, object]
    spec: AnswerSpec
    is_right: Callable[[Any], bool]


class Examinee(SmartAgent):
    """An agent that is asked one problem."""

    problem: Problem
    solved = False

    async def act(self) -> Decision:
        """Solve the problem."""
        return await self.ask(self.problem.entry, self.problem.spec, **self.problem.facts)


class Problems(SmartModel):
    """One round in which each agent solves one problem. A subclass has prompts and `problems`.

    Args:
        n_problems: the number of problems of each kind.
        settings: the other parameters of `SmartModel`.
    """

    phases: ClassVar[tuple[Phase, ...]] = (action(),)

    def __init__(self, n_problems: Annotated[int, Ge(1)] = 1, **settings: Any) -> None:
        super().__init__(**settings)
        problems = self.problems(n_problems)
        self.examinees = self.populate(Examinee, len(problems))
        for examinee, problem in zip(self.examinees, problems, strict=True):
            examinee.problem = problem

    def problems(self, n: int) -> list[Problem]:
        """The problems, `n` of each kind."""
        raise NotImplementedError

    def after_act(self, examinee: Examinee, answer: Decision) -> None:
        """Mark an answer."""
        examinee.solved = answer.valid and examinee.problem.is_right(answer.value)

    def marks(self) -> Marks:
        """The marks of the finished run."""
        marks: dict[str, list[bool]] = {}
        for examinee in self.examinees:
            marks.setdefault(examinee.problem.kind, []).append(examinee.solved)
        return marks
