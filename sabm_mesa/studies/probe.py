"""Probe: does a mind know a game from its texts, or does it follow the rules that it is told?

Purpose
    A mind that has read of a game may repeat what is published about it. Its answers then stay as
    they are when the rules change, while those of a mind that reasons move with the rules.

Entities, state variables and scales
    One agent a question, all with the same mind, none of whom sees another. There is one round.

Process overview and scheduling
    Action: each agent plays one small game, or says what a game is, all at the same time.

Games
    A fifth are a guessing game as published (two thirds of the average, 0 to 100), a tenth a
    dilemma as published. The others are changed, in turn: ``p`` (another factor); ``range``
    (another range); ``language`` (German, French, Spanish or Chinese, with another factor and
    range); ``payoffs`` (a dilemma with drawn payoffs, each name standing for the other option);
    ``currency`` (other money and people, factor and range); ``new`` (a drawn game of three options
    that dominance solves, under invented names). A scenario that declares it draws new games.
    Recognition: of five of these games the mind is asked for the name, an author, and the choice
    of unlimited reasoning.

Index
    In each changed game the answer of a reciter (that of the published game) and of a reasoner (as
    many steps of reasoning as in the published game, k = ln(x / 50) / ln(2 / 3), with the rules
    of this game) are known. The answer of the mind lies between them at
    f = (answer − recited) / (reasoned − recited), from −0.5 to 1.5. Where the factor changes, a
    reciter may repeat the number or its place in the range, so that moving with the range alone
    does not count as reasoning: the nearer of both to the reasoner counts. Games in which they
    differ by less than a tenth of the range say nothing and are left out. The index is the mean of
    f, weighted by how far both are apart, as a part of the range (of a dilemma `TABLE`), since f
    is the noisier the nearer they are; its 95 % interval is a bootstrap over games, and over the
    answers to the published game. A mind is a *reciter* when the interval is below 0.5, a
    *reasoner* when it is above, and otherwise it cannot be told.

Unreadable answers
    A question without a usable answer has none, and does not count. When that is so in half of
    the games or more, no verdict is given: games are not left out by chance (a mind that always
    says 7 has an answer only where 7 is in the range).

Source
    Nagel 1995, American Economic Review 85(5), 1313-1326 (the guessing game and its steps);
    Rapoport and Guyer 1966 (classes of games). The index, its limits and all texts are ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
from sabm_mesa.core.answers import AnswerSpec, Choice, Decision, Number, Text
from sabm_mesa.core.asks import Ask, Observation
from sabm_mesa.core.parameters import check_int
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.core.streams import Seed
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds, language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import find_all
from sabm_mesa.recording.export import (
    make_folder,
    readable_json,
    write_file,
    write_picture,
    write_text_file,
)
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import RunSpec, find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.page import estimate, markdown, percent

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
"""Part of the range by which a reciter and a reasoner differ in a game that says something."""
TABLE = 0.3
"""Weight of a dilemma: about the mean distance in guessing games."""
ENDS = (-0.5, 1.5)
HALF = 0.5
NO_STEP = 0.1
"""Steps of reasoning below which guesses say nothing."""
RESAMPLES = 2_000
FEW = 5
"""Games that have to say something for any verdict."""
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
"""Game → patterns of its names and of authors on it."""
_NONE = re.compile(r"\W*(none|unknown|no name|nothing)\b", re.IGNORECASE)
Floats = npt.NDArray[np.float64]
Payoffs = tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True, slots=True)
class ProbeQuestion(Observation):
    """One game, and what is asked of it.

    Attributes:
        kind: ``published``, or what was changed (`CHANGES`).
        question: ``play``, or one of `QUESTIONS`.
        game: ``guess`` or ``table``.
        language: of the text.
        p: the factor of the guessing game, as a fraction.
        low: the lowest guess.
        high: the highest guess.
        n_others: the number of other people.
        people: the word for them.
        prize: the amount that is won.
        currency: the unit of money.
        options: the names of the options of a table, in the order in which they are shown.
        payoffs: own and the other person's payoff, by own and the other person's option.
        swapped: whether the names of the options of a dilemma have changed places.
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

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """The rules of the game in words.

        Args:
            book: the prompts of the run.
        """
        if self.game == "guess":
            names = ("n_others", "low", "high", "p", "people", "prize", "currency")
            values = {name: getattr(self, name) for name in names}
            return {"rules": book.render(f"guess_{self.language}", values)}
        lines = [
            book.render(
                "outcome",
                {"own": own, "other": other, "mine": pay[0], "theirs": pay[1]},
            )
            for own, row in zip(self.options, self.payoffs, strict=True)
            for other, pay in zip(self.options, row, strict=True)
        ]
        values = {"options": ", ".join(self.options), "currency": self.currency}
        return {"rules": book.render("table", {**values, "outcomes": "\n".join(lines)})}


