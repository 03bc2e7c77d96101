"""Commons screening: four tests of the skills that sustain a commons, for one kind of mind.

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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pandas as pd
from annotated_types import Ge

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Decision, Number, free
from sabm_mesa.core.asks import Ask, Observation
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.core.streams import Seed
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.commons.agents import Words
from sabm_mesa.models.commons.model import NAMES
from sabm_mesa.models.commons.theory import regrown, threshold
from sabm_mesa.models.declarations import (
    ENOUGH,
    Finding,
    Frames,
    Screened,
    Screener,
    ScreeningFigure,
    percent,
)

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
SKILLS = ("dynamics", "action", "same", "belief")
CAPACITY = 100
LOWEST_STOCK = 10
HIGHEST_AMOUNT = CAPACITY // len(NAMES)
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Problem(Observation):
    """One problem, as it is asked.

    Attributes:
        skill: the tested skill: one of `sabm_mesa.models.commons.screening.SKILLS`.
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        names: all names, with the examinee first.
        capacity: the maximum stock (units).
        stock: units at the beginning of the month.
        amount: units that each person takes, for the test of the dynamics.
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
        values = (
            Words(book, self.wording, self.capacity).values  # noqa: PD011
            | {
                "name": self.names[0],
                "others": ", ".join(self.names[1:]),
                "told": "",
                "persona": book.persona(self.persona),
                "n_agents": len(self.names),
                "stock": self.stock,
                "amount": self.amount,
            }
        )
        values["rules"] = book.render("rules", values)
        return values | {"briefing": book.render("briefing", values)}


