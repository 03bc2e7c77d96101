"""Measures of the public goods game and types of cooperation.

A decision of the behavioural models is a contribution as a share of the endowment, in twentieths as
in the laboratory of Fischbacher and Gächter 2010. The expected contribution of the others is their
mean contribution in the last game of the player; before the first game, it is the first belief of
these subjects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, PublishedEstimate, Row
from sabm_mesa.analysis.cooperation import cooperation_facts, cooperation_models
from sabm_mesa.analysis.intervals import require_columns
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import Study
from sabm_mesa.models.pairs.party import builds_on_party


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


UNITS = 20
"""Number of steps from nothing to the endowment."""


def rows(run: PlayedRun) -> Iterator[Row]:
    """The contributions of a run."""
    endowment = float(run.parameters["endowment"])
    remembers = run.parameters.get("memory") != 0
    means: dict[int, float] = {}
    playing = run.agents[run.agents["group"].notna()]
    for (_, _), group in playing.groupby(["round", "group"]):
        given = group["contribution"].to_numpy(dtype=np.float64)
        for row, amount in zip(group.to_dict("records"), given, strict=True):
            agent = int(row["agent"])
            player = Decider(run.run, agent, str(row["mind"]), run.condition)
            share = None if math.isnan(amount) else round(UNITS * amount / endowment) / UNITS
            yield Row(player, int(row["round"]), share, _known(means.get(agent), endowment))
        if remembers:
            for i, agent in enumerate(group["agent"]):
                others = np.delete(given, i)
                if not np.isnan(others).all():
                    means[int(agent)] = float(np.nanmean(others))


def known(ask: Ask) -> Mapping[str, Any]:
    """The facts of a player that contributes."""
    facts = ask.facts
    means = [game["others_mean"] for game in facts.games if game["others_mean"] is not None]
    return _known(means[-1] if means else None, facts.endowment)


def answer(ask: Ask, share: float | None) -> object:
    """The contribution."""
    assert share is not None  # there are no other questions
    return ask.facts.endowment * share


def _known(others_mean: float | None, endowment: float) -> dict[str, float]:
    others = [] if others_mean is None else [others_mean / endowment]
    return cooperation_facts(others, UNITS)


_BEHAVIOUR = Behaviour(
    what="a contribution",
    models=cooperation_models(),
    rows=rows,
    known=known,
    answer=answer,
    people=(
        PublishedEstimate(
            "140 students, by what they gave in 10 games",
            "cooperation_types",
            {"share_conditional": 0.635, "share_free_rider": 0.323, "share_unconditional": 0.042}
            | {"intercept": 0.080, "slope": 0.608, "sigma": 0.258, "slip": 0.179, "level": 0.959},
            "estimated here from the raw data of Fischbacher & Gächter 2010, with the last "
            "contributions as beliefs, so that the slope is too low",
        ),
    ),
)


STUDY = Study(
    column_bounds={"zero_share": (0.0, 1.0)},
    builds_on=builds_on_party("cocktail-party"),
    behaviour=_BEHAVIOUR,
)
