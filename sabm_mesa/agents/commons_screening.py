"""The examinees of the commons screening: each is put one problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.commons_words import Words
from sabm_mesa.asks import Observation
from sabm_mesa.decisions import Decision, Number

if TYPE_CHECKING:
    from sabm_mesa.models.commons_screening import CommonsScreening
    from sabm_mesa.prompts import PromptBook


@dataclass(frozen=True, slots=True)
class Problem(Observation):
    """One problem, as it is put.

    Attributes:
        skill: what is tested: one of `sabm_mesa.models.commons_screening.SKILLS`.
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        names: the names of all, the examinee's own first.
        capacity: the most units the stock can be.
        stock: units at the beginning of the month.
        amount: units that each takes, for the test of the dynamics.
    """

    skill: str
    wording: str
    names: tuple[str, ...]
    capacity: int
    stock: int
    amount: int

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        values = Words(book, self.wording, self.capacity).values | {
            "name": self.names[0],
            "others": ", ".join(self.names[1:]),
            "told": "",
            "persona": book.persona(self.persona),
            "n_agents": len(self.names),
            "stock": self.stock,
            "amount": self.amount,
        }
        values["rules"] = book.render("rules", values)
        return values | {"briefing": book.render("briefing", values)}


class Examinee(SmartAgent):
    """Somebody who is put one problem.

    Args:
        model: the screening.

    Attributes:
        skill: what is tested.
        stock: units at the beginning of the month in the problem.
        amount: units that each takes, in the test of the dynamics.
        choice: the answer; None when it could not be read.
        correct: the right answer, or the largest right one.
        passed: whether the answer is right.
    """

    model: CommonsScreening

    def __init__(self, model: CommonsScreening) -> None:
        super().__init__(model)
        self.skill = ""
        self.stock = self.amount = self.correct = 0
        self.choice: int | None = None
        self.passed = False

    async def act(self) -> Decision:
        """Solve the problem."""
        model = self.model
        high = model.capacity if self.skill == "dynamics" else self.stock
        problem = Problem(
            skill=self.skill,
            wording=model.wording,
            names=model.names,
            capacity=model.capacity,
            stock=self.stock,
            amount=self.amount,
            persona=self.persona,
        )
        spec = Number(0, high, integer=True, reasoning=True)
        return await self.ask(f"screen_{self.skill}", spec, problem)
