"""Probe: has a mind memorized published games, or does it solve games by their rules?

A mind that has read of a game may repeat its published results. Its answers then do not change with
the rules, while those of a mind that solves the game do. A probe is a questionnaire: each question
is one small game.

Games
    A fifth are a guessing game as published (two thirds of the average, 0 to 100), a tenth a
    dilemma as published. The others are changed, in turn: ``p`` (another factor); ``range``
    (another range); ``payoffs`` (a dilemma with drawn payoffs, each name standing for the other
    option).

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
    *undetermined*, and the finding says why.

Unreadable answers
    A question without a usable answer does not count. If a third of the games or more lack one,
    there is no verdict: games are not left out at random (a mind that always says 7 has an answer
    only where 7 is in the range).

Source
    Nagel 1995, American Economic Review 85(5), 1313-1326 (the guessing game and its steps). The
    scores, their limits and all texts are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from annotated_types import Ge, Le

from sabm_mesa.analysis.tests import Inference, infer
from sabm_mesa.core.answers import AnswerSpec, Choice, Number
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import check_int
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import RunSpec, find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.questionnaire import Questionnaire
from sabm_mesa.studies.report import Report, Table

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.llm import Connection

NAME = "probe"
GAMES = 30
FEWEST = 20
PUBLISHED, P = "published", Fraction(2, 3)
LOW, HIGH, MIDDLE = 0, 100, 50.0
CHANGES = ("p", "range", "payoffs")
FACTORS = (Fraction(4, 3), Fraction(1, 3), Fraction(3, 2), Fraction(1, 4), Fraction(5, 4))
RANGES = ((0, 1000), (200, 600), (0, 20), (50, 250))
LEAST = 0.1
"""The least difference between right and recited answer in a game that counts, as a part of the
range."""
SOLVES, MEMORIZED = "solves", "memorized"
INCONSISTENT, UNDETERMINED = "responds inconsistently", "undetermined"
CHANCE = 0.5
"""The mean share of legal answers that are nearer than a random answer."""
NEAR = 0.2
"""Such a share for answers that follow a rule with much noise."""
NOTE = (
    "A mind that has memorized the games answers changed games like the published ones; a mind "
    "that solves them follows the changed rules. Both have to be nearer than answers by chance. A "
    "mind that is near to neither responds inconsistently."
)
ERRORS = (
    "Errors from the right and from the recited answer are parts of the range of legal answers. "
    "The gap is the median of recited − right. Intervals are of 95 %."
)
NO_STEP = 0.1
"""The least number of reasoning steps for a meaningful guess."""
SD = 0.08
"""Noise of the built-in minds, as a part of the range."""
Floats = npt.NDArray[np.float64]
Payoffs = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class ProbeQuestion:
    """One game, and the question on it.

    Attributes:
        kind: ``published``, or the kind of change (`CHANGES`).
        game: ``guess`` or ``table``.
        p: the factor of the guessing game, as a fraction.
        options: the displayed names of the options of a table, in order.
        payoffs: own and the other person's payoff, by own and the other person's option.
    """

    kind: str
    game: str = "guess"
    p: str = str(P)
    low: int = LOW
    high: int = HIGH
    options: tuple[str, ...] = ()
    payoffs: Payoffs = ()

    @property
    def entry(self) -> str:
        """The prompt entry of the question."""
        return f"play_{self.game}"

    @property
    def spec(self) -> AnswerSpec:
        """The legal answers."""
        if self.game == "guess":
            return Number(self.low, self.high, integer=True)
        return Choice(self.options)

    def guess_of(self, steps: float) -> float:
        """The guess of a player with some steps of reasoning, or infinite ones (equilibrium)."""
        factor = float(Fraction(self.p))
        if math.isinf(steps):
            return float(self.low if factor < 1 else self.high)
        middle = (self.low + self.high) / 2
        return float(min(max(middle * factor**steps, self.low), self.high))


def situations(n: int, book: PromptBook, rng: np.random.Generator) -> list[ProbeQuestion]:
    """The games of a probe."""
    guess = ProbeQuestion(PUBLISHED)
    table = ProbeQuestion(
        PUBLISHED, game="table", options=tuple(book.render("names", {}).split(", ")),
        payoffs=(((3, 3), (0, 5)), ((5, 0), (1, 1))),
    )  # fmt: skip
    games = [guess] * round(n / 5) + [table] * round(n / 10)
    for i in range(n - len(games)):
        turn, change = divmod(i, len(CHANGES))
        kind = CHANGES[change]
        if kind == "p":
            games.append(replace(guess, kind=kind, p=str(FACTORS[turn % len(FACTORS)])))
        elif kind == "range":
            low, high = RANGES[int(rng.integers(len(RANGES)))]
            games.append(replace(guess, kind=kind, low=low, high=high))
        else:
            least, low, high, most = map(int, np.sort(rng.choice(20, 4, replace=False)))
            payoffs = ((low, low), (most, least)), ((least, most), (high, high))
            games.append(replace(table, kind=kind, payoffs=payoffs))
    return games


def _question_of(ask: Ask) -> ProbeQuestion:
    return ProbeQuestion(**{field.name: ask.facts[field.name] for field in fields(ProbeQuestion)})


class Reasoner(ClassicalMind):
    """A mind that follows the rules: one step of reasoning in guesses, the best reply in tables.

    It thinks that the others guess the middle of the range, with normal noise of `SD` of the range,
    and choose each option with equal probability.

    Source: Nagel 1995 (level 1).
    """

    noise = SD

    async def answer(self, ask: Ask) -> object:
        """Answer one question."""
        seen = _question_of(ask)
        if seen.game == "table":
            return self.option(seen)
        guess = self.guess(seen) + ask.rng.normal(0, self.noise * (seen.high - seen.low))
        return round(min(max(guess, seen.low), seen.high))

    def guess(self, seen: ProbeQuestion) -> float:
        """The guess, before noise."""
        return seen.guess_of(1)

    def option(self, seen: ProbeQuestion) -> str:
        """The option in a table."""
        totals = [sum(pay[0] for pay in row) for row in seen.payoffs]
        return seen.options[totals.index(max(totals))]


class Memorizer(Reasoner):
    """A mind that repeats published answers, whatever the rules: 33 and "defect".

    Source: Nagel 1995 (the most frequent guesses).
    """

    def guess(self, seen: ProbeQuestion) -> float:
        """Two thirds of 50."""
        return min(max(100 / 3, seen.low), seen.high)

    def option(self, seen: ProbeQuestion) -> str:
        """The option with the published name."""
        return seen.options[-1]


class RandomAnswers(Reasoner):
    """A mind that draws random legal answers."""

    async def answer(self, ask: Ask) -> object:
        """Draw an answer."""
        seen = _question_of(ask)
        if seen.game == "table":
            return seen.options[int(ask.rng.integers(len(seen.options)))]
        return int(ask.rng.integers(seen.low, seen.high + 1))


class Probe(Questionnaire):
    """A questionnaire with the games of a probe.

    The classical minds are ``classical`` (it reasons), ``classical:memorizer`` and
    ``classical:random``.

    Attributes:
        situations: the games, in the order of the agents.
        usable: the share of the questions with a usable answer.
    """

    scenario_name = NAME
    title = "Probe"
    source = "games after Nagel 1995"
    prompt_file = Path(__file__).with_suffix(".toml")
    model_columns = ("usable",)
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 1.0, "max_tokens": 256}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {
        "default": Reasoner, "memorizer": Memorizer, "random": RandomAnswers,
    }  # fmt: skip

    def __init__(
        self, games: Annotated[int, Ge(FEWEST), Le(1000)] = GAMES, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.situations = situations(games, self.book, self.rng)
        self.usable = 0.0
        self.pose([(game.entry, game.spec, asdict(game)) for game in self.situations])

    def update(self) -> None:
        """Compute the share of usable answers."""
        usable = [respondent.value is not None for respondent in self.respondents]
        self.usable = sum(usable) / len(usable)


@dataclass(frozen=True)
class ProbeFinding:
    """The findings of a probe on a mind.

    Attributes:
        why: the reason for the verdict `UNDETERMINED` or `INCONSISTENT`.
        tests: by name: the mean errors against the ``right`` and the ``recited`` answers; their
            ``gap``; and the mean shares ``nearer_right`` and ``nearer_recited`` (see `GameScore`).
        games: the number of changed games in which right and recited answer differ.
        rows: one per question.
    """

    mind: str
    verdict: str
    why: str
    tests: Mapping[str, Inference]
    games: int
    rows: Sequence[Mapping[str, Any]]


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

    right: float = math.nan
    recited: float = math.nan
    nearer_right: float = math.nan
    nearer_recited: float = math.nan
    differ: bool = False


def analyse(
    mind: str, asked: Sequence[ProbeQuestion], answers: Sequence[str | None]
) -> ProbeFinding:
    """Score the answers of a mind against the right and the recited ones."""
    pairs = list(zip(asked, answers, strict=True))
    usual = {
        game: [a for q, a in pairs if (q.game, q.kind) == (game, PUBLISHED) and a is not None]
        for game in ("guess", "table")
    }
    guess = float(np.median([float(a) for a in usual["guess"]])) if usual["guess"] else math.nan
    option = max(sorted(set(usual["table"])), key=usual["table"].count, default="")
    rows = []
    for number, (game, answer) in enumerate(pairs, 1):
        score = None if answer is None else score_of(game, answer, guess, option)
        rows.append({
            "mind": mind, "number": number, "change": game.kind, "game": game.game, "p": game.p,
            "low": game.low, "high": game.high, "options": " ".join(game.options),
            "answer": answer, **asdict(score or GameScore()),
        })  # fmt: skip
    scored = [row for row in rows if not math.isnan(row["right"])]
    counting = [row for row in scored if row["differ"]]
    right, recited = ([row[name] for row in counting] for name in ("right", "recited"))
    mean: Any = {"of": "mean", "bounds": (0, 1)}
    tests = {
        "right": infer(right, **mean),
        "recited": infer(recited, **mean),
        "gap": infer(recited, right, above=0, paired=True),
        **{
            name: infer([row[name] for row in scored], below=CHANCE, **mean)
            for name in ("nearer_right", "nearer_recited")
        },
    }
    usable = sum(answer is not None for answer in answers)
    verdict, why = UNDETERMINED, f"only {usable} of {len(asked)} games got a usable answer"
    if 3 * usable > 2 * len(asked):
        verdict, why = _verdict(tests, stepless=math.isnan(steps_of(guess)))
    return ProbeFinding(mind, verdict, why, tests, len(counting), rows)


def _verdict(tests: Mapping[str, Inference], *, stepless: bool) -> tuple[str, str]:
    """The verdict on a mind, and the reason if it is neither of the first two."""
    gap, nearer = tests["gap"], [tests["nearer_right"], tests["nearer_recited"]]
    if gap.n[0] < gap.fewest:
        return UNDETERMINED, f"right and recited answers differ in only {gap.n[0]} games"
    by_right, by_recited = (test.verdict == "agrees" for test in nearer)
    if not by_right and not by_recited:
        if min(test.low for test in nearer) > NEAR:
            return INCONSISTENT, "its answers are no nearer to either than answers by chance"
        return UNDETERMINED, "its answers may or may not be nearer to either than by chance"
    if stepless:
        return UNDETERMINED, "its published guesses show no step of reasoning"
    if by_right and gap.verdict == "agrees":
        return SOLVES, ""
    if by_recited and gap.verdict == "disagrees":
        return MEMORIZED, ""
    return UNDETERMINED, "its answers lie between the right and the recited ones"


def steps_of(guess: float) -> float:
    """The steps of reasoning behind a guess in the published game; NaN for too few."""
    if guess <= 1:
        return math.inf
    steps = math.log(guess / MIDDLE) / math.log(float(P))
    return steps if steps >= NO_STEP else math.nan


def score_of(game: ProbeQuestion, answer: str, guess: float, option: str) -> GameScore | None:
    """The score of an answer; None for a published game, which lacks two answers."""
    if game.kind == PUBLISHED:
        return None
    if game.game == "table":
        wrong = float(answer == option)
        # Two options: the own one counts half, and the nearer one, if there is one, whole.
        score = GameScore(wrong, 1 - wrong, (0.5 + wrong) / 2, (1.5 - wrong) / 2, differ=True)
        return score if option else None
    if math.isnan(guess):
        return None
    steps, width = steps_of(guess), game.high - game.low
    right = game.guess_of(0 if math.isnan(steps) else steps)
    recited = [min(max(guess, game.low), game.high)]
    if Fraction(game.p) != P:
        recited.append(game.low + guess / (HIGH - LOW) * width)
    legal = np.arange(game.low, game.high + 1)
    errors = np.abs(legal[:, None] - np.array([right, *recited])) / width
    from_right, from_recited = errors[:, 0], errors[:, 1:].min(axis=1)
    index = int(float(answer)) - game.low
    apart = [right - number for number in recited]
    return GameScore(
        float(from_right[index]), float(from_recited[index]),
        _nearer(from_right, index), _nearer(from_recited, index),
        differ=min(map(abs, apart)) / width >= LEAST and min(apart) * max(apart) > 0,
    )  # fmt: skip


def _nearer(errors: Floats, index: int) -> float:
    """The share of legal answers with a smaller error than the own one; ties count half."""
    return float((errors < errors[index]).mean() + (errors == errors[index]).mean() / 2)


def probe(
    minds: Sequence[str],
    path: str | Path,
    *,
    games: int = GAMES,
    seed: int = 1,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> list[ProbeFinding]:
    """Probe minds with the same games, as far as their answers are not recorded.

    Caps include earlier costs.

    Raises:
        UsageError: for minds or numbers that cannot be used; nothing has been asked then.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    check_int("games", games, FEWEST)
    check_int("seed", seed, 0)
    specs = {mind: RunSpec(Probe, {"minds": mind, "games": games}, seed) for mind in minds}
    run_missing({Path(path): list(specs.values())}, connection, watch=watch)
    runs = find_runs(specs.values(), path)
    asked = Probe(games=games, rng=seed, recording=False).situations
    findings = []
    for mind, spec in specs.items():
        data = Recorded(path).agent_data(runs[spec.digest].run).sort_values("agent")
        answers = [None if pd.isna(answer) else str(answer) for answer in data["answer"]]
        findings.append(analyse(mind, asked, answers))
    return findings


