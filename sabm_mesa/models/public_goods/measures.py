"""Measures of the public goods game: contributions, infection along a chain, resilience."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from sabm_mesa.analysis.intervals import require_columns


def run_measures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, *, chain: bool
) -> dict[str, Any]:
    """The measures of one run.

    Args:
        model_data: one row per round, with ``contribution``, ``normal_contribution`` and
            ``efficiency``.
        agent_data: see `infections`.
        chain: whether the players are a chain.

    Returns:
        Means over the rounds of those three; ``first_contribution`` and ``last_contribution`` (of
        the rounds); in a chain also ``before_K``, ``after_K`` and ``drop_K`` for each order K of
        infection.
    """
    names = ["contribution", "normal_contribution", "efficiency"]
    require_columns(model_data, names)
    measures: dict[str, Any] = {
        name: float(model_data[name].astype(float).mean()) for name in names
    }
    for which, at in (("first", 0), ("last", -1)):
        rows = model_data["contribution"]
        measures[f"{which}_contribution"] = float(rows.iloc[at]) if len(rows) else math.nan
    if chain:
        for row in infections(agent_data).itertuples():
            for name in ("before", "after", "drop"):
                measures[f"{name}_{row.order}"] = getattr(row, name)
    return measures


def infections(agent_data: pd.DataFrame) -> pd.DataFrame:
    """Contributions of the players of a chain before and after meeting the infected player.

    In a chain the last player meets player 1 in round 0, player 1 meets player 2 in round 1, and
    so on: player K is infected to the order K in round K − 1, and plays once more in round K.

    Source: Lai et al. 2024, section 4.2 (before and after meeting the infecting player).

    Args:
        agent_data: one row per run, round and agent of chains of one length, with columns ``run``,
            ``round``, ``agent`` and ``contribution`` (NaN: none, or not in a game).

    Returns:
        One row per run and order: ``run``, ``order``, ``before``, ``after`` and ``drop`` (before
        minus after; all in money, NaN where an answer could not be used). Orders whose second game
        was not played are left out.
    """
    require_columns(agent_data, ["run", "round", "agent", "contribution"])
    given = agent_data.set_index(["run", "round", "agent"])["contribution"].astype(float)
    rows = []
    for run, of_run in agent_data.groupby("run"):
        orders = min(int(of_run["agent"].max()) - 2, int(of_run["round"].max()))
        for order in range(1, orders + 1):
            before, after = (float(given[run, at, order]) for at in (order - 1, order))
            rows.append((run, order, before, after, before - after))
    return pd.DataFrame(rows, columns=["run", "order", "before", "after", "drop"])


def group_efficiency(contribution: float, endowment: float) -> float:
    """The mean contribution as a share of the endowment: 1 if all give everything.

    Args:
        contribution: the mean.
        endowment: money of each at the start, more than 0.
    """
    return contribution / endowment
