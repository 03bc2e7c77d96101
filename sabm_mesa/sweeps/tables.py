"""The tidy tables of a sweep, from its recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.parts import Entry
from sabm_mesa.sweeps.grid import Grid, shown
from sabm_mesa.usage import Tally


def model_table(grid: Grid, entered: Sequence[Entry], recorded: Recorded) -> pd.DataFrame:
    """One row a run and round.

    Args:
        grid: the sweep.
        entered: its runs, in the order of its cells.
        recorded: the recording.

    Returns:
        The varied parameters, ``seed``, ``run`` (its number in the recording), ``round``, and the
        model columns; rows in the order of the grid, whatever the recording's is. A parameter
        that has the name of a model column is called ``NAME_set``.
    """
    columns = list(dict.fromkeys(name for entry in entered for name in entry.model_columns))
    data = recorded.model_data()[["run", "round", *columns]]
    return _where(grid, entered, data.columns).merge(data, on="run")


def run_table(
    grid: Grid,
    entered: Sequence[Entry],
    data: pd.DataFrame,
    measures: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """One row a run.

    Args:
        grid: the sweep.
        entered: its runs, in the order of its cells.
        data: one row a run and round, as `model_table` returns it.
        measures: uid → end measures.

    Returns:
        The varied parameters, ``seed``, ``run``, ``rounds``, the sums over the rounds of what asks
        cost (``asks``, ``invalid``, ``cost_usd``, …; a sum is NaN when a cost is not known), and
        the scenario's end measures; of a measure by name, one column ``MEASURE.NAME`` each.
    """
    spent = [name for name in dict(Tally()) if name in data]
    by_run = data.groupby("run", sort=False)
    sums = by_run[spent].sum()
    sums["cost_usd"] = sums["cost_usd"].where(by_run["cost_usd"].count() == by_run.size())
    sums.insert(0, "rounds", by_run.size())
    ends = pd.json_normalize([dict(measures[entry.uid]) for entry in entered])
    ends = ends.drop(columns=sums.columns.intersection(ends.columns))
    where = _where(grid, entered, [*sums.columns, *ends.columns])
    return pd.concat([where.merge(sums, left_on="run", right_index=True), ends], axis="columns")


def _where(grid: Grid, entered: Sequence[Entry], taken: Sequence[str] | pd.Index) -> pd.DataFrame:
    """One row a run: what it is of."""
    rows = [
        {
            **{f"{k}_set" if k in taken else k: v for k, v in shown(cell.values).items()},
            "seed": cell.task.seed,
            "run": entry.run,
        }
        for cell, entry in zip(grid.cells, entered, strict=True)
    ]
    return pd.DataFrame(rows)
