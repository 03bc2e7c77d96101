"""Behavioural models of contributions to a public good.

A decision is a contribution in twentieths of the endowment, rounded, as in the laboratory of
Fischbacher and Gächter 2010. The expected contribution of the others is their mean contribution in
the player's last game; before the first game, it is the first belief of these subjects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, PublishedEstimate, Row
from sabm_mesa.analysis.contributions import first_belief, type_shares
from sabm_mesa.analysis.social_behaviour import (
    INEQUITY_ESTIMATES,
    UNITS,
    InequityAversion,
    cooperation_models,
    cooperation_types,
    inequity_types,
)
from sabm_mesa.core.asks import Ask

SHARES = [f"share_{model.name}" for model in cooperation_types()]


def rows(run: PlayedRun) -> Iterator[Row]:
    """The contributions of a run."""
    endowment, multiplier = float(run.parameters["endowment"]), float(run.parameters["multiplier"])
    remembers = run.parameters.get("memory") != 0
    expected: dict[int, float] = {}
    playing = run.agents[run.agents["group"].notna()]
    for (_, _), group in playing.groupby(["round", "group"]):
        given = group["contribution"].to_numpy(dtype=np.float64) / endowment
        for row, share in zip(group.to_dict("records"), given, strict=True):
            agent = int(row["agent"])
            player = Decider(run.run, agent, str(row["mind"]), run.condition)
            units = None if math.isnan(share) else float(round(UNITS * share))
            facts = _known(expected.get(agent), len(group), multiplier)
            yield Row(player, int(row["round"]), units, facts)
        if remembers:
            for i, agent in enumerate(group["agent"]):
                others = np.delete(given, i)
                if not np.isnan(others).all():
                    expected[int(agent)] = float(np.nanmean(others))


def known(ask: Ask) -> Mapping[str, Any]:
    """The facts of a player that contributes."""
    facts = ask.facts
    means = [game["others_mean"] for game in facts.games if game["others_mean"] is not None]
    expected = means[-1] / facts.endowment if means else None
    return _known(expected, facts.n_players, facts.multiplier)


def answer(ask: Ask, units: float | None) -> object:
    """The contribution."""
    assert units is not None  # there are no other questions
    return ask.facts.endowment * units / UNITS


def _known(expected: float | None, n: int, multiplier: float) -> dict[str, Any]:
    """The expected contribution of the others, and the consequences of each contribution.

    Args:
        expected: the mean contribution of the others, as a share of the endowment.
        n: players of the group.
        multiplier: factor by which the pot grows.
    """
    others = first_belief() / UNITS if expected is None else expected
    given = np.arange(UNITS + 1) / UNITS
    paid = 1 - given + multiplier * (given + (n - 1) * others) / n
    spread = 1 + multiplier * abs(n - 2) / n
    return {
        "others": others,
        "steps": float(UNITS),
        "own": paid / spread,
        "behind": np.maximum(given - others, 0) / spread,
        "ahead": np.maximum(others - given, 0) / spread,
    }


BEHAVIOUR = Behaviour(
    what="a contribution",
    models=(
        *cooperation_models(),
        InequityAversion(),
        inequity_types(),
        InequityAversion(selfish=True),
    ),
    rows=rows,
    known=known,
    answer=answer,
    people=(
        PublishedEstimate(
            "140 students, by their schedules",
            "cooperation_types_hump",
            dict(zip(SHARES, map(float, type_shares()[[0, 1, 3, 2]]), strict=True)),
            "Fischbacher & Gächter 2010, from the raw data",
        ),
        PublishedEstimate(
            "the same 140 students, by what they gave in 10 games",
            "cooperation_types",
            {"share_conditional": 0.635, "share_free_rider": 0.323, "share_unconditional": 0.042}
            | {"intercept": 0.080, "slope": 0.608, "sigma": 0.258, "slip": 0.179, "level": 0.959},
            "estimated here from the raw data of Fischbacher & Gächter 2010, with the last "
            "contributions as beliefs, so that the slope is too low",
        ),
        *INEQUITY_ESTIMATES,
    ),
)
