"""The measures of an experiment: one number a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.convergence import convergence_round
from sabm_mesa.analysis.price_talk import first_price_agreement
from sabm_mesa.experiments.columns import check_columns
from sabm_mesa.experiments.design import Data, Measure
from sabm_mesa.experiments.running import Outcome

Floats = npt.NDArray[np.float64]


def measured(outcome: Outcome) -> pd.DataFrame:
    """All measures of all runs.

    Args:
        outcome: the experiment.

    Returns:
        ``condition``, ``run``, ``seed``, ``measure`` and ``value`` (in the unit of the measure;
        NaN where a run has none), one row a run and measure.

    Raises:
        ParameterError: when the experiment names a column that the scenario does not have.
    """
    experiment = outcome.plan.experiment
    rows = []
    frames = frames_of(outcome)
    check_columns(experiment, {name: list(data.columns[3:]) for name, data in frames.items()})
    for measure in experiment.measures:
        data = frames[measure.data]
        by_run = dict(list(data.groupby(["condition", "run"])))
        for _, run in outcome.runs.iterrows():
            place = run["condition"], run["run"]
            value = value_of(measure, by_run[place]) if place in by_run else math.nan
            rows.append((run["condition"], run["run"], run["seed"], measure.name, value))
    return pd.DataFrame(rows, columns=["condition", "run", "seed", "measure", "value"])


def frames_of(outcome: Outcome) -> dict[Data, pd.DataFrame]:
    """The data of an experiment by the name that measures have for it.

    Args:
        outcome: the experiment.
    """
    return {
        "model": outcome.model_data, "agents": outcome.agent_data, "messages": outcome.messages,
    }  # fmt: skip


def samples(values: pd.DataFrame, measure: str, condition: str) -> Floats:
    """The values of a measure in the runs of a condition, in the order of their seeds.

    Args:
        values: what `measured` returned.
        measure: the measure.
        condition: the condition.

    Returns:
        Shape (n_runs,).
    """
    mine = values[(values["measure"] == measure) & (values["condition"] == condition)]
    return mine.sort_values("seed")["value"].to_numpy(dtype=np.float64)


def value_of(measure: Measure, data: pd.DataFrame) -> float:
    """A measure of one run.

    Args:
        measure: the measure.
        data: the data of the run, with ``round`` and the columns of the measure.

    Returns:
        The number; NaN when the run has no value.
    """
    ends = int(data["round"].max())
    first, last = (min(end, ends) if end >= 0 else max(0, ends + 1 + end) for end in measure.rounds)
    inside = data[data["round"].between(first, last)]
    if measure.agent:
        inside = inside[inside["agent"] == measure.agent]
    if measure.take in _OF_PATHS:
        found = _OF_PATHS[measure.take](measure, inside)
        return measure.never if math.isnan(found) and measure.take in _EVENTS else found
    values = inside[list(measure.columns)].to_numpy(dtype=np.float64, na_value=math.nan)
    values = values[~np.isnan(values)]
    return float(_OF_VALUES[measure.take](measure, values)) if values.size else math.nan


def _share(measure: Measure, values: Floats) -> float:
    return float(((values >= measure.low) & (values <= measure.high)).mean())


def _by_round(measure: Measure, data: pd.DataFrame) -> pd.Series[float]:
    """The mean of the columns, and of the agents, by round."""
    return data.groupby("round")[list(measure.columns)].mean().mean(axis=1).astype(float)


def _change(measure: Measure, data: pd.DataFrame) -> float:
    path = _by_round(measure, data)
    return float(path.iloc[-1] - path.iloc[0])


def _slope(measure: Measure, data: pd.DataFrame) -> float:
    path = _by_round(measure, data).dropna()
    if len(path) < 2:
        return math.nan
    if (path == path.iloc[0]).all():
        return 0.0  # a fit would leave an error of rounding
    return float(np.polyfit(path.index.to_numpy(dtype=float), path.to_numpy(), 1)[0])


def _first(measure: Measure, data: pd.DataFrame) -> float:
    values = data[list(measure.columns)].astype(float)
    holds = ((values >= measure.low) & (values <= measure.high)).all(axis=1)
    rounds = holds.groupby(data["round"]).all()
    met = rounds.index[rounds]
    return float(met[0]) if len(met) else math.nan


def _settles(measure: Measure, data: pd.DataFrame) -> float:
    paths = data[list(measure.columns)].to_numpy(dtype=float).T.tolist()
    return convergence_round(paths, measure.high)


def _agreed(measure: Measure, data: pd.DataFrame) -> float:
    low, high = max(measure.low, 0.0), measure.high
    rounds = first_price_agreement(data, low, high).values()
    return min((float(round_) for round_ in rounds if round_ is not None), default=math.nan)


_OF_VALUES: Mapping[str, Callable[[Measure, Floats], float]] = {
    "mean": lambda _, values: float(values.mean()),
    "sd": lambda _, values: float(values.std(ddof=0)),
    "min": lambda _, values: float(values.min()),
    "max": lambda _, values: float(values.max()),
    "sum": lambda _, values: float(values.sum()),
    "mode": lambda _, values: float(pd.Series(values).mode().iloc[0]),
    "share": _share,
}
_OF_PATHS: Mapping[str, Callable[[Measure, pd.DataFrame], float]] = {
    "change": _change,
    "slope": _slope,
    "first": _first,
    "settles": _settles,
    "agreed": _agreed,
}
_EVENTS = ("first", "settles", "agreed")
"""What comes about in a round, or never."""