def report_of(findings: Sequence[ProbeFinding]) -> Report:
    """The report of a probe: the tables ``minds``, ``changes`` and ``questions``."""
    minds = []
    for found in findings:
        row = {
            "mind": found.mind, "verdict": found.verdict, "why": found.why, "games": found.games,
            "unusable": sum(row["answer"] is None for row in found.rows),
        }  # fmt: skip
        for name, test in found.tests.items():
            row |= {name: test.estimate, f"{name}_low": test.low, f"{name}_high": test.high}
        minds.append(row)
    heads: dict[Any, str] = {(n, f"{n}_low", f"{n}_high"): head for n, head in (
        ("right", "from right"), ("recited", "from recited"), ("gap", "gap"),
    )}  # fmt: skip
    questions = pd.DataFrame([row for found in findings for row in found.rows])
    gaps = questions[questions["differ"]].assign(gap=lambda rows: rows["recited"] - rows["right"])
    changes = gaps.groupby(["mind", "change"], sort=False)["gap"].agg(["mean", "size"])
    return Report(
        "Memorized or solved?",
        tables=[
            Table("minds", pd.DataFrame(minds), {
                "mind": "mind", "verdict": "verdict", **heads, "games": "games",
                "unusable": "unusable", "why": "why",
            }, "Mean errors of answers", ERRORS),
            Table("changes", changes.reset_index(), {
                "mind": "mind", "change": "change", "mean": "gap (mean)", "size": "games",
            }, "By what was changed"),
            Table("questions", questions, {}),
        ],
        notes=[NOTE],
    )  # fmt: skip
