"""The preliminary test of a commons: problems on four skills that keep it alive.

In the authors' program an unreadable answer became 0, which is right in some problems; here it is
wrong.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from sabm_mesa.core.answers import Number, free
from sabm_mesa.models.commons.agents import example
from sabm_mesa.models.commons.model import NAMES
from sabm_mesa.models.commons.theory import regrown, threshold
from sabm_mesa.models.exam import Exam, Problem, Problems

SKILLS = ("dynamics", "action", "same", "belief")
CAPACITY = 100
STOCKS = (10, CAPACITY)
AMOUNTS = (0, CAPACITY // len(NAMES))
"""Units that each takes, for the skill ``dynamics`` (our choice)."""


def solution(skill: str, stock: int, amount: int) -> int:
    """The right answer, or for the skill ``action`` the largest right one, for a stock h."""
    if skill == "dynamics":
        return regrown(max(0, stock - len(NAMES) * amount), CAPACITY)
    return threshold(stock, len(NAMES))


def is_right(skill: str, correct: int, answer: int) -> bool:
    """Whether an answer is right; a smaller harvest is sustainable, too (``action``)."""
    return 0 < answer <= correct if skill == "action" and correct else answer == correct


class SkillTest(Problems):
    """Problems with random stocks, in one of the wordings of a commons."""

    scenario_name = "commons-skills"
    prompt_file = Path(__file__).with_name("prompts.toml")
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 8000, "top_p": 1.0}

    def __init__(
        self, wording: Literal["fishery", "pasture", "pollution"] = "fishery", **settings: Any
    ) -> None:
        self.wording = wording
        super().__init__(**settings)

    def problems(self, n: int) -> list[Problem]:
        """Problems of each skill, `n` of each."""
        return [self._problem(skill) for skill in SKILLS for _ in range(n)]

    def _problem(self, skill: str) -> Problem:
        stock, amount = (int(self.rng.integers(a, b + 1)) for a, b in (STOCKS, AMOUNTS))
        values: dict[str, object] = {
            "wording": self.wording, "name": NAMES[0], "names": NAMES, "n_agents": len(NAMES),
            "capacity": CAPACITY, "example": example(CAPACITY), "stock": stock, "amount": amount,
            "communication": False, "reported": False, "minutes": False,
        }  # fmt: skip
        correct = solution(skill, stock, amount)
        spec = Number(0, CAPACITY if skill == "dynamics" else stock, integer=True, reasoning=free)
        return Problem(skill, f"screen_{skill}", values, spec, partial(is_right, skill, correct))


EXAM = Exam(
    title="four skills that keep a commons alive",
    source="Piatti et al. 2024, section 3.7",
    right="the stock of the next month (dynamics), a sustainable harvest (action), the largest "
    "one if all take the same (same) and with one's beliefs on the others (belief)",
    published="with 150 problems of each kind, the share of right answers goes with the survival "
    "time of the commons: R² 0.69 (dynamics), 0.92 (action), 0.76 (same), 0.82 (belief); models "
    "take a sustainable amount in 30 % of the problems at most",
    model=SkillTest,
    parameters=lambda scenario, n: {"wording": scenario.wording, "n_problems": n},
    marks=SkillTest.marks,
)