def _equilibrium(payoffs: Floats) -> int:
    """The own option in the first equilibrium without lots."""
    own, other = payoffs[..., 0], payoffs[..., 1]
    best = (own == own.max(axis=0)) & (other == other.max(axis=1, keepdims=True))
    return int(np.argwhere(best)[0][0])


def _draw_game(given: str) -> Mapping[str, Any]:
    """A new game, by the scenario that draws them."""
    makers = (model.draw_game for model in find_all().models.values())
    draw = next(each for each in makers if each is not None)
    return draw(given)


def situations(n: int, book: PromptBook, rng: np.random.Generator) -> list[ProbeQuestion]:
    """The games of a probe, and the questions on what they are.

    Args:
        n: the number of games.
        book: the prompts, for the words of people and money in each language.
        rng: draws what is changed.
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
    return [*games, *(replace(each, question=q) for each in subjects for q in QUESTIONS)]


def _drawn(
    kind: str, words: Callable[[str], list[str]], rng: np.random.Generator
) -> ProbeQuestion:  # fmt: skip
    """A table with drawn payoffs: a dilemma whose names have changed places, or a new game."""
    name = "dilemma" if kind == "payoffs" else "dominance"
    payoffs = np.array(_draw_game(f"{name}:{int(rng.integers(1_000_000))}")["payoffs"])
    options = words("names" if kind == "payoffs" else "invented")
    if kind == "payoffs":
        payoffs = payoffs[::-1, ::-1]
    rows = tuple(tuple((float(own), float(other)) for own, other in row) for row in payoffs)
    whole = tuple(tuple((int(a), int(b)) for a, b in row) for row in rows)
    return ProbeQuestion(
        kind, game="table", currency="points", options=tuple(options), payoffs=whole,
        swapped=kind == "payoffs",
    )  # fmt: skip


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
        """Play the game, or say what it is."""
        return await self.ask(self.situation.entry, self.situation.spec, self.situation)


class Reasoner(ClassicalMind):
    """A mind that follows the rules: one step of reasoning in guesses, the best reply in tables.

    It thinks that the others guess the middle of the range, with normal noise of `SD` of the range,
    and choose each option alike. It names no game.

    Source: Nagel 1995 (level 1).

    Args:
        spec: how the mind is named in the data.
    """

    noise = SD

    async def answer(self, ask: Ask) -> object:
        """Answer one question.

        Args:
            ask: the question; its observation is a `ProbeQuestion`.
        """
        seen = ask.observation
        assert isinstance(seen, ProbeQuestion)
        if seen.question in {"name", "paper"}:
            return self.said(seen)
        if seen.question == "equilibrium":
            return int(seen.solution) if seen.game == "guess" else seen.solution
        if seen.game == "table":
            return self.option(seen)
        guess = self.guess(seen) + ask.rng.normal(0, self.noise * seen.width)
        return round(min(max(guess, seen.low), seen.high))

    def said(self, seen: ProbeQuestion) -> str:
        """The name of the game, or an author on it."""
        del seen
        return "none"

    def guess(self, seen: ProbeQuestion) -> float:
        """The guess, before noise."""
        return seen.guess_of(1)

    def option(self, seen: ProbeQuestion) -> str:
        """The option in a table."""
        own = [sum(pay[0] for pay in row) for row in seen.payoffs]
        return seen.options[own.index(max(own))]


class Reciter(Reasoner):
    """A mind that repeats what is published, whatever the rules: 33, "defect", and the names.

    It takes every guessing game for the published one and every table for the dilemma.

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
        """The option with the published name; else the last one."""
        return "defect" if "defect" in seen.options else seen.options[-1]