class Examinee(SmartAgent):
    """An agent that is asked one problem.

    Args:
        model: the screening.

    Attributes:
        skill: the tested skill.
        stock: units at the beginning of the month in the problem.
        amount: units that each person takes, in the test of the dynamics.
        choice: the answer; None if it was unreadable.
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
        spec = Number(0, high, integer=True, reasoning=free)
        return await self.ask(f"screen_{self.skill}", spec, problem)


def solution(skill: str, stock: int, amount: int) -> int:
    """The right answer to a problem; for the test ``action``, the largest right answer.

    Args:
        skill: the test: one of `SKILLS`.
        stock: units at the beginning of the month, h.
        amount: units that each person takes, x (in the test of the dynamics).
    """
    if skill == "dynamics":
        return regrown(max(0, stock - len(NAMES) * amount), CAPACITY)
    return threshold(stock, len(NAMES))


def is_right(skill: str, answer: int, correct: int) -> bool:
    """Whether an answer passes.

    Args:
        skill: the test: one of `SKILLS`.
        answer: the answer.
        correct: the result of `solution`.
    """
    if skill == "action" and correct > 0:
        return 0 < answer <= correct
    return answer == correct


class Solver(ClassicalMind):
    """Answers every problem correctly: the benchmark.

    Args:
        spec: how the mind is named in the data.
    """

    async def answer(self, ask: Ask) -> object:
        """Answer a problem.

        Args:
            ask: the question; its observation is a `Problem`.
        """
        problem = ask.observation
        assert isinstance(problem, Problem)
        return solution(problem.skill, problem.stock, problem.amount)


class CommonsScreening(SmartModel):
    """Four screening tests for one kind of mind.

    Args:
        n_problems: problems of each test.
        wording: the wording of the problems.
        minds: see `SmartModel`; the classical mind answers everything right.
        rng: the seed of the problems.
        settings: the other parameters of `SmartModel`.

    Attributes:
        names: the names of those who share the commons; the examinee is the first.
        capacity: the maximum stock (units).
        dynamics: share of its problems that were passed; so `action`, `same` and `belief`.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "commons-screening"
    title = "Commons screening"
    source = "Piatti et al. 2024, arXiv 2404.16698, section 3.7"
    prompt_file = Path(__file__).with_name("prompts.toml")
    screener = "sabm_mesa.models.commons.screening:SkillScreener"
    phases: ClassVar[tuple[Phase, ...]] = (
        action(
            doc="Each examinee solves its problem (`screen_dynamics`, `screen_action`, "
            "`screen_same` or `screen_belief`); an unreadable answer does not pass.",
        ),
    )
    model_columns: ClassVar[dict[str, str]] = {name: name for name in SKILLS}
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("skill", "stock", "amount", "choice", "correct", "passed")
    }
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {"default": Solver}

    def __init__(
        self,
        n_problems: Annotated[int, Ge(1)] = 150,
        wording: Literal["fishery", "pasture", "pollution"] = "fishery",
        minds: Minds = "classical",
        rng: Seed = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 8000,
        top_p: float | None = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(
            minds=minds, rng=rng, temperature=temperature, max_tokens=max_tokens, top_p=top_p,
            **settings,
        )  # fmt: skip
        self.wording, self.names, self.capacity = wording, NAMES, CAPACITY
        self.dynamics = self.action = self.same = self.belief = math.nan
        self.examinees = self.populate(Examinee, n_problems * len(SKILLS))
        for i, examinee in enumerate(self.examinees):
            examinee.skill = SKILLS[i // n_problems]
            examinee.stock = int(self.rng.integers(LOWEST_STOCK, CAPACITY + 1))
            examinee.amount = int(self.rng.integers(0, HIGHEST_AMOUNT + 1))
            examinee.correct = solution(examinee.skill, examinee.stock, examinee.amount)

    def after_act(self, examinee: Examinee, answer: Decision) -> None:
        """Mark an answer; an unreadable answer does not pass."""
        examinee.choice = answer.value
        examinee.passed = answer.valid and is_right(examinee.skill, answer.value, examinee.correct)

    def update(self) -> None:
        """Count the passed problems, by test."""
        for skill in SKILLS:
            marks = [examinee.passed for examinee in self.examinees if examinee.skill == skill]
            setattr(self, skill, sum(marks) / len(marks))


class SkillScreener(Screener):
    """A mind passes if it solves enough problems of each kind."""

    def find(self, frames: Frames) -> Finding:
        """The share of solved problems by kind, with its interval."""
        answers = frames["agent_data"]
        measures: dict[str, float] = {"answers": float(len(answers))}
        parts = []
        for skill, (share, low, high) in solved_shares(answers).items():
            measures |= {skill: share, f"{skill} low": low, f"{skill} high": high}
            usable = answers.loc[answers["skill"] == skill, "choice"].notna().mean()
            measures[f"{skill} usable"] = float(usable)
            parts.append(f"{skill} {percent(share)} ({100 * low:.0f} to {100 * high:.0f})")
        passes = min(measures[skill] for skill in SKILLS) >= ENOUGH
        return Finding(passes, ", ".join(parts), measures)

    def drawings(self, screened: Screened) -> list[ScreeningFigure]:
        """The share of solved problems of each mind, by wording and kind."""
        from sabm_mesa.models.commons.plots import skills

        rows = [
            {"mind": mind, "wording": screened.titles[test], "skill": skill,
             "share": result.measures[skill], "low": result.measures[f"{skill} low"],
             "high": result.measures[f"{skill} high"]}
            for (test, mind), result in screened.findings.items()
            for skill in SKILLS
        ]  # fmt: skip
        figure = skills(pd.DataFrame(rows), enough=ENOUGH)
        title = "The share of problems that was solved, with 95 % intervals"
        return [ScreeningFigure("commons-skills", title, figure)]

    def tables(self, screened: Screened) -> dict[str, pd.DataFrame]:
        """``problems.csv``: one row per problem."""
        columns = ["mind", "wording", "run", "skill", "stock", "amount", "choice", "correct",
                   "passed"]  # fmt: skip
        answers = [
            frames["agent_data"].assign(wording=test) for test, frames in screened.frames.items()
        ]
        return {"problems.csv": pd.concat(answers, ignore_index=True)[columns]}


def solved_shares(answers: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Kind of problem → the share of solved problems, and its 95 % interval.

    Source: the interval of Wilson 1927, JASA 22(158); computed by `scipy.stats`.

    Args:
        answers: one row per problem, with columns ``skill`` and ``passed``.
    """
    from scipy.stats import binomtest

    shares = {}
    for skill in SKILLS:
        marks = answers.loc[answers["skill"] == skill, "passed"].astype(bool)
        test = binomtest(int(marks.sum()), len(marks))
        ends = test.proportion_ci(CONFIDENCE, method="wilson")
        shares[skill] = float(marks.mean()), float(ends.low), float(ends.high)
    return shares
