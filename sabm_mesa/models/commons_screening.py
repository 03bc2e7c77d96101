"""Commons screening: four tests of what it takes to keep a commons alive, for one kind of mind.

Purpose
    Which minds understand the commons well enough to be studied in it? In the published tests the
    share of problems that a language model passes goes with how long its commons survives
    (R² 0.69, 0.92, 0.76 and 0.82 in the order of the tests).

Entities, state variables and scales
    One examinee a problem: what is tested, the stock in the problem, its answer (units). There is
    no world, and nobody sees anybody else.

Process overview and scheduling
    One round. All examinees answer at the same time; then the answers are marked.

Design concepts
    Sensing: the rules of the wording and the problem. Stochasticity: the problems. Observation:
    below.

Initialization and input
    ``n_problems`` of each test, 150; ``wording``: ``fishery``, ``pasture`` or ``pollution``. The
    stock is drawn from 10 to 100 units, each with the same chance; the amount that each takes in
    the test of the dynamics from 0 to 20 [choice: a fifth of the capacity].

Submodels: the tests, for a stock h and 5 people
    ``dynamics``: each takes x; with how many units does the next month begin?
    max(0, min(100, 2·(h − 5x))). ``action``: how much does one take? Right is any x with
    0 < x ≤ floor(floor(h / 2) / 5), and 0 where that is 0. ``same``: the most that each can take
    when all take the same and the stock is to grow back; ``belief``: the most that oneself can
    take, with what one believes of the others. Right is floor(floor(h / 2) / 5) in both.

Measures
    The share of problems that were passed, by test.

Unreadable answers
    The problem is not passed, and the answer is counted as invalid.

Deviations from the authors' program
    An unreadable answer became 0, which is right in some problems. The wording is ours.

Source
    Piatti et al. 2024, arXiv 2404.16698 v4, section 3.7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from sabm_mesa.agents.commons_screening import Examinee, Problem
from sabm_mesa.analysis.theory.commons import regrown, threshold
from sabm_mesa.asks import Ask
from sabm_mesa.decisions import Decision
from sabm_mesa.minds import Minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.commons_setup import NAMES
from sabm_mesa.parameters import one_of, whole
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase, action

SKILLS = ("dynamics", "action", "same", "belief")
WORDINGS = ("fishery", "pasture", "pollution")
CAPACITY = 100
LOWEST_STOCK = 10
HIGHEST_AMOUNT = CAPACITY // len(NAMES)


def solution(skill: str, stock: int, amount: int) -> int:
    """The right answer to a problem; of the test ``action`` the largest right one.

    Args:
        skill: the test: one of `SKILLS`.
        stock: units at the beginning of the month, h.
        amount: units that each takes, x (in the test of the dynamics).
    """
    if skill == "dynamics":
        return regrown(max(0, stock - len(NAMES) * amount), CAPACITY)
    return threshold(stock, len(NAMES))


def is_right(skill: str, answer: int, correct: int) -> bool:
    """Whether an answer passes.

    Args:
        skill: the test: one of `SKILLS`.
        answer: the answer.
        correct: what `solution` gave.
    """
    if skill == "action" and correct > 0:
        return 0 < answer <= correct
    return answer == correct


class Solver:
    """Answers every problem right: the benchmark.

    Args:
        spec: how the mind is named in the data.
    """

    instant = True
    paid = False

    def __init__(self, spec: str) -> None:
        self.spec = spec

    async def answer(self, ask: Ask) -> object:
        """Answer a problem.

        Args:
            ask: the question; its observation is a `Problem`.
        """
        problem = ask.observation
        assert isinstance(problem, Problem)
        return solution(problem.skill, problem.stock, problem.amount)


class CommonsScreening(SmartModel):
    """Four tests of one kind of mind, before it is used in a commons.

    Args:
        n_problems: problems of each test (1 or more).
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        minds: see `SmartModel`; the classical mind answers everything right.
        rng: the seed of the problems.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        top_p: nucleus sampling of language models.
        settings: the other parameters of `SmartModel`.

    Attributes:
        names: the names of those who share the commons; the examinee is the first.
        capacity: the most units the stock can be.
        dynamics: share of its problems that were passed; so `action`, `same` and `belief`.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "commons-screening"
    title = "Commons screening"
    source = "Piatti et al. 2024, arXiv 2404.16698, section 3.7"
    prompt_file = "commons"
    phases: ClassVar[tuple[Phase, ...]] = (action(),)
    model_columns: ClassVar[dict[str, str]] = {name: name for name in SKILLS}
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("skill", "stock", "amount", "choice", "correct", "passed")
    }
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {"default": Solver}

    def __init__(
        self,
        n_problems: int = 150,
        wording: str = "fishery",
        minds: Minds = "classical",
        rng: Seed = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
        top_p: float | None = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(
            minds=minds, rng=rng, temperature=temperature, max_tokens=max_tokens, top_p=top_p,
            **settings,
        )  # fmt: skip
        self.wording = one_of("wording", wording, WORDINGS)
        self.names, self.capacity = NAMES, CAPACITY
        self.dynamics = self.action = self.same = self.belief = math.nan
        n = whole("n_problems", n_problems, 1)
        self.examinees = self.populate(Examinee, n * len(SKILLS))
        for i, each in enumerate(self.examinees):
            each.skill = SKILLS[i // n]
            each.stock = int(self.rng.integers(LOWEST_STOCK, CAPACITY + 1))
            each.amount = int(self.rng.integers(0, HIGHEST_AMOUNT + 1))
            each.correct = solution(each.skill, each.stock, each.amount)

    def after_act(self, examinee: Examinee, answer: Decision) -> None:
        """Mark an answer; one that could not be read is not passed."""
        examinee.choice = answer.value
        examinee.passed = answer.valid and is_right(examinee.skill, answer.value, examinee.correct)

    def update(self) -> None:
        """Count what was passed, by test."""
        for skill in SKILLS:
            marks = [each.passed for each in self.examinees if each.skill == skill]
            setattr(self, skill, sum(marks) / len(marks))
