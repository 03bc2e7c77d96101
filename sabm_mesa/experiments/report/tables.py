"""The tables of a report, as rows of texts; a name that repeats the row above is left blank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from sabm_mesa.analysis.process import CODES
from sabm_mesa.experiments.report.drawings import SOURCES, labels, measure_name
from sabm_mesa.experiments.report.words import NONE, effect, estimate, exact, p_value, percent
from sabm_mesa.experiments.results import Results, is_outside

MOST_PAIRS = 30
"""Pairs of conditions that a report shows at the most; the CSV file has all."""
MOST_POINTS = 10
"""Rounds of a published course that a report shows at the most; the CSV file has all."""
OUTSIDE = "†"
"""Marks a published number that lies outside the interval of these runs."""
Rows = list[dict[str, Any]]


def estimates(results: Results) -> Rows:
    """Each measure by condition beside what was published."""
    experiment, called = results.outcome.plan.experiment, labels(results)
    rows = [
        {
            "measure": measure_name(experiment.measure(row["measure"])),
            "condition": called[row["condition"]],
            "n": row["n"],
            "mean": estimate(row["mean"], row["low"], row["high"]) + _together(row),
            "published": _published(row),
            "source": row["source"] or NONE,
        }
        for _, row in results.estimates.iterrows()
    ]
    return _grouped(rows, "measure")


def of_people(results: Results) -> Rows:
    """Published numbers of people, by measure."""
    experiment = results.outcome.plan.experiment
    return [
        {
            "measure": measure_name(experiment.measure(each.measure)),
            "who": each.label or NONE,
            "published": exact(number),
            "source": each.source,
        }
        for each in experiment.published
        if each.measure and not each.condition
        for number in each.numbers
    ]


def comparisons(results: Results) -> Rows:
    """Differences between conditions: all pairs, or those with the smallest p of many."""
    experiment, called = results.outcome.plan.experiment, labels(results)
    shown = results.comparisons
    if len(shown) > MOST_PAIRS:
        smallest = shown["p"].sort_values(kind="stable").index[:MOST_PAIRS]
        shown = shown.loc[sorted(smallest)]
    rows = [
        {
            "measure": measure_name(experiment.measure(row["measure"])),
            "pair": f"{called[row['condition']]} − {called[row['than']]}",
            "difference": estimate(row["difference"], row["low"], row["high"]),
            "delta": effect(row["delta"]),
            "p": p_value(row["p"]),
        }
        for _, row in shown.iterrows()
    ]
    return _grouped(rows, "measure")


def courses(results: Results) -> Rows:
    """Published courses beside what was found: all rounds, or some of many."""
    called = labels(results)
    rows = []
    for (column, condition), course in results.courses.groupby(["column", "condition"], sort=False):
        for place in _spread(len(course)):
            row = course.iloc[place]
            rows.append(
                {
                    "column": str(column).replace("_", " "),
                    "condition": called[str(condition)],
                    "round": row["round"],
                    "published": _published(row),
                    "found": estimate(row["mean"], row["low"], row["high"]),
                    "source": row["source"],
                }
            )
    return rows


def ratios(results: Results) -> Rows:
    """Ratios of conditions beside the published ones."""
    experiment, called = results.outcome.plan.experiment, labels(results)
    return [
        {
            "label": row["label"],
            "ratio": f"{experiment.measure(row['measure']).label}: {called[row['condition']]} ÷ "
            f"{called[row['than']]}",
            "found": estimate(row["ratio"], row["low"], row["high"]),
            "published": _published(row),
            "source": row["source"],
        }
        for _, row in results.ratios.iterrows()
    ]


def shares(results: Results) -> Rows:
    """Where the variance of each measure comes from."""
    experiment = results.outcome.plan.experiment
    rows = [
        {
            "measure": experiment.measure(row["measure"]).label,
            "source": SOURCES.get(row["source"], row["source"]),
            "share": percent(row["share"]),
            "interval": NONE
            if math.isnan(row["low"])
            else f"{percent(row['low'])} to {percent(row['high'])}",
        }
        for _, row in results.shares.iterrows()
    ]
    return _grouped(rows, "measure")


def codes(results: Results) -> Rows:
    """For each condition in which anything was said, the shares of the messages by code."""
    messages, called = results.outcome.messages, labels(results)
    by_condition: dict[Any, pd.DataFrame] = dict(list(messages.groupby("condition")))
    return [
        {
            "condition": label,
            "n": f"{len(by_condition[name]):,}",
            "shares": [percent(by_condition[name][code].mean()) for code in CODES],
        }
        for name, label in called.items()
        if name in by_condition
    ]


def _together(row: pd.Series[Any]) -> str:
    """The most frequent value of all runs together, where there is one."""
    value = row["together"]
    return "" if math.isnan(value) else f"; {exact(value)} of all runs together"


def _published(row: pd.Series[Any]) -> str:
    """A published number, marked when it lies outside the interval of these runs."""
    outside = is_outside(row["published"], row["low"], row["high"])
    return f"{exact(row['published'])}{f' {OUTSIDE}' if outside else ''}"


def _grouped(rows: Rows, name: str) -> Rows:
    """The rows with each name in the first row of its group alone."""
    before = [None, *(row[name] for row in rows)]
    return [
        {**row, name: "" if row[name] == above else row[name]}
        for row, above in zip(rows, before, strict=False)
    ]


def _spread(n: int) -> Sequence[int]:
    """Places that are spread evenly over n, first and last among them."""
    if n <= MOST_POINTS:
        return range(n)
    return [round(i * (n - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]