class RandomAnswers(Reasoner):
    """A mind that draws any legal answer, and follows neither rules nor texts.

    Args:
        spec: how the mind is named in the data.
    """

    async def answer(self, ask: Ask) -> object:
        """Draw an answer.

        Args:
            ask: the question.
        """
        seen = ask.observation
        assert isinstance(seen, ProbeQuestion)
        if seen.question in {"name", "paper"}:
            return "none"
        if seen.game == "table":
            return seen.options[int(ask.rng.integers(len(seen.options)))]
        return int(ask.rng.integers(seen.low, seen.high + 1))


class Probe(SmartModel):
    """The questions of a probe, one agent each.

    Args:
        games: the number of games, besides the questions on what they are.
        minds: see `SmartModel`; classical minds are ``classical`` (it reasons),
            ``classical:reciter`` and ``classical:random``.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at most.
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
            + ", ".join(f"`play_guess_{each}`" for each in ("en", *LANGUAGES))
            + ", `play_table`) or says what one is (`ask_name`, `ask_paper`, `ask_equilibrium`); a "
            "question without a usable answer does not count."
        ),
    )
    model_columns: ClassVar[dict[str, str]] = {"usable": "usable"}
    agent_columns: ClassVar[dict[str, str]] = {"answer": "answer"}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {
        "default": Reasoner, "reciter": Reciter, "random": RandomAnswers,
    }  # fmt: skip

    def __init__(
        self,
        games: Annotated[int, Ge(FEWEST), Le(1000)] = GAMES,
        minds: Minds = "classical",
        rng: Seed = None,
        temperature: float | None = 1.0,
        max_tokens: int | None = 256,
        **settings: Any,
    ) -> None:
        super().__init__(
            minds=minds, rng=rng, temperature=temperature, max_tokens=max_tokens,
            **settings,
        )  # fmt: skip
        self.situations = situations(games, self.book, self.rng)
        self.usable = 0.0
        self.subjects = self.populate(ProbeAgent, len(self.situations))

    def after_act(self, subject: ProbeAgent, answer: Decision) -> None:
        """Keep the answer as a text."""
        subject.answer = None if answer.value is None else str(answer.value)

    def update(self) -> None:
        """Compute the share of usable answers."""
        self.usable = sum(each.answer is not None for each in self.subjects) / len(self.subjects)


@dataclass(frozen=True)
class ProbeFinding:
    """The findings of a probe on a mind.

    Attributes:
        mind: the spec of the mind.
        verdict: ``reciter``, ``reasoner`` or ``cannot tell``.
        index: the weighted mean place of its answers between a reciter (0) and a reasoner (1).
        low: the lower end of its 95 % interval.
        high: the upper end.
        informative: the number of games that say something.
        by_change: what was changed → (weighted mean place, number of games).
        solved: the share of new games in which it chose the solution; NaN without an answer.
        recognized: question and game → whether it knew the name, an author or the solution.
        false_names: names that it gave to new games, which have none.
        why: why it cannot be told, where that is no matter of the number of games.
        rows: one a question, as ``probe.csv`` has them.
    """

    mind: str
    verdict: str
    index: float
    low: float
    high: float
    informative: int
    by_change: Mapping[str, tuple[float, int]]
    solved: float
    recognized: Mapping[str, bool]
    false_names: Sequence[str]
    why: str = ""
    rows: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def reads(self) -> bool:
        """Whether it is a language model; other minds read no texts."""
        return bool(language_model(self.mind))

    def summary(self) -> dict[str, Any]:
        """The finding in a form for JSON, without its rows."""
        found = asdict(replace(self, rows=()))
        del found["rows"]
        return {**found, "reads_texts": self.reads}


def analyse(
    mind: str, asked: Sequence[ProbeQuestion], answers: Sequence[str | None], seed: int = 0
) -> ProbeFinding:
    """Compare the answers of a mind with those of a reciter and of a reasoner.

    Args:
        mind: the spec of the mind.
        asked: the questions.
        answers: the answer to each; None without a usable one.
        seed: of the bootstrap.
    """
    pairs = [(each, a) for each, a in zip(asked, answers, strict=True) if a is not None]
    played = [(each, a) for each, a in pairs if each.question == "play"]
    own = np.array([float(a) for each, a in played if _is(each, "guess", PUBLISHED)])
    chosen = [a for each, a in played if _is(each, "table", PUBLISHED)]
    usual = max(sorted(set(chosen)), key=chosen.count) if chosen else ""
    guesses = [(each, float(a)) for each, a in played if each.game == "guess" and
               each.kind != PUBLISHED]  # fmt: skip
    tables = [float(a != usual) for each, a in played if each.swapped and usual]
    games = [each for each, _ in guesses]
    given = np.array([a for _, a in guesses])
    tables_of = np.column_stack([tables, np.full(len(tables), TABLE)])
    places = _places(games, given, float(np.median(own)) if own.size else math.nan)
    every = np.concatenate([places, tables_of])
    found = every[~np.isnan(every[:, 0])]
    low, high = _interval(games, given, own, tables_of, seed)
    index = _mean(found)
    verdict, why = "cannot tell", ""
    n_games = sum(each.question == "play" for each in asked)
    if 2 * len(played) <= n_games:
        why = f"only {len(played)} of {n_games} games got a usable answer"
    elif len(found) < FEW:
        why = f"only {len(found)} games say something: the rules do not tell a reciter from it"
    elif high < HALF:
        verdict = "reciter"
    elif low > HALF:
        verdict = "reasoner"
    kinds = [each.kind for each in games] + ["payoffs"] * len(tables)
    known = ~np.isnan(every[:, 0])
    by_change = {
        kind: (_mean(mine), len(mine))
        for kind in CHANGES
        if len(mine := every[np.array([k == kind for k in kinds], dtype=bool) & known])
    }
    new = [a == each.solution for each, a in played if each.kind == "new"]
    recognized, false_names = _recognition(pairs)
    by_game = dict(zip(map(id, games), places[:, 0].tolist(), strict=True))
    rows = [
        {
            "mind": mind, "number": number, "question": each.question, "change": each.kind,
            "game": each.game, "language": each.language, "p": each.p, "low": each.low,
            "high": each.high, "options": " ".join(each.options), "solution": each.solution,
            "answer": answer, "place": by_game.get(id(each), math.nan),
        }
        for number, (each, answer) in enumerate(zip(asked, answers, strict=True), 1)
    ]  # fmt: skip
    return ProbeFinding(
        mind, verdict, index, low, high, len(found), by_change,
        float(np.mean(new)) if new else math.nan, recognized, false_names, why, rows,
    )  # fmt: skip


def _is(each: ProbeQuestion, game: str, kind: str) -> bool:
    return (each.game, each.kind) == (game, kind)


def steps_of(guess: float) -> float:
    """The steps of reasoning behind a guess in the published game; NaN for none to speak of.

    Args:
        guess: the guess.
    """
    if guess <= 1:
        return math.inf
    steps = math.log(guess / MIDDLE) / math.log(float(P))
    return steps if steps >= NO_STEP else math.nan


def _places(games: Sequence[ProbeQuestion], given: Floats, published: float) -> Floats:
    """Places of answers between a reciter, 0, and a reasoner, 1, with their weights by game.

    Args:
        games: the guessing games.
        given: the guesses.
        published: the usual guess in the published game.

    Returns:
        Shape (games, 2); the place is NaN where reciter and reasoner hardly differ.
    """
    steps = math.nan if math.isnan(published) else steps_of(published)
    if math.isnan(steps):
        return np.full((len(games), 2), math.nan)
    places = [
        _place(each, answer, each.guess_of(steps), _recited(each, published))
        for each, answer in zip(games, given, strict=True)
    ]
    return np.array(places, dtype=np.float64).reshape(-1, 2)


def _place(
    game: ProbeQuestion, answer: float, reasoned: float, recited: Sequence[float]
) -> tuple[float, float]:
    """The place of an answer; NaN unless all that a reciter may say is clearly to one side."""
    apart = [reasoned - each for each in recited]
    nearest = min(apart, key=abs)
    distance = abs(nearest) / game.width
    if distance < LEAST or min(apart) * max(apart) < 0:
        return math.nan, distance
    return min(max(1 - (reasoned - answer) / nearest, ENDS[0]), ENDS[1]), distance


def _mean(places: Floats) -> float:
    """The weighted mean of places; NaN without any."""
    return float(np.average(places[:, 0], weights=places[:, 1])) if len(places) else math.nan


def _recited(game: ProbeQuestion, published: float) -> list[float]:
    """The answers of a reciter: the published answer, and where the factor is other its place."""
    as_it_is = min(max(published, game.low), game.high)
    if Fraction(game.p) == P:
        return [as_it_is]
    return [as_it_is, game.low + published / (HIGH - LOW) * game.width]


def _interval(
    games: Sequence[ProbeQuestion], given: Floats, own: Floats, tables: Floats, seed: int
) -> tuple[float, float]:
    """The 95 % interval of the index: a bootstrap over games and published answers."""
    if not own.size and not len(tables):
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    by_median: dict[float, Floats] = {}
    means = []
    for _ in range(RESAMPLES):
        median = float(np.median(rng.choice(own, own.size))) if own.size else math.nan
        if median not in by_median:
            places = _places(games, given, median)
            by_median[median] = np.concatenate([places[~np.isnan(places[:, 0])], tables])
        found = by_median[median]
        if len(found):
            means.append(_mean(found[rng.integers(len(found), size=len(found))]))
    if not means:
        return math.nan, math.nan
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _recognition(pairs: Sequence[tuple[ProbeQuestion, str]]) -> tuple[dict[str, bool], list[str]]:
    """The games that the mind knew, and the names that it gave to new ones."""
    found: dict[str, bool] = {}
    false_names = []
    for each, answer in pairs:
        if each.question == "play":
            continue
        if each.kind == "new" and each.question != "equilibrium":
            if each.question == "name" and not _NONE.match(answer):
                false_names.append(answer)
            continue
        label = f"{each.question} of {each.game}, {each.kind}"
        if each.question == "equilibrium":
            found[label] = answer == each.solution
        else:
            pattern = KNOWN[each.game][QUESTIONS.index(each.question)]
            found[label] = bool(pattern.search(answer))
    return found, false_names


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
    """Probe minds, as far as the recording does not hold their answers.

    Args:
        minds: their specs.
        path: the recording.
        games: the number of games, `FEWEST` or more.
        seed: draws the games; all minds get the same.
        connection: how language models are reached; its caps count what was spent before.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for minds or numbers that cannot be used; nothing has been asked then.
        RunError: when a run fails; its answers are recorded, and the same call goes on.
    """
    check_int("games", games, FEWEST)
    specs = {mind: plan_of(mind, games, check_int("seed", seed, 0)) for mind in minds}
    run_missing({Path(path): list(specs.values())}, connection, watch=watch)
    runs = find_runs(specs.values(), path)
    asked = Probe(games=games, rng=seed, recording=False).situations
    found = []
    for mind, spec in specs.items():
        data = Recorded(path).agent_data(runs[spec.digest].run).sort_values("agent")
        answers = [None if pd.isna(each) else str(each) for each in data["answer"]]
        found.append(analyse(mind, asked, answers))
    return found


def in_words(found: ProbeFinding) -> list[str]:
    """A few lines on a mind.

    Args:
        found: its finding.
    """
    place = estimate(found.index, found.low, found.high)
    lines = [
        f"{found.mind}: {found.verdict}{f' ({found.why})' if found.why else ''}",
        f"  From a reciter, 0, to a reasoner, 1: {place}, in {found.informative} changed games",
        "  By change: "
        + (
            ", ".join(
                f"{k} {v:.2f} ({n})".replace("-", "−") for k, (v, n) in found.by_change.items()
            )
            or "none"
        ),
        f"  New games solved: {percent(found.solved)}",
    ]
    if unusable := sum(row["answer"] is None for row in found.rows):
        lines.append(f"  No usable answer to {unusable} of {len(found.rows)} questions")
    if not found.reads:
        lines.append(
            "  This mind reads no texts: what it recognizes is built in, and no knowledge."
        )
    known = [label for label, knows in found.recognized.items() if knows]
    lines.append(f"  Recognized: {len(known)} of {len(found.recognized)}"
                 + (f" ({'; '.join(known)})" if known else ""))  # fmt: skip
    if found.false_names:
        lines.append(f"  Names that it gave to a new game: {'; '.join(found.false_names)}")
    return lines


def write(found: Sequence[ProbeFinding], folder: Path) -> list[Path]:
    """Write the report of a probe, each file whole or not at all.

    Args:
        found: the findings.
        folder: where to.

    Returns:
        ``probe.csv`` (one row a question), ``probe.json``, ``probe.png`` and ``probe.md``.

    Raises:
        OutputError: when a file cannot be written.
    """
    from sabm_mesa.analysis.plot_style import to_png

    make_folder(folder)
    table = pd.DataFrame([row for each in found for row in each.rows])
    content = {
        "minds": [
            {
                "mind": each.mind,
                "verdict": each.verdict,
                "index": estimate(each.index, each.low, each.high),
                "games": each.informative,
                "solved": percent(each.solved),
                "known": sum(each.recognized.values()),
                "asked": len(each.recognized),
                "lines": [line.strip() for line in in_words(each)[1:]],
            }
            for each in found
        ]
    }
    template = files(__package__).joinpath("probe.md.jinja").read_text("utf-8")
    summary = [each.summary() for each in found]
    return [
        write_file(folder / "probe.csv", partial(table.to_csv, index=False)),
        write_text_file(folder / "probe.json", readable_json(summary) + "\n"),
        write_picture(folder / "probe.png", to_png(drawing(found))),
        write_text_file(folder / "probe.md", markdown(template, content)),
    ]


def drawing(found: Sequence[ProbeFinding]) -> Figure:
    """The index of each mind with its interval, and its answers by what was changed.

    Args:
        found: the findings.
    """
    from sabm_mesa.analysis import plot_style as style

    figure = style.new_figure(
        "Reciter or reasoner?",
        "Mean place of the answers in changed games, 95 % interval; dots: by what was changed",
        height=1.6 + 0.5 * len(found),
    )  # fmt: skip
    ax = figure.subplots()
    style.plain_axes(ax, "From a reciter, 0, to a reasoner, 1")
    ax.axvline(HALF, color=style.GREY, linewidth=0.8)
    for place, each in enumerate(found):
        values = [value for value, _ in each.by_change.values()]
        ax.plot(values, [place] * len(values), "o", color=style.SKY_BLUE, markersize=4)
        if not math.isnan(each.index):
            ax.plot([each.low, each.high], [place, place], color=style.BLUE)
            ax.plot([each.index], [place], "s", color=style.BLUE)
    ax.set_xlim(ENDS[0] - 0.05, ENDS[1] + 0.05)
    ax.set_yticks(range(len(found)), [each.mind for each in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    return figure
