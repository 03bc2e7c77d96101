"""``sabm cost``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    EndpointOptions,
    FileMindOptions,
    Prices,
    RunOptions,
    ScenarioName,
)
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.runs.cost import Cost, Estimate

_HEAD = ("question", "mind", "asks", "requests", "tokens sent", "tokens received", "dollars")


@app.command(blocks=[RunOptions, EndpointOptions, FileMindOptions])
def cost(
    context: typer.Context,
    name: ScenarioName,
    *,
    runs: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Number of runs.")] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the first run (default: 0).")
    ] = None,
    prices: Prices = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the range and the likely cost of runs. Nothing is sent, and no key is needed."""
    from sabm_mesa.recording import export
    from sabm_mesa.runs.cost import estimate

    connection = EndpointOptions.of(context).connection()
    parameters = {**RunOptions.of(context).parameters(rng=seed), "connection": connection}
    FileMindOptions.of(context).apply([parameters.get("minds", "classical")])
    estimated = estimate(registry.load(name), parameters, runs, prices)
    say(export.readable_json(estimated.as_dict()) if as_json else in_words(estimated))


def say_costs(estimates: Sequence[Estimate], *, as_json: bool) -> None:
    """Print the expected costs of several runs."""
    from sabm_mesa.recording.export import readable_json

    if as_json:
        say(readable_json([estimated.as_dict() for estimated in estimates]))
    else:
        say("\n".join(map(in_words, estimates)))


def in_words(estimated: Estimate) -> str:
    """Return the estimate as plain text."""
    from sabm_mesa.minds.specs import describe_minds

    runs = "1 run" if estimated.runs == 1 else f"{estimated.runs:,} runs"
    rounds = "1 round" if estimated.n_rounds == 1 else f"up to {estimated.n_rounds:,} rounds"
    minds = describe_minds(estimated.minds)
    if estimated.lines:
        rounds += f", about {_count(estimated.questions_per_round)} questions a round"
    head = f"{estimated.title}: {runs} of {rounds}, minds {minds}"
    if not estimated.lines:
        return f"{head}\nThere is nothing to pay: no mind is a language model."
    rows = [
        _HEAD,
        *((line.question, line.mind, *_cells(line.cost)) for line in estimated.lines),
        ("in all", "", *_cells(estimated.total)),
        ("likely", "", *_cells(estimated.total, ends=("likely",))),
    ]
    return "\n".join([head, _table(rows), *estimated.notes])


def _cells(cost: Cost, ends: Sequence[str] = ("low", "high")) -> tuple[str, ...]:
    """Return the cells of a row, with one number where all are equal."""
    counts = (cost.asks, cost.requests, cost.prompt_tokens, cost.completion_tokens)
    texts = [[_count(getattr(count, end)) for end in ends] for count in counts]
    texts.append([_dollars(getattr(cost.usd, end)) for end in ends])
    return tuple("–".join(dict.fromkeys(text)) for text in texts)


def _count(number: float) -> str:
    """Format an estimated number; from 10,000 on, it is rounded to three digits."""
    if math.isnan(number):
        return "no bound"
    return f"{float(f'{number:.3g}') if number >= 10_000 else number:,.0f}"


def _dollars(usd: float) -> str:
    if math.isnan(usd):
        return "price unknown"
    return f"{usd:,.2f}" if usd >= 0.1 else f"{usd:.2g}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if i < 2 else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
