"""What the command line says when runs are done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from sabm_mesa.cli.progress import in_words
from sabm_mesa.runner import Runs, describe_minds


def report(runs: Runs, files: Sequence[Path]) -> str:
    """A few lines: what was run, how it ended, what it cost, where the files are.

    Args:
        runs: the runs.
        files: the files that were written.
    """
    first = runs.models[0]
    total = runs.total()
    seeds = (
        f"seed {runs.seeds[0]}"
        if len(runs.seeds) == 1
        else f"seeds {runs.seeds[0]}–{runs.seeds[-1]}"
    )
    minds = describe_minds(first.minds_in_use())
    number = _count(len(runs.models), "run")
    lines = [
        f"{first.title}: {number}, {first.condition}, minds {minds}, {seeds}",
        "At the end" + (" (mean over runs): " if len(runs.models) > 1 else ": ") + _measures(runs),
        f"Spent: {in_words(total)}, {runs.wall_s:.1f} s",
    ]
    if total.invalid:
        lines.append(
            f"Warning: {total.invalid} of {total.asks} questions got no usable answer; they are "
            "recorded as invalid, and nothing was put in their place."
        )
    if math.isnan(total.cost_usd):
        lines.append("The price of a model is not known: list it in a price file (--prices).")
    folder = files[0].parent
    lines.append(f"Written to {folder}: {', '.join(sorted(path.name for path in files))}")
    return "\n".join(lines)


def _measures(runs: Runs) -> str:
    ends = [model.end_measures() for model in runs.models]
    shown = {name: _mean([end.get(name) for end in ends]) for name in ends[0]}
    return ", ".join(f"{name} {value:.4g}" for name, value in shown.items() if value is not None)


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [float(v) for v in values if isinstance(v, Real) and not math.isnan(float(v))]
    return sum(numbers) / len(numbers) if numbers else None


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("s" if n != 1 else "")
