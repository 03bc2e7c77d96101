"""What runs will cost, before anything is spent: asks, tokens and dollars, each as a range.

The scenario is rehearsed: it is played with stand-ins for the minds that are paid for, which
render the real prompts and count them; other minds play themselves. Nothing is sent, and neither
a key nor a network is needed. An estimate does not depend on chance: it starts from the seed that
is given, else from 0.

How many asks
    Five kinds of rehearsals, in which the stand-ins decide as the scenario's classical minds do,
    or all alike (the first option, or the last one), or at random, or so that nobody moves or takes
    anything (`stand_ins.Manner`). The least is the smallest of those in which a run ends as early
    as it may: as the classical minds play, and when all agree. The most is the largest of those in
    which it goes on. Where other seeds give other numbers the range is widened to either side, by
    the difference or by three roots of the number; where they give the same number a round, only
    how many rounds there are is open: from those that were played to all. A run that ends before
    its last round in all rehearsals is extended to it for the most.

How many tokens
    A prompt's letters come from the rehearsals: for the least with texts of one word, for the most
    with texts as long as the spec keeps them, in words of 8 letters, and with a round's mean never
    below that of an earlier round. In large runs a sample is rendered. Letters become tokens by a
    range of letters for a token (`habits.LETTERS_PER_TOKEN`). An answer has at the least the
    letters of the shortest legal one; at the most those of the longest, and where there is none
    (texts, reasoning) `max_tokens`, or 4096 tokens where the scenario sets no limit. At the most
    one answer in five (in few answers, more by chance) is unusable, as long as an answer may be,
    and asked for once more.

How many dollars
    By the price table. At the least the server has all that is sent in its cache, at the most
    nothing. An unknown price is NaN, never zero.

Typically
    One more number, between low and high: the classical minds' run with what they say (filled up
    or cut to 20 words), 4 letters a token, every answer usable, nothing cached.

With a recording
    Of the same scenario. Letters for a token, lengths of texts and answers, shares of unusable and
    of cached tokens are then those of the recorded model (of all recorded models for one that was
    not recorded), by question: from the smallest to the largest mean of a run, widened by 5 % and
    four standard errors. Runs with the same parameters also give the number of asks.

What it does not know
    Retries of requests that a server did not answer; what a model thinks without saying it,
    beyond the answers above; models that answer with nothing but unusable text; what others than
    minds are asked for, such as embeddings; requests that are shared: every question counts with
    the whole of its prompt, and a recording of shared ones teaches their shares of it. Bounds that
    nobody can pass are caps (`Budget`), not estimates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.cost import habits, ranges
from sabm_mesa.cost.estimates import Cost, Estimate, Line, Typical
from sabm_mesa.cost.habits import Habit, Learned
from sabm_mesa.cost.plays import Plays
from sabm_mesa.cost.ranges import Range
from sabm_mesa.cost.rehearsal import Kind, rehearse
from sabm_mesa.cost.stand_ins import Manner, StandIn
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm.budget import ANSWER_TOKENS, TOKENS_PER_MESSAGE
from sabm_mesa.llm.prices import Price, PriceTable

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

__all__ = ["Cost", "Estimate", "Line", "Range", "Typical", "estimate"]

UNKNOWN = Range(math.nan, math.nan)
OVERHEAD = TOKENS_PER_MESSAGE
"""Tokens around the two messages of a question, typically."""


def estimate(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    runs: int = 1,
    recording: str | Path | None = None,
    prices: str | Path | None = None,
) -> Estimate:
    """Estimate what runs of a scenario cost; see the module for how.

    Args:
        scenario: the model class.
        parameters: its parameters; `connection` and `recording` among them make no difference.
        runs: the number of runs (at least 1).
        recording: a recording of the scenario to learn from, or None.
        prices: a user's own price file, or None.

    Raises:
        UsageError: for parameters, prices or a recording that cannot be used.
        RecordingError: when the recording cannot be read.
        RunError: when the scenario or a classical mind fails.
    """
    if runs < 1:
        raise ParameterError(f"The number of runs has to be 1 or more (got {runs}).")
    table = PriceTable(prices)
    learned = None if recording is None else Learned(recording, scenario.scenario_name)
    limits: dict[str, int] = {}
    short, long = habits.lengths(learned, limits)
    unplayed = rehearse(scenario, parameters, Manner.CLASSICAL, short, play=False)
    model, stand_ins = unplayed.model, unplayed.stand_ins()
    for mind, stand_in in stand_ins.items():
        limits[mind] = (stand_in.settings or model.llm_settings).max_tokens or ANSWER_TOKENS
    lines = []
    if stand_ins:
        plays, agents = Plays(scenario, parameters, short, long), model.minds_in_use()
        for question, mind in plays.kinds():
            name, kind = stand_ins[mind].language_model, (question, mind)
            each = learned.asks(question, name, model.parameters) if learned else None
            asks = plays.asks(kind).narrowed(each * agents[mind] if each else None) * runs
            habit = learned.habit(question, name) if learned else None
            price = _price(stand_ins[mind], table)
            cost = _cost(asks, plays, kind, model, limits[mind], habit, price)
            lines.append(Line(question, mind, cost))
    return Estimate(
        scenario=scenario.scenario_name,
        title=scenario.title,
        runs=runs,
        n_rounds=model.n_rounds,
        minds=model.minds_in_use(),
        lines=lines,
        notes=[
            *_notes(stand_ins, table, learned, model.parameters),
            *_left_out(scenario, parameters),
        ]
        if lines
        else [],
        typical=_typical(scenario, parameters, runs, limits, table)
        if lines and learned is None
        else None,
    )


def _typical(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    runs: int,
    limits: Mapping[str, int],
    table: PriceTable,
) -> Typical:
    """A run as the classical minds play it, with talk in sentences of 20 words."""
    played = rehearse(scenario, parameters, Manner.CLASSICAL, habits.typical_length, render=True)
    model, stand_ins = played.model, played.stand_ins()
    asks = sent = received = usd = 0.0
    for (_, mind), questions in played.questions.items():
        length = questions.mean_length(model.round + 1) / habits.TYPICAL_PER_TOKEN
        prompt = questions.total * (length + OVERHEAD)
        answers = sum(
            n * habits.typical_answer(spec, model.answer_format, limits[mind])
            for spec, n in questions.specs.items()
        )
        price = _price(stand_ins[mind], table)
        asks, sent, received = asks + questions.total, sent + prompt, received + answers
        usd += math.nan if price is None else price.cost(round(prompt), 0, round(answers))
    dollars = math.nan if math.isnan(usd) else usd * runs
    return Typical(asks * runs, sent * runs, received * runs, dollars)


def _cost(
    asks: Range,
    plays: Plays,
    kind: Kind,
    model: SmartModel,
    limit: int,
    habit: Habit | None,
    price: Price | None,
) -> Cost:
    """What questions of one kind cost."""
    form, specs, length = model.answer_format, plays.specs(kind), plays.letters(kind)
    answers = ranges.span(habits.answer_tokens(spec, form, limit) for spec in specs)
    first = ranges.span(habits.prompt_tokens(length, spec, form) for spec in specs)
    again = max(habits.again_tokens(model.book, spec, form, limit) for spec in specs)
    unusable = habits.unusable_share(asks.high)
    again_share = unusable if model.max_attempts > 1 else 0.0
    requests = Range(1.0, 1.0 + again_share)
    resent = Range(1.0, 1.0 + again_share * (1.0 + again / first.high))
    completion = Range(answers.low, answers.high + unusable * limit)
    cached = Range(0.0, 1.0)
    if habit is not None:
        first = first.narrowed(length * habit.tokens_per_letter)
        requests, resent = requests.narrowed(habit.requests), resent.narrowed(habit.resent)
        completion, cached = completion.narrowed(habit.completion), cached.narrowed(habit.cached)
    sent, received = asks * first * resent, asks * completion
    return Cost(asks, asks * requests, sent, received, _dollars(sent, received, cached, price))


def _dollars(sent: Range, received: Range, cached: Range, price: Price | None) -> Range:
    if price is None:
        return UNKNOWN
    ends = (sent.low, received.low, cached.high), (sent.high, received.high, cached.low)
    tokens = [(round(s), round(s * min(1.0, share)), round(r)) for s, r, share in ends]
    low, high = (price.cost(s, from_cache, r) for s, from_cache, r in tokens)
    return Range(low, high)


def _notes(
    stand_ins: Mapping[str, StandIn],
    table: PriceTable,
    learned: Learned | None,
    parameters: Mapping[str, Any],
) -> list[str]:
    per_token = habits.LETTERS_PER_TOKEN
    assumed = (
        f"Assumed: {per_token.low:g} to {per_token.high:g} letters a token; texts from one word to "
        f"the longest that is kept; up to {habits.REASKED:.0%} of the answers unusable."
    )
    if learned is None:
        return [f"{assumed} A recording (--from) says more.", *_without_price(stand_ins, table)]
    runs = len({each.run for each in learned.asked})
    notes = [f"Learned from {learned.path} ({runs} run{'s' if runs > 1 else ''})."]
    names = {stand_in.language_model for stand_in in stand_ins.values()}
    if strange := sorted(names - set(learned.models)):
        notes.append(
            f"{', '.join(strange)} is not in it: taken to write and count like "
            f"{', '.join(learned.models)}."
        )
    if not learned.comparable(parameters):
        notes.append("Its parameters are others, so the number of asks is not taken from it.")
    return [*notes, *_without_price(stand_ins, table)]


def _left_out(scenario: type[SmartModel], parameters: Mapping[str, Any]) -> list[str]:
    """What is paid for and not estimated."""
    return [
        f"Not counted: the requests for {name}={parameters[name]}."
        for name, value in scenario.rehearsed_with.items()
        if parameters.get(name, value) != value
    ]


def _without_price(stand_ins: Mapping[str, StandIn], table: PriceTable) -> list[str]:
    unknown = {m.language_model or m.spec for m in stand_ins.values() if not _price(m, table)}
    return [
        f"The price of {name} is not known: list it in a price file (--prices)."
        for name in sorted(unknown)
    ]


def _price(stand_in: StandIn, table: PriceTable) -> Price | None:
    return table.of(stand_in.language_model)
