"""Probe: has a mind memorized published games, or does it solve games by their rules?

Purpose
    A mind that has read of a game may repeat its published results. Its answers then do not change
    with the rules, while those of a mind that solves the game do.

Entities, state variables and scales
    One agent per question, all with the same mind; none sees another. There is one round.

Process overview and scheduling
    Action: each agent plays one small game, or recognizes one, all at the same time.

Games
    A fifth are a guessing game as published (two thirds of the average, 0 to 100), a tenth a
    dilemma as published. The others are changed, in turn: ``p`` (another factor); ``range``
    (another range); ``language`` (German, French, Spanish or Chinese, with another factor and
    range); ``payoffs`` (a dilemma with drawn payoffs, each name standing for the other option);
    ``currency`` (other money and people, factor and range); ``new`` (a drawn game of three options
    that dominance solves, under invented names). A scenario that declares a generator draws new
    games. Recognition: of five of these games the mind is asked for the name, an author, and the
    choice of unlimited reasoning.

Scores
    Two answers to a changed game are known. The *right* one takes as many steps of reasoning as the
    mind takes in the published game, k = ln(x / 50) / ln(2 / 3), with the rules of this game. The
    *recited* one is the mind's answer to the published game. If the factor changes, a mind may
    recite the number or its relative position in the range; the nearer one counts, so a shift with
    the range alone does not count as reasoning. Each answer has an error against both, as a part of
    the range, and the share of legal answers that are nearer to it than this answer. Random answers
    have a mean share of one half in any game. In a dilemma the errors are 0 or 1.

Verdicts
    Games are the sample. All tests are one-sided, at 2.5 %, by `infer`.
    *solves*: the answers are nearer to the right answers than chance (a mean share below 0.5, by
    bets), and in most games nearer to the right than to the recited answer (the median of recited −
    right error above 0, by a sign test over the games in which both differ by a tenth of the range
    or more). *memorized*: the same for the recited answers. *responds inconsistently*: neither is
    nearer than chance, and the intervals of both shares lie above `NEAR`. Otherwise the mind is
    *undetermined*, and the finding says why. A random mind is called *solves* or *memorized* in at
    most 2.5 % of probes each.

Unreadable answers
    A question without a usable answer does not count. If half of the games or more lack one, there
    is no verdict: games are not left out at random (a mind that always says 7 has an answer only
    where 7 is in the range).

Source
    Nagel 1995, American Economic Review 85(5), 1313-1326 (the guessing game and its steps);
    Rapoport and Guyer 1966 (classes of games). The scores, their limits and all texts are ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from annotated_types import Ge, Le

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.tests import AGREES, DISAGREES, Inference, infer
from sabm_mesa.core.answers import AnswerSpec, Choice, Decision, Number, Text
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import check_int
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import find_all
from sabm_mesa.recording.export import (
    make_folder,
    readable_json,
    write_csv,
    write_file,
    write_picture,
    write_text_file,
)
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import RunSpec, find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.page import effect, estimate, markdown, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.llm import Connection

NAME = "probe"
GAMES = 30
FEWEST = 20
PUBLISHED, P = "published", Fraction(2, 3)
LOW, HIGH, MIDDLE = 0, 100, 50.0
CHANGES = ("p", "range", "language", "payoffs", "currency", "new")
LANGUAGES = ("de", "fr", "es", "zh")
FACTORS = (Fraction(4, 3), Fraction(1, 3), Fraction(3, 2), Fraction(1, 4), Fraction(5, 4))
RANGES = ((0, 1000), (200, 600), (0, 20), (50, 250))
DILEMMA = (((3, 3), (0, 5)), ((5, 0), (1, 1)))
"""The payoffs of the published dilemma, of the first and the second player."""
LEAST = 0.1
"""The least difference between right and recited answer in a game that counts, as a part of the
range."""
SOLVES, MEMORIZED = "solves", "memorized"
INCONSISTENT, UNDETERMINED = "responds inconsistently", "undetermined"
CHANCE = 0.5
"""The mean share of legal answers that are nearer than a random answer."""
NEAR = 0.2
"""Such a share for answers that follow a rule with much noise."""
NO_STEP = 0.1
"""The least number of reasoning steps for a meaningful guess."""
SD = 0.08
"""Noise of the built-in minds, as a part of the range."""
QUESTIONS = ("name", "paper", "equilibrium")
KNOWN = {
    "guess": (
        re.compile(r"beauty|guess|average game|2/3|two.thirds", re.IGNORECASE),
        re.compile(r"\b(nagel|keynes|moulin|ledoux|camerer|ho|bosch)\b", re.IGNORECASE),
    ),
    "table": (
        re.compile(r"prisoner", re.IGNORECASE),
        re.compile(r"\b(tucker|flood|dresher|axelrod|rapoport|luce|raiffa|nash)\b", re.IGNORECASE),
    ),
}
"""Game → patterns of its names and authors."""
_NONE = re.compile(r"\W*(none|unknown|no name|nothing)\b", re.IGNORECASE)
Floats = npt.NDArray[np.float64]
Payoffs = tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True)
class ProbeQuestion:
    """One game, and the question on it.

    Attributes:
        kind: ``published``, or the kind of change (`CHANGES`).
        question: ``play``, or one of `QUESTIONS`.
        game: ``guess`` or ``table``.
        language: of the text.
        p: the factor of the guessing game, as a fraction.
        low: the lowest guess.
        high: the highest guess.
        n_others: the number of other people.
        people: the word for them.
        prize: the amount to win.
        currency: the unit of money.
        options: the displayed names of the options of a table, in order.
        payoffs: own and the other person's payoff, by own and the other person's option.
        swapped: whether the names of the options of a dilemma are swapped.
    """

    kind: str
    question: str = "play"
    game: str = "guess"
    language: str = "en"
    p: str = str(P)
    low: int = LOW
    high: int = HIGH
    n_others: int = 23
    people: str = "people"
    prize: int = 100
    currency: str = "dollars"
    options: tuple[str, ...] = ()
    payoffs: Payoffs = ()
    swapped: bool = False

    @property
    def entry(self) -> str:
        """The prompt entry of the question."""
        if self.question != "play":
            return f"ask_{self.question}"
        return f"play_guess_{self.language}" if self.game == "guess" else "play_table"

    @property
    def spec(self) -> AnswerSpec:
        """The legal answers."""
        if self.question in {"name", "paper"}:
            return Text(max_words=12)
        if self.game == "guess":
            return Number(self.low, self.high, integer=True)
        return Choice(self.options)

    @property
    def width(self) -> int:
        """The width of the range of the guesses."""
        return self.high - self.low

    def guess_of(self, steps: float) -> float:
        """The guess of a player with some steps of reasoning; the equilibrium with infinite ones.

        Args:
            steps: the steps.
        """
        factor = float(Fraction(self.p))
        if math.isinf(steps):
            return float(self.low if factor < 1 else self.high)
        middle = (self.low + self.high) / 2
        return float(min(max(middle * factor**steps, self.low), self.high))

    @property
    def solution(self) -> str:
        """The choice of unlimited reasoning, as an answer."""
        if self.game == "guess":
            return str(round(self.guess_of(math.inf)))
        return self.options[_equilibrium(np.array(self.payoffs, dtype=np.float64))]


def _equilibrium(payoffs: Floats) -> int:
    """The own option in the first pure equilibrium."""
    payoff, other = payoffs[..., 0], payoffs[..., 1]
    best = (payoff == payoff.max(axis=0)) & (other == other.max(axis=1, keepdims=True))
    return int(np.argwhere(best)[0][0])


def _draw_game(given: str) -> Mapping[str, Any]:
    """A new game from the scenario with a generator."""
    draws = (model.draw_game for model in find_all().models.values())
    draw = next(draw for draw in draws if draw is not None)
    return draw(given)


def situations(n: int, book: PromptBook, rng: np.random.Generator) -> list[ProbeQuestion]:
    """The games of a probe, and the recognition questions.

    Args:
        n: the number of games.
        book: the prompts, for the words of people and money in each language.
        rng: draws the changes.
    """

    def words(entry: str) -> list[str]:
        return book.render(entry, {}).split(", ")

    guess = ProbeQuestion(PUBLISHED)
    table = ProbeQuestion(
        PUBLISHED, game="table", currency="points", options=tuple(words("names")), payoffs=DILEMMA
    )
    games = [guess] * round(n / 5) + [table] * round(n / 10)
    for i in range(n - len(games)):
        kind, turn = CHANGES[i % len(CHANGES)], i // len(CHANGES)
        p = str(FACTORS[(turn + i) % len(FACTORS)])
        low, high = RANGES[int(rng.integers(len(RANGES)))]
        if kind == "p":
            games.append(replace(guess, kind=kind, p=p))
        elif kind == "range":
            games.append(replace(guess, kind=kind, low=low, high=high))
        elif kind == "language":
            language = LANGUAGES[turn % len(LANGUAGES)]
            money = words(f"currency_{language}")
            games.append(
                replace(
                    guess, kind=kind, language=language, p=p, low=low, high=high,
                    people=words(f"people_{language}")[0], currency=money[turn % len(money)],
                )
            )  # fmt: skip
        elif kind == "currency":
            people, money = words("people_en"), words("currency_en")
            games.append(
                replace(
                    guess, kind=kind, p=p, low=low, high=high,
                    people=people[1 + turn % (len(people) - 1)],
                    currency=money[1 + turn % (len(money) - 1)],
                    n_others=int(rng.integers(5, 40)), prize=int(rng.integers(20, 900)),
                )
            )  # fmt: skip
        else:
            games.append(_drawn(kind, words, rng))
    invented = tuple(words("invented"))
    subjects = [
        guess,
        replace(guess, kind="currency", p="1/2", low=100, high=500, people="farmers",
                currency="shells"),
        table,
        replace(table, kind="payoffs", options=invented[:2], currency="crowns"),
        _drawn("new", words, rng),
    ]  # fmt: skip
    return [*games, *(replace(subject, question=q) for subject in subjects for q in QUESTIONS)]


def _drawn(
    kind: str, words: Callable[[str], list[str]], rng: np.random.Generator
) -> ProbeQuestion:  # fmt: skip
    """A table with drawn payoffs: a dilemma with swapped names, or a new game."""
    name = "dilemma" if kind == "payoffs" else "dominance"
    payoffs = np.array(_draw_game(f"{name}:{int(rng.integers(1_000_000))}")["payoffs"])
    options = words("names" if kind == "payoffs" else "invented")
    if kind == "payoffs":
        payoffs = payoffs[::-1, ::-1]
    rows = tuple(tuple((float(mine), float(other)) for mine, other in row) for row in payoffs)
    whole = tuple(tuple((int(a), int(b)) for a, b in row) for row in rows)
    return ProbeQuestion(
        kind, game="table", currency="points", options=tuple(options), payoffs=whole,
        swapped=kind == "payoffs",
    )  # fmt: skip


def _question_of(ask: Ask) -> ProbeQuestion:
    return ProbeQuestion(**{field.name: ask.facts[field.name] for field in fields(ProbeQuestion)})


class ProbeAgent(SmartAgent):
    """An agent that answers one question of the probe.

    Args:
        model: the probe.

    Attributes:
        answer: its answer as a text; None without a usable one.
    """

    model: Probe

    def __init__(self, model: Probe) -> None:
        super().__init__(model)
        self.answer: str | None = None

    @property
    def situation(self) -> ProbeQuestion:
        """Its question."""
        return self.model.situations[self.unique_id - 1]

    async def act(self) -> Decision:
        """Play the game, or recognize it."""
        return await self.ask(self.situation.entry, self.situation.spec, **asdict(self.situation))


class Reasoner(ClassicalMind):
    """A mind that follows the rules: one step of reasoning in guesses, the best reply in tables.

    It thinks that the others guess the middle of the range, with normal noise of `SD` of the range,
    and choose each option with equal probability. It names no game.

    Source: Nagel 1995 (level 1).

    Args:
        spec: how the mind is named in the data.
    """

    noise = SD

    async def answer(self, ask: Ask) -> object:
        """Answer one question.

        Args:
            ask: the question; its facts are the fields of a `ProbeQuestion`.
        """
        seen = _question_of(ask)
        if seen.question in {"name", "paper"}:
            return self.said(seen)
        if seen.question == "equilibrium":
            return int(seen.solution) if seen.game == "guess" else seen.solution
        if seen.game == "table":
            return self.option(seen)
        guess = self.guess(seen) + ask.rng.normal(0, self.noise * seen.width)
        return round(min(max(guess, seen.low), seen.high))

    def said(self, seen: ProbeQuestion) -> str:
        """The name of the game, or an author."""
        del seen
        return "none"

    def guess(self, seen: ProbeQuestion) -> float:
        """The guess, before noise."""
        return seen.guess_of(1)

    def option(self, seen: ProbeQuestion) -> str:
        """The option in a table."""
        totals = [sum(pay[0] for pay in row) for row in seen.payoffs]
        return seen.options[totals.index(max(totals))]


class Memorizer(Reasoner):
    """A mind that repeats published answers, whatever the rules: 33, "defect", and the names.

    It treats every guessing game as the published one and every table as the dilemma.

    Source: Nagel 1995 (the most frequent guesses).

    Args:
        spec: how the mind is named in the data.
    """

    def said(self, seen: ProbeQuestion) -> str:
        """The published name, or an author."""
        if seen.question == "name":
            return "beauty contest" if seen.game == "guess" else "prisoner's dilemma"
        return "Nagel" if seen.game == "guess" else "Tucker"

    def guess(self, seen: ProbeQuestion) -> float:
        """Two thirds of 50."""
        return min(max(100 / 3, seen.low), seen.high)

    def option(self, seen: ProbeQuestion) -> str:
        """The option with the published name, or else the last one."""
        return "defect" if "defect" in seen.options else seen.options[-1]


class RandomAnswers(Reasoner):
    """A mind that draws random legal answers.

    Args:
        spec: how the mind is named in the data.
    """

    async def answer(self, ask: Ask) -> object:
        """Draw an answer.

        Args:
            ask: the question.
        """
        seen = _question_of(ask)
        if seen.question in {"name", "paper"}:
            return "none"
        if seen.game == "table":
            return seen.options[int(ask.rng.integers(len(seen.options)))]
        return int(ask.rng.integers(seen.low, seen.high + 1))


class Probe(SmartModel):
    """A model with the questions of a probe, one agent each.

    Args:
        games: the number of games, in addition to the recognition questions.
        minds: see `SmartModel`; classical minds are ``classical`` (it reasons),
            ``classical:memorizer`` and ``classical:random``.
        settings: the other parameters of `SmartModel`.

    Attributes:
        situations: the questions, in the order of the agents.
        usable: the share of the questions with a usable answer.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = NAME
    title = "Probe"
    source = "games after Nagel 1995; Rapoport and Guyer 1966"
    prompt_file = Path(__file__).with_suffix(".toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        action(
            doc="Each agent plays one game ("
            + ", ".join(f"`play_guess_{language}`" for language in ("en", *LANGUAGES))
            + ", `play_table`) or says what one is (`ask_name`, `ask_paper`, `ask_equilibrium`); a "
            "question without a usable answer does not count."
        ),
    )
    model_columns = ("usable",)
    agent_columns = ("answer",)
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 1.0, "max_tokens": 256}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {
        "default": Reasoner, "memorizer": Memorizer, "reciter": Memorizer, "random": RandomAnswers,
    }  # fmt: skip

    def __init__(
        self, games: Annotated[int, Ge(FEWEST), Le(1000)] = GAMES, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.situations = situations(games, self.book, self.rng)
        self.usable = 0.0
        self.subjects = self.populate(ProbeAgent, len(self.situations))

    def after_act(self, subject: ProbeAgent, answer: Decision) -> None:
        """Keep the answer as a text."""
        subject.answer = None if answer.value is None else str(answer.value)

    def update(self) -> None:
        """Compute the share of usable answers."""
        self.usable = sum(subject.answer is not None for subject in self.subjects) / len(
            self.subjects
        )


@dataclass(frozen=True)
class ProbeFinding:
    """The findings of a probe on a mind.

    Attributes:
        mind: the spec of the mind.
        verdict: `SOLVES`, `MEMORIZED`, `INCONSISTENT` or `UNDETERMINED`.
        why: the reason for the verdict `UNDETERMINED` or `INCONSISTENT`.
        right: the mean error against the right answers, as a part of the range.
        recited: the mean error against the recited answers, likewise.
        gap: the median of recited error − right error: above 0 most answers are nearer to the right
            ones.
        nearer_right: the mean share of legal answers that are nearer to the right answer than its
            own; random answers have 0.5.
        nearer_recited: likewise, to the recited answer.
        games: the number of changed games in which right and recited answer differ.
        by_change: kind of change → (mean gap, number of games).
        solved: the share of new games in which it chose the solution; NaN without an answer.
        recognized: question and game → whether it knew the name, an author or the solution.
        false_names: its names for new games, which have none.
        rows: the rows of ``probe.csv``, one per question.
    """

    mind: str
    verdict: str
    why: str
    right: Inference
    recited: Inference
    gap: Inference
    nearer_right: Inference
    nearer_recited: Inference
    games: int
    by_change: Mapping[str, tuple[float, int]]
    solved: float
    recognized: Mapping[str, bool]
    false_names: Sequence[str]
    rows: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def reads(self) -> bool:
        """Whether it is a language model; other minds read no texts."""
        return bool(language_model(self.mind))

    def summary(self) -> dict[str, Any]:
        """The finding for JSON, without its rows; each estimate with its 95 % interval."""
        values: dict[str, Any] = {"mind": self.mind, "verdict": self.verdict, "why": self.why}
        for name in ("right", "recited", "gap", "nearer_right", "nearer_recited"):
            made: Inference = getattr(self, name)
            values[name] = {"estimate": made.estimate, "low": made.low, "high": made.high}
        names = ("games", "by_change", "solved", "recognized", "false_names")
        values |= {name: getattr(self, name) for name in names}
        return {**values, "reads_texts": self.reads}


@dataclass(frozen=True, slots=True)
class GameScore:
    """The errors of an answer to a changed game, as parts of the range of legal answers.

    Attributes:
        right: the distance from the right answer.
        recited: the distance from the recited answer, the nearer one if there are two.
        nearer_right: the share of legal answers nearer to the right answer; ties count half.
        nearer_recited: likewise, to the recited answer.
        differ: whether right and recited answer differ by `LEAST` or more.
    """

    right: float
    recited: float
    nearer_right: float
    nearer_recited: float
    differ: bool


def analyse(
    mind: str, asked: Sequence[ProbeQuestion], answers: Sequence[str | None]
) -> ProbeFinding:
    """Score the answers of a mind against the right and the recited ones.

    Args:
        mind: the spec of the mind.
        asked: the questions.
        answers: the answer to each; None without a usable one.
    """
    pairs = [(question, a) for question, a in zip(asked, answers, strict=True) if a is not None]
    played = [(game, a) for game, a in pairs if game.question == "play"]
    guesses = [float(a) for game, a in played if _is(game, "guess", PUBLISHED)]
    guess = float(np.median(guesses)) if guesses else math.nan
    chosen = [a for game, a in played if _is(game, "table", PUBLISHED)]
    usual = max(sorted(set(chosen)), key=chosen.count) if chosen else ""
    scores = [
        score_of(game, a, guess, usual)
        if game.question == "play" and a is not None else None
        for game, a in zip(asked, answers, strict=True)
    ]  # fmt: skip
    scored = [(game.kind, score) for game, score in zip(asked, scores, strict=True)
            if score is not None and score.differ]  # fmt: skip
    right = [score.right for _, score in scored]
    recited = [score.recited for _, score in scored]
    means = {
        "right": infer(right, of="mean", bounds=(0, 1)),
        "recited": infer(recited, of="mean", bounds=(0, 1)),
        "gap": infer(recited, right, above=0, paired=True),
        "nearer_right": infer(
            [score.nearer_right for score in scores if score],
            of="mean",
            below=CHANCE,
            bounds=(0, 1),
        ),
        "nearer_recited": infer(
            [score.nearer_recited for score in scores if score],
            of="mean",
            below=CHANCE,
            bounds=(0, 1),
        ),
    }
    n_games = sum(game.question == "play" for game in asked)
    if 2 * len(played) <= n_games:
        verdict = UNDETERMINED
        why = f"only {len(played)} of {n_games} games got a usable answer"
    else:
        verdict, why = _verdict(means, stepless=math.isnan(steps_of(guess)))
    gaps = [(kind, score.recited - score.right) for kind, score in scored]
    by_change = {
        kind: (float(np.mean(mine)), len(mine))
        for kind in CHANGES
        if (mine := [gap for changed, gap in gaps if changed == kind])
    }
    new = [a == game.solution for game, a in played if game.kind == "new"]
    recognized, false_names = _recognition(pairs)
    rows = [
        {
            "mind": mind, "number": number, "question": game.question, "change": game.kind,
            "game": game.game, "language": game.language, "p": game.p, "low": game.low,
            "high": game.high, "options": " ".join(game.options), "solution": game.solution,
            "answer": answer,
            "error_right": math.nan if score is None else score.right,
            "error_recited": math.nan if score is None else score.recited,
            "nearer_right": math.nan if score is None else score.nearer_right,
            "nearer_recited": math.nan if score is None else score.nearer_recited,
            "counts": score is not None and score.differ,
        }
        for number, (game, answer, score) in enumerate(
            zip(asked, answers, scores, strict=True), 1
        )
    ]  # fmt: skip
    return ProbeFinding(
        mind, verdict, why, **means, games=len(scored), by_change=by_change,
        solved=float(np.mean(new)) if new else math.nan, recognized=recognized,
        false_names=false_names, rows=rows,
    )  # fmt: skip


def _verdict(means: Mapping[str, Inference], *, stepless: bool) -> tuple[str, str]:
    """The verdict on a mind, and the reason if it is neither of the first two."""
    gap = means["gap"]
    if gap.n[0] < gap.fewest:
        return UNDETERMINED, f"right and recited answers differ in only {gap.n[0]} games"
    by_right, by_recited = (
        means[name].verdict == AGREES for name in ("nearer_right", "nearer_recited")
    )
    if not by_right and not by_recited:
        ends = [means[name].low for name in ("nearer_right", "nearer_recited")]
        if min(ends) > NEAR:
            return INCONSISTENT, "its answers are no nearer to either than answers by chance"
        return UNDETERMINED, "its answers may or may not be nearer to either than by chance"
    if stepless:
        return UNDETERMINED, "its published guesses show no step of reasoning"
    if by_right and gap.verdict == AGREES:
        return SOLVES, ""
    if by_recited and gap.verdict == DISAGREES:
        return MEMORIZED, ""
    return UNDETERMINED, "its answers lie between the right and the recited ones"


def _is(question: ProbeQuestion, game: str, kind: str) -> bool:
    return (question.game, question.kind) == (game, kind)


def steps_of(guess: float) -> float:
    """The steps of reasoning behind a guess in the published game; NaN for too few.

    Args:
        guess: the guess.
    """
    if guess <= 1:
        return math.inf
    steps = math.log(guess / MIDDLE) / math.log(float(P))
    return steps if steps >= NO_STEP else math.nan


def score_of(game: ProbeQuestion, answer: str, guess: float, option: str) -> GameScore | None:
    """The score of an answer; None for a published or new game, which lacks two answers.

    Args:
        game: the game.
        answer: a legal answer.
        guess: the usual guess of this mind in the published guessing game; NaN without one.
        option: its usual option in the published dilemma; empty without one.
    """
    if game.swapped and option:
        wrong = float(answer == option)
        # Two options: the own one counts half, and the nearer one, if there is one, whole.
        return GameScore(wrong, 1 - wrong, (0.5 + wrong) / 2, (1.5 - wrong) / 2, differ=True)
    if game.game != "guess" or game.kind == PUBLISHED or math.isnan(guess):
        return None
    steps = steps_of(guess)
    right, recited = game.guess_of(0 if math.isnan(steps) else steps), _recited(game, guess)
    legal = np.arange(game.low, game.high + 1)
    errors = np.abs(legal[:, None] - np.array([right, *recited])) / game.width
    from_right, from_recited = errors[:, 0], errors[:, 1:].min(axis=1)
    index = int(float(answer)) - game.low
    apart = [right - number for number in recited]
    return GameScore(
        float(from_right[index]), float(from_recited[index]),
        _nearer(from_right, index), _nearer(from_recited, index),
        differ=min(map(abs, apart)) / game.width >= LEAST and min(apart) * max(apart) > 0,
    )  # fmt: skip


def _nearer(errors: Floats, index: int) -> float:
    """The share of legal answers with a smaller error than the own one; ties count half."""
    return float((errors < errors[index]).mean() + (errors == errors[index]).mean() / 2)


def _recited(game: ProbeQuestion, published: float) -> list[float]:
    """A memorizer's answers: the published one, and its relative position if the factor differs."""
    as_it_is = min(max(published, game.low), game.high)
    if Fraction(game.p) == P:
        return [as_it_is]
    return [as_it_is, game.low + published / (HIGH - LOW) * game.width]


def _recognition(pairs: Sequence[tuple[ProbeQuestion, str]]) -> tuple[dict[str, bool], list[str]]:
    """The games that the mind recognized, and its names for new ones."""
    recognized: dict[str, bool] = {}
    false_names = []
    for question, answer in pairs:
        if question.question == "play":
            continue
        if question.kind == "new" and question.question != "equilibrium":
            if question.question == "name" and not _NONE.match(answer):
                false_names.append(answer)
            continue
        label = f"{question.question} of {question.game}, {question.kind}"
        if question.question == "equilibrium":
            recognized[label] = answer == question.solution
        else:
            pattern = KNOWN[question.game][QUESTIONS.index(question.question)]
            recognized[label] = bool(pattern.search(answer))
    return recognized, false_names


def plan_of(mind: str, games: int, seed: int) -> RunSpec:
    """The run of a mind.

    Args:
        mind: its spec.
        games: the number of games.
        seed: draws the games.
    """
    return RunSpec(Probe, {"minds": mind, "games": games}, seed)


def probe(
    minds: Sequence[str],
    path: str | Path,
    *,
    games: int = GAMES,
    seed: int = 1,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> list[ProbeFinding]:
    """Probe minds, as far as their answers are not recorded.

    Args:
        minds: their specs.
        path: the recording.
        games: the number of games, `FEWEST` or more.
        seed: draws the games; all minds get the same.
        connection: how language models are reached; its caps include earlier costs.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for minds or numbers that cannot be used; nothing has been asked then.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    check_int("games", games, FEWEST)
    specs = {mind: plan_of(mind, games, check_int("seed", seed, 0)) for mind in minds}
    run_missing({Path(path): list(specs.values())}, connection, watch=watch)
    runs = find_runs(specs.values(), path)
    asked = Probe(games=games, rng=seed, recording=False).situations
    findings = []
    for mind, spec in specs.items():
        data = Recorded(path).agent_data(runs[spec.digest].run).sort_values("agent")
        answers = [None if pd.isna(answer) else str(answer) for answer in data["answer"]]
        findings.append(analyse(mind, asked, answers))
    return findings


def in_words(finding: ProbeFinding) -> list[str]:
    """A few lines on a mind.

    Args:
        finding: its finding.
    """
    right, recited = (
        estimate(error.estimate, error.low, error.high)
        for error in (finding.right, finding.recited)
    )
    by_change = [f"{kind} {effect(gap)} ({n})" for kind, (gap, n) in finding.by_change.items()]
    changes = ", ".join(by_change) or "none"
    nearer = [percent(share.estimate) for share in (finding.nearer_right, finding.nearer_recited)]
    lines = [
        f"{finding.mind}: {finding.verdict}{f' ({finding.why})' if finding.why else ''}",
        f"  Error against the right answers: {right}, against the recited ones: {recited}",
        f"  Recited − right error: {_gap(finding)}, in {finding.games} games; by change: {changes}",
        f"  Answers by chance that are nearer: {nearer[0]} to right, {nearer[1]} to recited ones",
        f"  New games solved: {percent(finding.solved)}",
    ]
    if unusable := sum(row["answer"] is None for row in finding.rows):
        lines.append(f"  No usable answer to {unusable} of {len(finding.rows)} questions")
    if not finding.reads:
        lines.append(
            "  This mind reads no texts: what it recognizes is built in, and no knowledge."
        )
    known = [label for label, knows in finding.recognized.items() if knows]
    lines.append(f"  Recognized: {len(known)} of {len(finding.recognized)}"
                 + (f" ({'; '.join(known)})" if known else ""))  # fmt: skip
    if finding.false_names:
        lines.append(f"  Names that it gave to a new game: {'; '.join(finding.false_names)}")
    return lines


def write(findings: Sequence[ProbeFinding], folder: Path) -> list[Path]:
    """Write the report of a probe, each file whole or not at all.

    Args:
        findings: the findings.
        folder: where to.

    Returns:
        ``probe.csv`` (one row per question), ``probe.json``, ``probe.png`` and ``probe.md``.

    Raises:
        OutputError: when a file cannot be written.
    """
    from sabm_mesa.analysis.plot_style import to_png

    make_folder(folder)
    table = pd.DataFrame([row for finding in findings for row in finding.rows])
    content = {
        "minds": [
            {
                "mind": finding.mind,
                "verdict": finding.verdict,
                "right": estimate(finding.right.estimate, finding.right.low, finding.right.high),
                "recited": estimate(
                    finding.recited.estimate, finding.recited.low, finding.recited.high
                ),
                "gap": _gap(finding),
                "games": finding.games,
                "solved": percent(finding.solved),
                "known": sum(finding.recognized.values()),
                "asked": len(finding.recognized),
                "lines": [line.strip() for line in in_words(finding)[1:]],
            }
            for finding in findings
        ]
    }
    template = files(__package__).joinpath("probe.md.jinja").read_text("utf-8")
    summary = [finding.summary() for finding in findings]
    return [
        write_file(folder / "probe.csv", partial(write_csv, frame=table)),
        write_text_file(folder / "probe.json", readable_json(summary) + "\n"),
        write_picture(folder / "probe.png", to_png(drawing(findings))),
        write_text_file(folder / "probe.md", markdown(template, content)),
    ]


def _gap(finding: ProbeFinding) -> str:
    return estimate(finding.gap.estimate, finding.gap.low, finding.gap.high)


def drawing(findings: Sequence[ProbeFinding]) -> Figure:
    """The gap between both errors of each mind with its interval, and the gap by kind of change.

    Args:
        findings: the findings.
    """
    from sabm_mesa.analysis import plot_style as style

    figure = style.new_figure(
        "Memorized or solved?",
        "Recited − right error: median and 95 % interval; dots: means by what was changed",
        height=1.6 + 0.5 * len(findings),
    )
    ax = figure.subplots()
    style.plain_axes(ax, "Nearer to the recited answer (−) or to the right one (+)")
    ax.axvline(0, color=style.GREY, linewidth=0.8)
    for row, finding in enumerate(findings):
        values = [gap for gap, _ in finding.by_change.values()]
        ax.plot(values, [row] * len(values), "o", color=style.SKY_BLUE, markersize=4)
        if not math.isnan(finding.gap.estimate):
            ax.plot([finding.gap.low, finding.gap.high], [row, row], color=style.BLUE)
            ax.plot([finding.gap.estimate], [row], "s", color=style.BLUE)
    ax.set_xlim(-1.05, 1.05)
    ax.set_yticks(range(len(findings)), [finding.mind for finding in findings])
    ax.set_ylim(len(findings) - 0.5, -0.5)
    return figure
