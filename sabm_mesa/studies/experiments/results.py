"""The results of an experiment: measures, estimates, comparisons, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.analysis.intervals import estimate_mean, mean_by_round
from sabm_mesa.analysis.tests import holm
from sabm_mesa.studies.experiments.claims import (
    Verdict,
    compare,
    frames_of,
    measured,
    samples,
    value_of,
    verdicts,
)
from sabm_mesa.studies.experiments.design import Measure
from sabm_mesa.studies.experiments.plan import described
from sabm_mesa.studies.experiments.running import Outcome

if TYPE_CHECKING:
    from sabm_mesa.studies.registration import Standing


@dataclass(frozen=True)
class Results:
    """The results of an experiment.

    Attributes:
        outcome: the runs.
        measures: one row per run and measure: ``condition``, ``run``, ``seed``, ``measure`` and
            ``value``.
        estimates: one row per measure and condition: ``measure``, ``condition``, ``n`` (runs with a
            value), ``mean``, ``low`` and ``high`` (95 % interval over runs, see
            `sabm_mesa.analysis.intervals.mean_interval`; NaN with too few runs), ``published`` and
            ``source`` (NaN and ``""`` when nothing is published), ``together`` (for a ``mode``, the
            most frequent value of all runs together; else NaN).
        comparisons: one row per measure and pair of conditions: ``measure``, ``condition``,
            ``than``, ``difference`` (the median of the differences between runs of the same seed)
            with ``low`` and ``high`` (95 %), ``delta`` (Cliff's), ``test`` (a sign test) and its
            ``p`` (two-sided, Holm over the pairs of the measure).
        courses: published courses and those of the runs: ``condition``, ``column``, ``round``,
            ``published``, ``n``, ``mean``, ``low``, ``high``, ``source``.
        verdicts: one on each claim.
        standing: the comparison of these runs with their registration, or None.
    """

    outcome: Outcome
    measures: pd.DataFrame
    estimates: pd.DataFrame
    comparisons: pd.DataFrame
    courses: pd.DataFrame
    verdicts: Sequence[Verdict]
    standing: Standing | None = None

    def summary(self) -> dict[str, Any]:
        """The verdicts in a form for JSON; the costs include those of earlier runs."""
        plan, runs = self.outcome.plan, self.outcome.all_runs
        return {
            "experiment": plan.experiment.name,
            "scale": plan.scale,
            "runs": plan.runs,
            "seeds": plan.seeds,
            "minds": self.minds(),
            "paid_usd": float(runs["paid_usd"].sum(skipna=False)),
            "asks": int(runs["asks"].sum()),
            "invalid": int(runs["invalid"].sum()),
            "registration": None if self.standing is None else self.standing.summary(),
            "claims": [
                {
                    "claim": verdict.claim.text,
                    "source": verdict.claim.source,
                    "verdict": verdict.word,
                    "estimate": verdict.test.estimate,
                    "low": verdict.test.low,
                    "high": verdict.test.high,
                    "effect": verdict.test.effect,
                    "effect_name": verdict.test.effect_name,
                    "p": verdict.p,
                    "n": verdict.test.n,
                    "estimand": verdict.test.estimand.of,
                    "test": verdict.test.method,
                    "fewest_runs": verdict.test.fewest,
                    "runs_needed": verdict.runs_needed or None,
                    "unpaired": verdict.unpaired,
                    "why": verdict.why,
                }
                for verdict in self.verdicts
            ],
        }

    def outside(self) -> tuple[int, int]:
        """The number of published numbers outside the 95 % intervals of these runs, and of all."""
        outside = [
            is_outside(row["published"], row["low"], row["high"])
            for table in (self.estimates, self.courses)
            for _, row in table[table[["published", "low"]].notna().all(axis=1)].iterrows()
        ]
        return sum(outside), len(outside)

    def minds(self) -> dict[str, str]:
        """Condition → its minds, without minds that a parameter of the scenario adds."""
        return {name: described(given) for name, given in self.outcome.plan.minds.items()}


def is_outside(published: float, low: float, high: float) -> bool:
    """Whether a published number lies outside an interval; False if either is missing.

    Args:
        published: the number, or NaN.
        low: the lower end; NaN without an interval.
        high: the upper end.
    """
    slack = 1e-9 * max(abs(published), abs(low), abs(high))  # an error of rounding is no distance
    return published < low - slack or published > high + slack


def results(outcome: Outcome) -> Results:
    """Measure, estimate and compare the runs of an experiment, and judge its claims.

    Args:
        outcome: the runs.

    Raises:
        ParameterError: when a measure cannot be computed.
    """
    values = measured(outcome)
    return Results(
        outcome, values, _estimates(outcome, values), _comparisons(outcome, values),
        _courses(outcome), verdicts(outcome, values),
    )  # fmt: skip


def _estimates(outcome: Outcome, values: pd.DataFrame) -> pd.DataFrame:
    experiment = outcome.plan.experiment
    published = {
        (entry.measure, entry.condition): (entry.numbers[0], entry.source)
        for entry in outcome.plan.published
        if entry.measure and entry.condition
    }
    rows = []
    for measure in experiment.measures:
        for condition in experiment.conditions:
            estimate = estimate_mean(samples(values, measure.name, condition.name))
            number_and_source = published.get((measure.name, condition.name), (float("nan"), ""))
            together = _together(outcome, measure, condition.name)
            rows.append((measure.name, condition.name, *estimate, *number_and_source, together))
    columns = ["measure", "condition", "n", "mean", "low", "high", "published", "source"]
    columns += ["together"]
    return pd.DataFrame(rows, columns=columns)


def _together(outcome: Outcome, measure: Measure, condition: str) -> float:
    """The most frequent value of all runs together, for a published mode; else NaN."""
    data = frames_of(outcome)[measure.data]
    mine = data[data["condition"] == condition]
    return value_of(measure, mine) if measure.take == "mode" and len(mine) else float("nan")


def _comparisons(outcome: Outcome, values: pd.DataFrame) -> pd.DataFrame:
    experiment = outcome.plan.experiment
    columns = ["measure", "condition", "than", "difference", "low", "high", "delta", "test", "p"]
    pairs = list(combinations([condition.name for condition in experiment.conditions], 2))
    tables = []
    for measure in experiment.measures:
        rows = []
        for one, other in pairs:
            test, _ = compare(values, measure.name, one, other)
            comparison = test.estimate, test.low, test.high, test.effect, test.method, test.p
            rows.append((measure.name, one, other, *comparison))
        table = pd.DataFrame(rows, columns=columns)
        tables.append(table.assign(p=holm(table["p"])))
    return pd.concat(tables, ignore_index=True)


def _courses(outcome: Outcome) -> pd.DataFrame:
    rows = []
    kept, data = outcome.plan.model.kept_columns, outcome.model_data
    for published in outcome.plan.published:
        mine = data[data["condition"] == published.condition]
        for round_, value in (
            zip(published.rounds, published.numbers, strict=False) if published.column else ()
        ):
            by_round = mean_by_round(mine, published.column, kept=published.column in kept)
            then = by_round[by_round["round"] <= round_].iloc[-1]
            estimate = (int(then["n"]), *then[["mean", "low", "high"]])
            rows.append(
                (published.condition, published.column, round_, value, *estimate, published.source)
            )
    columns = ["condition", "column", "round", "published", "n", "mean", "low", "high", "source"]
    return pd.DataFrame(rows, columns=columns)
