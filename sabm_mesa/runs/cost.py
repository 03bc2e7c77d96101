"""Cost of runs before anything is spent: asks, tokens and dollars, each as a range.

`estimate` plays the scenario with stub minds in place of the minds that are paid for (`dry_run`),
counts their asks, measures a sample of the real prompts, and scales. Nothing is sent; neither a
key nor a network is needed; the same call gives the same estimate.

Asks
    Five dry runs (`PLAYS`): as the classical minds decide (the typical run); all alike, with the
    first or with the last option; and without any usable action. From the smallest number of asks
    to the largest, when runs that ended early go on to the last round at the same rate; three
    roots of the number wider where the runs differ in a round. A dry run stops after `MAX_ASKS`
    asks: later rounds are like the second half of those played, give or take 5 %. Of more than
    `MANY` agents only `FEW` and twice as many are played: asks grow with the agents or do not,
    prompts grow along the line through both.
Tokens
    2.5 to 5 characters (bytes of UTF-8), typically 4, make a token of the prompts. They are
    rendered with texts of one word for the low end, and with texts as long as the spec keeps them
    for the high end. An answer has between 1 token and the length of its JSON schema, or
    `max_tokens` where its length is free (texts, reasoning). At most one answer in five (of few
    answers more, by chance) cannot be used and is asked for again.
Dollars
    By the price table; at the low end the server has everything that is sent in its cache. An
    unknown price is NaN, never zero.
Pilot
    A recording gives tokens for a character, lengths of texts and answers, repeated asks and the
    share of cached tokens, by question (`calibration`): the mean, and 10 % and four standard errors
    to either side.
Not known
    Ends of a run beyond the rounds played, requests that failed, thoughts beyond `max_tokens`,
    embeddings, shared requests. A bound that holds for certain is a cap (`Budget`).
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.core.answers import AnswerSpec, Choice, Number, Text
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import bind
from sabm_mesa.errors import ParameterError, UsageError
from sabm_mesa.llm.budget import ANSWER_TOKENS, TOKENS_PER_MESSAGE
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.minds.base import Mind, name_of
from sabm_mesa.minds.specs import assign, language_model
from sabm_mesa.recording.statistics import asked

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

Array = npt.NDArray[np.float64]
Measures = Mapping[str, Array]
"""Measure → low, typical and high."""
Pilot = Mapping[tuple[str, str], Measures]
"""(question, language model) → measures; see `calibration`."""

LOW, TYPICAL, HIGH = range(3)
CLASSICAL, FIRST, LAST, STILL = "classical", "first", "last", "still"
PLAYS = ((CLASSICAL, TYPICAL), (FIRST, LOW), (LAST, LOW), (FIRST, HIGH), (STILL, HIGH))
"""How the stub minds of each dry run decide, and how long their texts are."""
MAX_ASKS, MIN_ROUNDS, BEYOND = 3000, 5, 0.05
"""Asks after which a dry run stops, but not before so many rounds; and the share by which the range
is wider then."""
FEW, MANY = 50, 200
"""Of more than `MANY` agents, `FEW` are played, and twice as many."""
SAMPLE = 25
"""Prompts of a question that are all rendered; of those beyond, ever fewer."""
STEADY = 2.0
"""A prompt that grows by fewer characters with a round or an agent does not show each of them."""
TOKENS_PER_CHAR = np.array([1 / 5, 1 / 4, 1 / 2.5])
"""English prose has 4 (OpenAI's rule of thumb) to 5 characters a token, numbers and most other
scripts 2.5 to 3."""
OVERHEAD = TOKENS_PER_MESSAGE * np.arange(3)
"""Tokens around the messages of an ask."""
AGAIN = 200
"""Tokens of a message that says why an answer cannot be used, at most."""
UNUSABLE = 0.2
"""The largest share of answers that cannot be used (our choice), chance aside."""
MARGIN, ERRORS, DEVIATIONS = 0.1, 4.0, 3.0
"""The share by which another run differs from a pilot; standard errors to either side of what was
measured; standard deviations to either side of a count that depends on chance (our choices)."""
WORD = "xxxxxx; "
"""Eight characters; a scenario that takes a text apart finds several parts."""
SENTENCE = 20 * 6
"""Characters of a typical text."""
REASONING = 40
"""Tokens of one or two sentences of private reasoning."""


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`; NaN where nothing is known."""

    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Asks, requests (with those for repeated asks), tokens sent and received, dollars."""

    asks: Range = Range()
    requests: Range = Range()
    prompt_tokens: Range = Range()
    completion_tokens: Range = Range()
    usd: Range = Range()


@dataclass(frozen=True, slots=True)
class Line:
    """Cost of one question to one mind (a spec) in all runs."""

    question: str
    mind: str
    cost: Cost


@dataclass(frozen=True, slots=True)
class Typical:
    """One guess between low and high: the classical run, answers of a sentence, all usable."""

    asks: float
    prompt_tokens: float
    completion_tokens: float
    usd: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated cost of runs.

    Attributes:
        scenario: the name of the scenario.
        title: its title.
        runs: the number of runs.
        n_rounds: rounds of a run, at most.
        minds: spec → number of agents.
        lines: by question and mind, those that are paid for.
        notes: the basis of the numbers and what is not known, in sentences.
        typical: one guess for all runs; None when nothing is paid for.
    """

    scenario: str
    title: str
    runs: int
    n_rounds: int
    minds: Mapping[str, int]
    lines: Sequence[Line]
    notes: Sequence[str]
    typical: Typical | None = None

    @property
    def total(self) -> Cost:
        """Cost of all runs together."""
        parts = ([getattr(line.cost, name) for line in self.lines] for name in Cost.__slots__)
        return Cost(*(Range(sum(r.low for r in p), sum(r.high for r in p)) for p in parts))

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {**asdict(self), "total": asdict(self.total)}


def estimate(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    runs: int = 1,
    recording: str | Path | None = None,
    prices: str | Path | None = None,
) -> Estimate:
    """Estimate what runs of a scenario cost; the module says how.

    Args:
        scenario: the model class.
        parameters: its parameters; `connection` and `recording` make no difference.
        runs: the number of runs (at least 1).
        recording: a pilot recording of the scenario, or None.
        prices: a user's own price file, or None.

    Raises:
        UsageError: for parameters, prices or a recording that cannot be used.
        RecordingError: when the recording cannot be read.
        RunError: when the scenario or a classical mind fails.
    """
    if runs < 1:
        raise ParameterError(f"The number of runs has to be 1 or more (got {runs}).")
    table = PriceTable(prices)
    pilot = {} if recording is None else calibration(recording, scenario.scenario_name)
    n, smaller = _smaller(scenario, parameters)
    groups = [_plays(scenario, given, pilot) for given in smaller or [dict(parameters)]]
    plays, model = groups[-1], groups[-1][0].model
    minds = model.minds_in_use()
    if smaller:
        minds = dict(Counter(map(name_of, assign("minds", parameters.get("minds", CLASSICAL), n))))
    lines, typical = list[Line](), np.zeros(4)
    stubs = [(mind, stub) for play in plays for mind, stub in play.stub_minds.items()]
    for question, mind in dict.fromkeys(
        (name, mind) for mind, stub in stubs for name in stub.asked
    ):
        counted = _counted(plays, question, mind)
        if smaller:
            agents = [group[0].model.minds_in_use()[mind] for group in groups] + [minds[mind]]
            counted = _scaled(_counted(groups[0], question, mind), counted, agents, n)
        stub = plays[0].stub_minds[mind]
        specs = {spec for play in plays for spec in play.stub_minds[mind].asked[question].specs}
        measured = _of(pilot, question, stub.language_model)
        parts = _amounts(counted * [[runs], [1]], specs, model, stub.limit, measured)
        price = table.of(stub.language_model)
        cached = np.clip(measured.get("cached", np.array([0, 0, 1]))[::-1], 0, 1)
        tokens = zip(parts[2], parts[2] * cached, parts[3], strict=True)
        usd = [price.cost(*map(round, each)) if price else math.nan for each in tokens]
        parts = np.vstack([parts, usd])
        lines.append(Line(question, mind, Cost(*(Range(p[LOW], p[HIGH]) for p in parts.tolist()))))
        typical += parts[[0, 2, 3, 4], TYPICAL]
    return Estimate(
        scenario=scenario.scenario_name,
        title=scenario.title,
        runs=runs,
        n_rounds=model.n_rounds,
        minds=minds,
        lines=lines,
        notes=_notes(plays, pilot, recording, table, parameters) if lines else [],
        typical=Typical(*typical.tolist()) if lines else None,
    )


class _Asks:
    """The asks of one question to one mind: numbers by round, prompts and specs of a sample."""

    def __init__(self) -> None:
        self.n = 0
        self.by_round: Counter[int] = Counter()
        self.specs: set[AnswerSpec] = set()
        self._places: list[int] = []
        self._chars: list[int] = []

    def add(self, ask: Ask) -> None:
        place, self.n = self.n, self.n + 1
        self.by_round[ask.key.round] += 1
        if place % (1 + place // SAMPLE) == 0:
            self._places.append(place)
            self._chars.append(sum(map(_n_chars, ask.question)))
            self.specs.add(ask.spec)

    def prolonged(self, played: int, rounds: int) -> tuple[Array, float]:
        """The asks by round and the mean characters of a prompt, from the rounds played."""
        by_round = prolonged(np.array([self.by_round[i] for i in range(played)], float), rounds)
        if not self._places:
            return by_round, 0.0
        chars = np.interp(range(self.n), self._places, self._chars)
        steady = STEADY * played / self.n
        return by_round, float(prolonged(chars, round(by_round.sum()), steady).mean())


class StubMind:
    """Answers in place of a mind that may cost something (and is never called), and counts.

    Args:
        mind: its spec, or the mind itself.
        scenario: the model class.
        play: one of `PLAYS`.
        pilot: the measures of a pilot recording.
    """

    instant, paid = True, False

    def __init__(
        self, mind: Any, scenario: type[SmartModel], play: tuple[str, int], pilot: Pilot
    ) -> None:
        self.spec: str = name_of(mind)
        self.language_model: str = getattr(mind, "model", "") or language_model(self.spec)
        self.settings = getattr(mind, "settings", None)
        self.limit = ANSWER_TOKENS
        self.asked: dict[str, _Asks] = defaultdict(_Asks)
        self._manner, self._length = play
        self._pilot = pilot
        phases = [phase.name for phase in scenario.phases]
        self._action = "act" if "act" in phases else phases[-1]
        classical = scenario.classical_minds.get("default")
        self._classical = classical if self._manner == CLASSICAL else None
        self.informed = getattr(classical and classical(CLASSICAL), "informed", False)
        self._minds: dict[int, Mind] = {}

    async def answer(self, ask: Ask) -> object:
        """Answer an ask; a repeated one is not counted, and gets no usable answer again."""
        if ask.rejected:
            return ""
        self.asked[ask.name].add(ask)
        decided = await self._decide(ask)
        if not isinstance(ask.spec, Text):
            still = self._manner == STILL and ask.key.phase == self._action
            return "" if still else decided
        said = _of(self._pilot, ask.name, self.language_model).get("said")
        length = int(_text_chars(ask.spec, self.limit, said)[self._length])
        words = f"{decided} " if isinstance(decided, str) else ""
        return ask.spec.with_end((words + WORD * length)[:length], words)

    async def _decide(self, ask: Ask) -> object:
        spec, first = ask.spec, self._manner == FIRST
        if self._classical is not None:
            if ask.key.agent not in self._minds:
                self._minds[ask.key.agent] = self._classical(CLASSICAL)
            return await self._minds[ask.key.agent].answer(ask)
        if isinstance(spec, Choice) and self._manner in {FIRST, LAST}:
            return spec.options[0 if first else -1]
        if isinstance(spec, Number) and self._manner in {FIRST, LAST}:
            low, high = spec.finite
            number = (low + high) / 2 if first else high
            return math.floor(number) if spec.integer else number
        return spec.example(ask.rng)


@dataclass(frozen=True, slots=True)
class DryRun:
    """A run that was played with stub minds (by spec, those that are paid for)."""

    model: SmartModel
    stub_minds: Mapping[str, StubMind]
    rounds: int
    cut: bool


def dry_run(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    play: tuple[str, int] = PLAYS[0],
    pilot: Pilot = MappingProxyType({}),
    max_asks: int = MAX_ASKS,
) -> DryRun:
    """Play a run with stub minds; without any that is paid for the model is only made.

    Args:
        scenario: the model class.
        parameters: its parameters; the seed is 0 unless one is given.
        play: one of `PLAYS`.
        pilot: the measures of a pilot recording.
        max_asks: asks after which no further round begins, but for the first `MIN_ROUNDS`; 0: the
            model is only made.

    Raises:
        UsageError: for parameters that cannot be used.
        RunError: when the scenario or a classical mind fails.
    """
    stubs: dict[str, StubMind] = {}

    def stub_mind(mind: Any) -> Any:
        # What is no mind at all stays: the model says what is wrong with it.
        if not (language_model(mind) if isinstance(mind, str) else hasattr(mind, "answer")):
            return mind
        made = StubMind(mind, scenario, play, pilot)
        return stubs.setdefault(made.spec, made) if getattr(mind, "paid", True) else made

    given = {"rng": 0, **parameters, **scenario.dry_run_with}
    minds = given.get("minds", CLASSICAL)
    if isinstance(minds, Mapping):
        given["minds"] = {stub_mind(mind): count for mind, count in minds.items()}
    elif isinstance(minds, Sequence) and not isinstance(minds, str):
        given["minds"] = [stub_mind(mind) for mind in minds]
    else:
        given["minds"] = stub_mind(minds)
    model = scenario(**{**given, "recording": False, "connection": None})
    for stub in stubs.values():
        stub.limit = (stub.settings or model.llm_settings).max_tokens or ANSWER_TOKENS
    asks = 0
    while (
        stubs and max_asks and model.running and (asks < max_asks or model.round + 1 < MIN_ROUNDS)
    ):
        model.step()
        asks = sum(each.n for stub in stubs.values() for each in stub.asked.values())
    played = DryRun(model, stubs, model.round + 1, model.running)
    model.close()
    return played


def calibration(path: str | Path, scenario: str) -> Pilot:
    """Return the measures of language models in a pilot recording of a scenario.

    Args:
        path: the recording.
        scenario: the name of the scenario.

    Returns:
        (question, model) → measure → low, mean and high; the model ``""`` stands for all. The
        measures: tokens of a character sent, characters of a text ``said``, and for all attempts
        at an ask the ``requests``, the tokens sent by those of the first (``resent``), the tokens
        of the ``completion`` and the ``cached`` share of those sent.

    Raises:
        RecordingError: when it is no recording, or damaged.
        ParameterError: when it has no run of the scenario, or no answer of a language model.
    """
    found = defaultdict(list)
    for each in asked(path, scenario):
        for model in (language_model(each.mind), ""):
            found[each.name, model].append((
                each.first_tokens / max(1, each.n_chars), each.said, each.attempts,
                each.prompt_tokens / each.first_tokens, each.completion_tokens,
                each.cached_tokens / each.prompt_tokens,
            ))  # fmt: skip
    names = ("tokens_per_char", "said", "requests", "resent", "completion", "cached")
    return {
        kind: {
            name: _around(values)
            for name, values in zip(names, np.array(rows, float).T, strict=True)
        }
        for kind, rows in found.items()
    }


def _around(values: Array) -> Array:
    """The mean of what was seen, with `MARGIN` and `ERRORS` standard errors to either side.

    One further value that differs by half of the mean is taken to have been seen, so that a few
    that happen to be alike do not say too much.
    """
    n, mean = values.size, float(np.mean(values))
    squares = n * float(np.var(values)) + (0.5 * mean) ** 2
    beyond = MARGIN * mean + ERRORS * math.sqrt(squares / (n + 1) / n)
    return np.array([max(0.0, mean - beyond), mean, mean + beyond])


def _of(pilot: Pilot, question: str, model: str) -> Measures:
    return pilot.get((question, model)) or pilot.get((question, ""), {})


def _narrowed(assumed: Array, measured: Array | None) -> Array:
    """Return the measured range, within the assumed one unless the mean contradicts that."""
    if measured is None:
        return assumed
    agrees = assumed[LOW] <= measured[TYPICAL] <= assumed[HIGH]
    return np.clip(measured, assumed[LOW], assumed[HIGH]) if agrees else measured


def _plays(scenario: type[SmartModel], parameters: Mapping[str, Any], pilot: Pilot) -> list[DryRun]:
    """A dry run for each of `PLAYS`, each with another seed; one alone when nothing is paid for."""
    given = parameters.get("rng")
    seed = given if isinstance(given, int) else 0
    found = [dry_run(scenario, {**parameters, "rng": seed}, PLAYS[0], pilot)]
    for i, play in enumerate(PLAYS[1:] if found[0].stub_minds else (), 1):
        found.append(dry_run(scenario, {**parameters, "rng": seed + i}, play, pilot))
    return found


def _counted(plays: Sequence[DryRun], question: str, mind: str) -> Array:
    """Two rows: asks in a run, and characters of a prompt."""
    n_rounds = plays[0].model.n_rounds
    played, whole = [], []
    for play in plays:
        asks = play.stub_minds[mind].asked[question]
        played.append(asks.prolonged(play.rounds, n_rounds if play.cut else play.rounds))
        whole.append(asks.prolonged(play.rounds, n_rounds))
    totals, lengths = [counts.sum() for counts, _ in played], [chars for _, chars in played]
    numbers = np.array([min(totals), totals[0], max(counts.sum() for counts, _ in whole)])
    if any(play.cut for play in plays):
        numbers *= [1 - BEYOND, 1, 1 + BEYOND]
    if any(a != b for counts, _ in played for a, b in zip(counts, played[0][0], strict=False)):
        numbers = np.maximum(0, numbers + DEVIATIONS * np.sqrt(numbers) * [-1, 0, 1])
    low = min(chars for chars in lengths if chars)
    all_early = all(counts.size < n_rounds for counts, _ in played)
    high = max(chars for _, chars in (whole if all_early else played))
    return np.array([numbers, [low, lengths[0] or low, high]])


def prolonged(series: Array, n: int, steady: float = math.inf) -> Array:
    """A series that goes on to `n` values like its second half: along its line, or at its mean.

    Args:
        series: the values, by round or by ask.
        n: the number of values; no fewer than there are.
        steady: growth from one value to the next below which the mean goes on.
    """
    half, more = series[len(series) // 2 :], max(0, n - len(series))
    slope = np.polyfit(range(len(half)), half, 1)[0] if more and len(half) > 1 else 0.0
    line = half[-1] + slope * np.arange(1, more + 1)
    return np.append(series, line if slope >= steady else np.full(more, half.mean()))


def _smaller(
    scenario: type[SmartModel], parameters: Mapping[str, Any]
) -> tuple[int, list[dict[str, Any]]]:
    """The number of agents, and parameters of two smaller runs; ``(0, [])`` for few agents.

    The number of agents is the parameter ``n_…`` that the population follows. Minds and personas
    keep their shares, and none is left out.
    """
    for name, n in bind(scenario, parameters).items():
        if not name.startswith("n_") or name == "n_rounds" or not isinstance(n, int) or n <= MANY:
            continue
        found = []
        for size in (FEW, 2 * FEW):
            given = {**parameters, name: size}
            for what in {"minds", "personas"} & set(parameters):
                spread = assign(what, parameters[what], n)
                each = list({name_of(one): one for one in spread}.values())
                rest = size - len(each)
                given[what] = each + [spread[i * n // rest] for i in range(rest)]
            found.append(given)
        try:
            models = [dry_run(scenario, given, max_asks=0).model for given in found]
        except UsageError:
            continue  # the whole run says what is wrong
        if [len(model.population) for model in models] == [FEW, 2 * FEW]:
            return n, found
    return 0, []


def _scaled(few: Array, twice: Array, agents: Sequence[int], n: int) -> Array:
    """Scale the asks of a mind to `n` agents; it decides for so many of `FEW`, twice, and `n`."""
    small, large, whole = agents
    grows = twice[0] >= few[0] * (1 + large / small) / 2
    slope = (twice[1] - few[1]) / FEW if few[0].any() else np.zeros(3)
    slope[slope < STEADY] = 0
    asks = twice[0] * np.where(grows, whole / large, 1)
    return np.array([asks, twice[1] + slope * (n - 2 * FEW)])


def _amounts(
    counted: Array, specs: set[AnswerSpec], model: SmartModel, limit: int, measured: Measures
) -> Array:
    """Asks, requests, tokens sent and tokens received."""
    asks, chars = counted
    schema = max(_n_chars(json.dumps(spec.schema())) for spec in specs)
    sent_along = [0, 0, schema if model.answer_format == "json" else 0]
    prompt = (chars + sent_along) * TOKENS_PER_CHAR + OVERHEAD
    answers = [_answer_tokens(spec, limit) for spec in specs]
    chance = ERRORS * math.sqrt(UNUSABLE * (1 - UNUSABLE) / asks[HIGH])
    unusable = min(1.0, UNUSABLE + chance)
    again = unusable * (model.max_attempts > 1)
    requests = np.array([1, 1, 1 + again])
    resent = np.array([1, 1, 1 + again * (1 + (limit + AGAIN) / prompt[HIGH])])
    typical, longest = np.mean(answers, axis=0)[0], np.max(answers)
    answer = np.array([1, typical, longest + unusable * limit])
    if measured:
        prompt = _narrowed(prompt, chars * measured["tokens_per_char"])
        requests = _narrowed(requests, measured["requests"])
        resent = _narrowed(resent, measured["resent"])
        answer = _narrowed(answer, measured["completion"])
    return np.array([asks, asks * requests, asks * prompt * resent, asks * answer])


def _answer_tokens(spec: AnswerSpec, limit: int) -> tuple[float, float]:
    """Tokens of a typical and of the longest legal answer."""
    typical, longest = 1.0, float(limit)
    if isinstance(spec, Text):
        typical += _text_chars(spec, limit)[TYPICAL] * TOKENS_PER_CHAR[TYPICAL]
    elif isinstance(spec, Number | Choice) and not spec.reasoning:
        longest = _n_chars(json.dumps(spec.schema())) * TOKENS_PER_CHAR[HIGH]
    return min(limit, typical + REASONING * spec.reasoning), min(limit, longest)


def _text_chars(spec: Text, limit: int, said: Array | None = None) -> Array:
    """Characters of a text: of one word, of a sentence, and as many as are kept."""
    words = (spec.max_words + 1) * len(WORD)
    longest = min(spec.max_chars, words, limit / TOKENS_PER_CHAR[LOW])
    assumed = np.array([2, min(SENTENCE, longest), longest])
    return np.clip(np.ceil(_narrowed(assumed, said)), 1, spec.max_chars)


def _n_chars(text: str) -> int:
    """The length of a text: bytes of UTF-8, since other scripts have more tokens a character."""
    return len(text.encode(errors="replace"))


def _notes(
    plays: Sequence[DryRun],
    pilot: Pilot,
    recording: str | Path | None,
    table: PriceTable,
    parameters: Mapping[str, Any],
) -> list[str]:
    model, stubs = plays[0].model, plays[0].stub_minds.values()
    low, high = 1 / TOKENS_PER_CHAR[HIGH], 1 / TOKENS_PER_CHAR[LOW]
    notes = [f"Learned from {recording}."] if recording is not None else [(
        f"Assumed: {low:g} to {high:g} characters a token; texts from one word to the longest that "
        f"is kept; up to {UNUSABLE:.0%} of the answers unusable. A recording (--from) says more."
    )]  # fmt: skip
    known = {name for _, name in pilot if name}
    for name in sorted({stub.language_model for stub in stubs} - known if known else ()):
        like = ", ".join(sorted(known))
        notes.append(f"{name} is not in it: taken to write and count like {like}.")
    if any(play.cut for play in plays):
        rounds = min(play.rounds for play in plays if play.cut)
        notes.append(f"At least {rounds:,} of {model.n_rounds:,} rounds were played; others alike.")
    for name in sorted(
        {s.language_model or s.spec for s in stubs if not table.of(s.language_model)}
    ):
        notes += [f"The price of {name} is not known: list it in a price file (--prices)."]
    for name, value in type(model).dry_run_with.items():
        if parameters.get(name, value) != value:
            notes.append(f"Not counted: the requests for {name}={parameters[name]}.")
    return notes
