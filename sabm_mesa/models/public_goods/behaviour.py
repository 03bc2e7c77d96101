"""Behavioural models of contributions to a public good: types of cooperation.

A decision is a contribution as a share of the endowment, in twentieths as in the laboratory of
Fischbacher and Gächter 2010. The expected contribution of the others is their mean contribution in
the player's last game; before the first game, it is the first belief of these subjects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, PublishedEstimate, Row
from sabm_mesa.analysis.cooperation import cooperation_facts, cooperation_models
from sabm_mesa.core.asks import Ask

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


BEHAVIOUR = Behaviour(
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
