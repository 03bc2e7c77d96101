"""Estimates of the cost of runs: asks, tokens and dollars, each low, likely and high.

`estimate` plays the scenario once with stub minds in place of the minds that are paid for, counts
their asks, measures the real prompts, and scales. Nothing is sent and no key is needed.

Asks
    The dry run decides as the classical minds do. Low and high: the number of rounds with a
    question, times the fewest and the most asks in such a round. Talks may be shorter: an agent
    that was asked several times in a round may be asked once. If some agents were asked more often
    than others, the low end is one agent. If agents may act several times (`at_most`), the high end
    is the maximum for each. In talks, and if each speaker names the next, the high end is the limit
    of the phase (`most_turns`), and unknown without one. If agents are born, the asks may differ by
    the factor `GROWTH` in both directions. A run that ended early may end after one round or after
    the last. Rounds after `MAX_ASKS` asks are like the second half of those played.
Tokens
    A token is 5, 4 or 2.5 characters. Texts in prompts have one word, `SENTENCE` characters, or the
    maximum of their spec. Low, an answer has 1 token. Likely, it has the length of a number, an
    option, a sentence, or the decided fields with sentences as texts. High, it has `max_tokens` if
    text, lists or reasoning are free, otherwise the length of its JSON schema. At most `UNUSABLE`
    are asked again.
Thoughts
    High: the allowance (`max_thought_tokens`; `ANSWER_TOKENS` if an effort is set without a limit).
    Low: none. Likely: the share `THOUGHTS` of the allowance, or of `ANSWER_TOKENS`. Models that
    think by default are known by their names (`thinks_unasked`), and use the allowance of the run;
    for others only a run shows thoughts.
Dollars
    By the price table of the endpoint. Low: all tokens sent are in the server's cache. High: all
    are written to it. Unknown is NaN, never zero.
Not known
    Runs that end earlier than with classical minds, failed requests, unrequested thoughts. Only
    a cap (`Budget`) is a certain bound.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from inspect import isgeneratorfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.core.answers import AnswerSpec, Choice, InvalidAnswer, Number, Text
from sabm_mesa.core.asks import SUMMARISE, Ask
from sabm_mesa.core.scheduler import SIMULTANEOUS
from sabm_mesa.core.structured import Structured
from sabm_mesa.errors import ParameterError, RunError
from sabm_mesa.llm import Connection
from sabm_mesa.llm.budget import ANSWER_TOKENS, TOKENS_PER_MESSAGE
from sabm_mesa.llm.endpoints import NAME, PRESETS
from sabm_mesa.llm.prices import Price, PriceTable
from sabm_mesa.llm.quirks import THOUGHTS as THOUGHTS_UNASKED
from sabm_mesa.llm.quirks import thinks_unasked
from sabm_mesa.minds.base import Mind, name_of
from sabm_mesa.minds.specs import (
    CLASSICAL,
    is_local,
    language_model,
    map_minds,
    model_and_endpoint,
    named_in,
)

if TYPE_CHECKING:
    from sabm_mesa.minds.llm import LLMSettings
    from sabm_mesa.models.base import SmartModel

Array = npt.NDArray[np.float64]

GROWTH = 2.0
"""The factor by which the number of asks may differ if agents are born."""
MAX_ASKS, MIN_ROUNDS, BEYOND = 3000, 5, 0.05
"""The number of asks and of rounds after which a dry run stops, and the share by which asks vary
then."""
SAMPLE = 25
"""The number of turns of a phase whose prompts are all rendered; of later turns, ever fewer are."""
TOKENS_PER_CHAR = np.array([1 / 5, 1 / 4, 1 / 2.5])
"""In bytes of UTF-8 per token: 4 (OpenAI's rule of thumb) to 5 in English, 2.5 to 3 in other
languages."""
CHARS_A_TOKEN = 3
"""The least characters per token in the longest prompt for a local model, with its template."""
CONTEXT_STEP = 256
"""The context of local models is a multiple of this."""
OVERHEAD = TOKENS_PER_MESSAGE * np.arange(3)
"""Tokens around the messages of an ask."""
THOUGHTS = 0.25
"""The share of the allowance for thoughts in a likely answer (our choice)."""
UNUSABLE, AGAIN = 0.2, 200
"""The largest share of unusable answers, and the tokens of a message on the reason (our
choices)."""
WORD, SENTENCE = "xxxxxx; ", 20 * 6
"""A word that example texts repeat (a text with several parts needs several words), and the
characters of a likely text."""
SHORT, REASONING, FREE_REASONING = 2, 40, 400
"""Tokens of a likely number or option, of private reasoning in a few words, of free reasoning."""


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, with a likely value between them; NaN when unknown."""

    low: float = 0.0
    likely: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Asks, requests (including repeated asks), tokens sent and received, dollars."""

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
class Estimate:
    """Estimated cost of runs.

    Attributes:
        scenario: the name of the scenario.
        title: its title.
        runs: the number of runs.
        n_rounds: the maximum number of rounds of a run.
        minds: spec → number of agents.
        lines: one for each paid question and mind.
        notes: sentences on the basis of the numbers, and on unknown costs.
        questions_per_round: the mean number of paid questions of a round in the dry run.
    """

    scenario: str
    title: str
    runs: int
    n_rounds: int
    minds: Mapping[str, int]
    lines: Sequence[Line]
    notes: Sequence[str]
    questions_per_round: float = 0.0

    @property
    def total(self) -> Cost:
        """Cost of all runs together."""
        parts = ([getattr(line.cost, name) for line in self.lines] for name in Cost.__slots__)
        ends = ([sum(getattr(p, end) for p in part) for end in Range.__slots__] for part in parts)
        return Cost(*(Range(*ends_of_field) for ends_of_field in ends))

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {**asdict(self), "total": asdict(self.total)}


class StubMind(Mind):
    """Answers in place of a mind that may cost money, which is never called, and counts.

    Attributes:
        url: the address of its endpoint; None when that is not known.
        asked: question → for each ask the round, the agent, the characters of its prompt, and the
            number of those from `WORD`; NaN for a prompt that was not rendered.
        specs: question → its answer specs.
        lengths: question → the characters of each answer that is neither a number nor an option.
        limit: the maximum number of tokens of an answer.
        thoughts: the maximum number of tokens of its thoughts.
        unasked: whether it thinks by default.
        longer: the factor by which a text can be longer than here.
        phases: question → the phases in which it was asked.
    """

    instant, paid = True, False

    def __init__(self, mind: Any, url: str | None) -> None:
        self.spec = name_of(mind)
        self.url = url
        self.language_model: str = getattr(mind, "model", "") or language_model(self.spec)
        self.settings = getattr(mind, "settings", None)
        self.limit, self.thoughts, self.longer = ANSWER_TOKENS, 0, 1.0
        self.unasked = False
        self.asked: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        self.specs: dict[str, set[AnswerSpec]] = defaultdict(set)
        self.lengths: dict[str, list[int]] = defaultdict(list)
        self.phases: dict[str, set[str]] = defaultdict(set)
        self._model: SmartModel | None = None
        self._minds: dict[int, Mind | None] = {}

    def play_in(self, model: SmartModel) -> None:
        """Decide as the classical minds of a model do."""
        self._model = model
        if is_local(self.spec):
            self.answer_format = model.parameters["answer_format"] or "json"
        for agent_class in model.agent_classes():
            if default_rule := model.classical_of(agent_class).get("default"):
                self.informed += getattr(default_rule("classical"), "informed", ())

    def text_chars(self, spec: Text) -> tuple[float, float]:
        """Characters of a likely text and of the longest legal text."""
        longest = min(spec.max_chars, spec.max_words * len(WORD), self.limit / TOKENS_PER_CHAR[0])
        return min(SENTENCE, longest), longest

    async def answer(self, ask: Ask) -> object:
        """Answer as the classical mind does, or by an example; count the ask."""
        chars = (math.nan, math.nan)
        first = ask.name not in self.asked
        if first or ask.position % (1 + ask.position // SAMPLE) == 0:
            prompt = "".join([*ask.question, *(content for _, content in ask.history)])
            chars = (_n_chars(prompt), prompt.count(WORD.strip()) * len(WORD))
        self.asked[ask.name].append((ask.key.round, ask.key.agent, *chars))
        self.specs[ask.name].add(ask.spec)
        self.phases[ask.name].add(ask.key.phase)
        mind = None if ask.name == SUMMARISE else self._mind_of(ask.key.agent)
        decided: object = ask.spec.example(ask.rng) if mind is None else await mind.answer(ask)
        if isinstance(ask.spec, Number | Choice):
            return decided
        with suppress(InvalidAnswer):  # a text is read, as that of a mind
            is_read = isinstance(decided, str) and not isinstance(ask.spec, Text)
            value = ask.spec.read(str(decided)).value if is_read else ask.spec.check(decided)
            spec = ask.spec
            decided = self._text(spec, value) if isinstance(spec, Text) else value
            self.lengths[ask.name].append(_n_chars(ask.spec.as_text(decided)))
        return decided

    def _text(self, spec: Text, text: str) -> str:
        """A text of the likely length."""
        n, longest = self.text_chars(spec)
        self.longer = max(self.longer, longest / n)
        return spec.with_end(WORD * max(1, round(n / len(WORD))), text)

    def _mind_of(self, agent: int) -> Mind | None:
        """The classical mind that decides for an agent; None when its class has none."""
        if agent not in self._minds:
            assert self._model is not None
            kind = type(self._model.agent_of_id(agent))
            rule = self._model.classical_of(kind).get("default")
            self._minds[agent] = None if rule is None else rule("classical")
        return self._minds[agent]


def dry_run(
    scenario: type[SmartModel], parameters: Mapping[str, Any], max_asks: int = MAX_ASKS
) -> tuple[SmartModel, list[StubMind]]:
    """Play a run with a stub mind for each paid spec; without any, only build the model.

    It plays at least `MIN_ROUNDS` rounds, and more while there were fewer than `max_asks` asks.
    """
    stubs: dict[str, StubMind] = {}
    every: list[StubMind] = []

    def stub_mind(mind: Any) -> Any:
        # An object that is no mind stays: the model reports it.
        if not _is_asked(mind):
            return mind
        made = StubMind(mind, _address(mind, parameters.get("connection")))
        every.append(made)
        return stubs.setdefault(made.spec, made) if getattr(mind, "paid", True) else made

    given = {"rng": 0, **parameters, "recording": False, "connection": None}
    given["minds"] = map_minds(given.get("minds", CLASSICAL), stub_mind)
    model = scenario(**given)
    for stub in every:
        stub.play_in(model)
    for stub in stubs.values():
        settings: LLMSettings = stub.settings or model.llm_settings
        stub.limit = settings.max_tokens or ANSWER_TOKENS
        asked_to = settings.reasoning_effort is not None
        stub.unasked = not asked_to and thinks_unasked(stub.language_model)
        most = ANSWER_TOKENS if asked_to else THOUGHTS_UNASKED * stub.unasked
        stub.thoughts = settings.max_thought_tokens or most
    while stubs and model.running and (model.round + 1 < MIN_ROUNDS or model.total.asks < max_asks):
        model.step()
    return model, list(stubs.values())


def _is_asked(mind: Any) -> bool:
    """Whether a mind may cost money: a language model, or an object that answers."""
    if isinstance(mind, str):
        return bool(language_model(mind))
    return hasattr(mind, "answer")


def _address(mind: Any, connection: Connection | None) -> str | None:
    """The address of the endpoint that a mind asks.

    None when there is none yet, since a run may be priced before its endpoint is chosen; None also
    for an object, which has its own client.
    """
    how = connection or Connection()
    named = model_and_endpoint(mind.partition(":")[2])[1] if isinstance(mind, str) else ""
    unknown = NAME.match(named) and named not in PRESETS and not how.endpoints
    if not isinstance(mind, str) or unknown:
        return None
    return how.endpoint(named or None).url


def estimate(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    runs: int = 1,
    prices: str | Path | None = None,
) -> Estimate:
    """Estimate the cost of runs of a scenario; see the module for the method.

    Args:
        parameters: its parameters; `connection` and `recording` make no difference.

    Raises:
        UsageError: for parameters or prices that cannot be used.
        RunError: when the scenario or a classical mind fails.
    """
    if runs < 1:
        raise ParameterError(f"The number of runs must be 1 or more (got {runs}).")
    table = PriceTable(prices)
    model, stubs = dry_run(scenario, parameters)
    longer = max((stub.longer for stub in stubs), default=1.0)
    lines = []
    for stub in stubs:
        price = table.at(stub.url).of(stub.language_model)
        for question, rows in stub.asked.items():
            most = _most_asks(model, stub.phases[question], np.array(rows))
            asks, chars = _counted(np.array(rows), model, longer, most) * [[runs], [1]]
            parts = _assumed(asks, chars, stub, question, model)
            usd = _dollars(price, parts) if price else [math.nan] * 3
            ranges = (Range(*ends) for ends in [*parts.tolist(), usd])
            lines.append(Line(question, stub.spec, Cost(*ranges)))
    total = Estimate(
        scenario=scenario.scenario_name,
        title=scenario.title,
        runs=runs,
        n_rounds=model.n_rounds,
        minds=model.minds_in_use(),
        lines=lines,
        notes=_notes(model, stubs, table, lines) if lines else [],
        questions_per_round=sum(len(rows) for stub in stubs for rows in stub.asked.values())
        / max(model.round + 1, 1),
    )
    model.close()
    return total


def questions_per_round(
    scenario: type[SmartModel], parameters: Mapping[str, Any]
) -> dict[str, float]:
    """Question → how often it is asked in a round, by the first rounds of a dry run.

    Args:
        scenario: the model class.
        parameters: its parameters; all minds decide as the classical ones do.
    """
    model, (stub,) = dry_run(scenario, {**parameters, "minds": "llm:any"}, max_asks=0)
    model.close()
    return {question: len(rows) / (model.round + 1) for question, rows in stub.asked.items()}


def _dollars(price: Price, parts: Array) -> list[float]:
    """Dollars, low, likely and high; each request has the mean number of tokens."""
    _, n, sent, received = parts
    low, likely, high = zip(sent / n, received / n, strict=True)
    each = price.cost(low[0], *low), price.cost(likely[0], 0, likely[1]), price.most(*high)
    return [float(number * dollars) for number, dollars in zip(n, each, strict=True)]


def _most_asks(model: SmartModel, phases: Collection[str], rows: Array) -> float:
    """The maximum asks of a question in a round, from the limits of its phases; NaN without one.

    Zero when every agent has one turn, so that the dry run shows the number.
    """
    agents = int(np.bincount(np.unique(rows[:, :2], axis=0)[:, 0].astype(int)).max())
    most = 0.0
    for phase in (p for p in model.phases if p.name in phases):
        if phase.most_turns is not None:
            most += phase.most_turns(model) * phase.at_most
        elif isgeneratorfunction(phase.order):
            most = math.nan
        elif phase.at_most > 1:
            turns = 1 if phase.order == SIMULTANEOUS else phase.turns
            most += agents * phase.at_most * turns
    return most


def _counted(rows: Array, model: SmartModel, longer: float, most_asks: float) -> Array:
    """The asks in a run, and the characters of a prompt, from the asks of one question to one mind.

    Args:
        longer: the factor by which a text can be longer than in the dry run.
    """
    played, most = model.round + 1, model.n_rounds
    ends = most if model.running else played
    asks = np.bincount(rows[:, 0].astype(int), minlength=played).astype(float)
    later = asks[played // 2 :]
    when = np.append(asks, np.full(most - played, later.mean()))
    times = np.append(asks > 0, np.full(most - played, (later > 0).mean()))
    turns = np.unique(rows[:, :2], axis=0, return_counts=True)[1]
    asks_by_round = asks[asks > 0]
    # Where agents left, other minds may leave sooner: then at least one is asked in a round.
    steady = turns.min() == turns.max() and asks_by_round[-1] == asks_by_round.max()
    low = asks_by_round.min() / turns.max() if steady else 1
    low *= times.sum() if ends == most else 1
    wider = BEYOND * model.running * np.array([-1, 0, 1]) + 1
    if has_births(model):
        wider = wider * [1 / GROWTH, 1, GROWTH]
    highest = np.maximum(asks_by_round.max(), most_asks)  # NaN without a limit
    numbers = wider * [low, when[:ends].sum(), highest * times.sum()]
    known = np.flatnonzero(~np.isnan(rows[:, 2]))
    prompts = []
    for more, last in (len(WORD) / SENTENCE, ends), (1, ends), (longer, most):
        chars = rows[known, 2] + (more - 1) * rows[known, 3]
        means = _by_round(np.interp(range(len(rows)), known, chars), rows[:, 0], most)
        prompts.append(np.average(means[:last], weights=when[:last]))
    return np.array([numbers, prompts])


def has_births(model: SmartModel) -> bool:
    """Whether agents were born in a run."""
    return len(model.population) > model.began_with


def _by_round(values: Array, rounds: Array, most: int) -> Array:
    """The mean in each round; later rounds continue the trend of the second half, if it rises."""
    there = np.unique(rounds)
    means = np.array([values[rounds == number].mean() for number in there])
    half = len(there) // 2
    slope = np.polyfit(there[half:], means[half:], 1)[0] if half > 1 else 0.0
    beyond = np.clip(np.arange(most) - there[-1], 0, None)
    rising: Array = np.interp(range(most), there, means) + max(0.0, slope) * beyond
    return rising


def _assumed(asks: Array, chars: Array, stub: StubMind, question: str, model: SmartModel) -> Array:
    """Asks, requests, tokens sent and tokens received."""
    specs, limit = stub.specs[question], stub.limit
    as_json = (stub.answer_format or model.answer_format) == "json"
    if is_local(stub.spec):
        limit = max(local_limit(spec, model, as_json=as_json) for spec in specs)
    schema = max(_n_chars(json.dumps(spec.answer_schema())) for spec in specs)
    high_only = np.array([0, 0, 1])
    prompt = (chars + schema * as_json * high_only) * TOKENS_PER_CHAR + OVERHEAD
    again = UNUSABLE * (model.max_attempts > 1) * high_only
    text_tokens = TOKENS_PER_CHAR[1] * np.mean(stub.lengths[question] or [0])
    tokens = [
        _reasoning_tokens(spec)
        + (
            TOKENS_PER_CHAR[1] * stub.text_chars(spec)[0]
            if isinstance(spec, Text)
            else max(SHORT, text_tokens)
        )
        for spec in specs
    ]
    open_ended = any(map(_is_open_ended, specs))
    longest = min(limit, limit if open_ended else schema * TOKENS_PER_CHAR[2])
    likely = THOUGHTS * min(stub.thoughts, ANSWER_TOKENS)
    most = stub.thoughts * (1 + UNUSABLE * (model.max_attempts > 1))
    thoughts = np.array([0, likely, most])
    answer = np.array([1, min(limit, np.mean(tokens)), longest]) + again * limit + thoughts
    sent = prompt * (1 + again) + again * (limit + AGAIN)
    return np.array([asks, asks * (1 + again), asks * sent, asks * answer])


def with_context(
    connection: Connection, scenario: type[SmartModel], parameters: Mapping[str, Any]
) -> Connection:
    """A connection with the length of context that the local models of a run need.

    A plain Mesa model is not played for this: its author's code runs once a run, and the server of
    a local model is restarted when a question needs a longer context.

    Raises:
        UsageError: for parameters that cannot be used.
    """
    specs = map(name_of, named_in(parameters.get("minds", CLASSICAL)))
    if hasattr(scenario, "plain_class") or not any(map(is_local, specs)):
        return connection
    try:
        model, stubs = dry_run(scenario, parameters)
    except RunError:  # a run says what is wrong
        return connection
    likely = float(connection.context)
    for stub in (stub for stub in stubs if is_local(stub.spec)):
        as_json = stub.answer_format == "json"
        for question, rows in stub.asked.items():
            limit = max(local_limit(spec, model, as_json=as_json) for spec in stub.specs[question])
            again = (model.max_attempts - 1) * (limit + AGAIN)
            likely = max(likely, np.nanmax(np.array(rows)[:, 2]) / CHARS_A_TOKEN + limit + again)
    model.close()
    return replace(connection, context=-(-int(likely) // CONTEXT_STEP) * CONTEXT_STEP)


def local_limit(spec: AnswerSpec, model: SmartModel, *, as_json: bool) -> int:
    """The maximum number of tokens of an answer of a local model."""
    from sabm_mesa.minds.local import token_limit

    schema = spec.answer_schema(bounded=True) if as_json else None
    of_run, default = model.llm_settings.max_tokens, model.mind_context.default_limit
    return token_limit(spec.most_tokens, schema, of_run, default=default)


def _is_open_ended(spec: AnswerSpec) -> bool:
    """Whether an answer may be longer than its schema."""
    open_ended = isinstance(spec, Text) or (isinstance(spec, Structured) and spec.open_ended)
    return spec.reasoning is not None or open_ended


def _reasoning_tokens(spec: AnswerSpec) -> int:
    """Tokens of likely private reasoning."""
    if spec.reasoning is None:
        return 0
    return FREE_REASONING if spec.reasoning.max_words is None else REASONING


def _n_chars(text: str) -> int:
    """The length of a text: bytes of UTF-8, since other scripts have more tokens per character."""
    return len(text.encode(errors="replace"))


def _on_thoughts(stubs: Sequence[StubMind]) -> str:
    most = max(stub.thoughts for stub in stubs)
    unasked = sorted({stub.language_model for stub in stubs if stub.unasked})
    why = f" ({', '.join(unasked)}: known to think)" if unasked else ""
    return f"up to {most:,} thought tokens an answer{why}" if most else "no thoughts"


def _notes(
    model: SmartModel,
    stubs: Sequence[StubMind],
    table: PriceTable,
    lines: Sequence[Line],
) -> list[str]:
    assumed = (
        "Assumed: 2.5 to 5 characters a token; texts from one word to the longest that is kept; up "
        f"to {UNUSABLE:.0%} of the answers unusable; {_on_thoughts(stubs)}."
    )
    notes = [assumed]
    if has_births(model):
        notes.append(f"Agents are born: there may be {GROWTH:g} times as many asks, or as few.")
    notes += [
        f"{name} has no upper bound: each decision says who is asked next."
        for name in dict.fromkeys(
            line.question for line in lines if math.isnan(line.cost.asks.high)
        )
    ]
    if model.running:
        n, most = model.round + 1, model.n_rounds
        notes.append(f"{n:,} of {most:,} rounds were played; others alike.")
    names = {
        (stub.language_model or stub.spec, table.at(stub.url).of(stub.language_model))
        for stub in stubs
    }
    for name in sorted(name for name, price in names if not price):
        notes += [f"The price of {name} is not known: list it in a price file (--prices)."]
    return notes
