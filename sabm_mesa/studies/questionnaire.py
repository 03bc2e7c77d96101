"""Independent questions: one agent per question, all asked at once in one round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import AnswerSpec, Decision
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.models.base import SmartModel

Question = tuple[str, AnswerSpec | type, Mapping[str, Any]]
"""The prompt entry, the legal answers and the facts of a question."""


class Respondent(SmartAgent):
    """An agent that answers one question.

    Attributes:
        value: its answer; None without a usable one.
    """

    model: Questionnaire

    def __init__(self, model: Questionnaire) -> None:
        super().__init__(model)
        self.value: Any = None

    @property
    def answer(self) -> str | None:
        """The answer as a text; None without a usable one."""
        return None if self.value is None else self.model.text_of(self.value)

    async def act(self) -> Decision:
        """Answer the question."""
        name, spec, facts = self.model.questions[self.unique_id - 1]
        return await self.ask(name, spec, **facts)


class Questionnaire(SmartModel):
    """A model of one round whose agents answer independent questions (`pose`).

    Attributes:
        questions: the questions.
        respondents: the agents, in the order of the questions.
    """

    phases: ClassVar[tuple[Phase, ...]] = (
        action(doc="Each agent answers its question; an unreadable answer does not count."),
    )
    agent_columns = ("answer",)

    def pose(self, questions: Sequence[Question]) -> None:
        """Give each question to an agent."""
        self.questions = questions
        self.respondents = self.populate(Respondent, len(questions))

    def text_of(self, value: Any) -> str:
        """A usable answer as a text."""
        return str(value)

    def after_act(self, respondent: Respondent, answer: Decision) -> None:
        """Keep the answer."""
        respondent.value = answer.value
