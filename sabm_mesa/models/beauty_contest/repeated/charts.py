"""The charts of the repeated beauty contest: picks, depth, convergence and payoffs by type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import COLOURS, Chart, Level, Series
from sabm_mesa.models.beauty_contest.charts import (
    depth_by_round,
    histogram,
    picks_by_round,
    scene_of_picks,
)
from sabm_mesa.models.beauty_contest.repeated.study import by_type, is_fixed
from sabm_mesa.models.beauty_contest.repeated.theory import first_period_shares, session_means
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.pictures import Scene
    from sabm_mesa.models.beauty_contest.repeated.model import RepeatedBeautyContest

MOST_TYPES = 6
"""Maximum number of types of minds with a chart of their depth each."""


def charts(
    model: RepeatedBeautyContest, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The picks, those of the first round, their depth by type, the convergence, and payoffs."""
    high, p = float(model.high), float(model.p)
    typed = by_type(agent_data) if len(agent_data) else agent_data
    ratio, payoff = _by_type(typed, "ratio"), _by_type(typed, "payoff")
    reasoning = [line for line in ratio if not is_fixed(line.label)]
    moving = agent_data[~agent_data["mind"].map(is_fixed).astype(bool)]
    drawn = [picks_by_round(model_data, agent_data, high, _people(model, model_data, agent_data))]
    if p < 1:
        first = moving[moving["round"] == 0]
        people = _first_people() if math.isclose(p, 2 / 3) else []
        drawn.append(histogram("first_picks", "Picks of the first round", first, high, p, people))
    drawn += _depth(moving)
    levels = [Level(p, f"p = {p:.3g}")]
    if (share := _moving_share(agent_data)) < 1:
        expected = f"expected against fixed players: {p * share:.3f}"
        levels.append(Level(p * share, expected, style.VERMILLION))
    return [
        *drawn,
        Chart("convergence", "Mean pick over the last one by round", reasoning, "Ratio", levels),
        Chart("payoffs", "Mean payoff of a player of each type by round", payoff, "Points"),
    ]


def _people(
    model: RepeatedBeautyContest, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[float]:
    """The mean picks of Nagel's sessions with the same p; only without fixed players."""
    means = session_means(float(model.p))
    if means is None or agent_data["mind"].map(is_fixed).any():
        return []
    path: list[float] = (means.mean(axis=0)[: len(model_data)] * float(model.high) / 100).tolist()
    return path


def _first_people() -> list[Series]:
    """The distribution of first picks of Nagel's subjects, as shares of one per cent each."""
    intervals, shares = first_period_shares()
    ends = [*intervals[:, 0].tolist(), 100.0]
    steps = zip(ends, ends[1:], (100 * shares / np.diff(ends)).tolist(), strict=False)
    points = [(end, share) for low, high, share in steps for end in (low, high - 1)]
    return [Series("people (Nagel 1995)", points, colour=style.GREY, dashed=True)]


def _depth(moving: pd.DataFrame) -> list[Chart]:
    """A chart of the depth of reasoning of each type with picks that have one."""
    if not len(moving):
        return [depth_by_round(moving)]
    leveled = moving.groupby("mind", sort=False)["level"].count()
    minds = [str(mind) for mind, n in leveled.items() if n][:MOST_TYPES]
    return [
        replace(
            depth_by_round(moving[moving["mind"] == mind], mind if len(minds) > 1 else ""),
            name=f"depth_{i}" if i > 1 else "depth",
        )
        for i, mind in enumerate(minds, 1)
    ]


def _moving_share(agent_data: pd.DataFrame) -> float:
    """The share of players without a fixed strategy; 1 if fixed players do not pick 0."""
    fixed = agent_data["mind"].map(is_fixed).astype(bool)
    zeros = (agent_data.loc[fixed, "choice"] == 0).all()
    return float(1 - fixed.mean()) if zeros and fixed.any() else 1.0


def _by_type(typed: pd.DataFrame, column: str) -> list[Series]:
    groups = typed.groupby("mind", sort=False) if len(typed) else ()
    return [
        Series(
            str(mind), list(zip(rows["round"].tolist(), rows[column].tolist(), strict=True)),
            colour=COLOURS[i % len(COLOURS)],
        )
        for i, (mind, rows) in enumerate(groups)
    ]  # fmt: skip


def scene(
    model: RepeatedBeautyContest, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The picks as a histogram."""
    return scene_of_picks(model, float(model.high), people, numbers)


PAGE = ScenarioPage(
    titles={
        "mean": "Mean pick",
        "target": "Target (p × mean)",
        "variance": "Variance (picks squared)",
        "median": "Median pick",
        "ratio": "Mean pick over the last one",
        "high": "Largest legal pick",
        "p": "p (factor of the target)",
        "payoff": "Payoff (points)",
        "level": "Level k",
    },
    card_chart="picks",
    questions={
        "One player always picks 100: what happens?": {"minds": "classical=9,fixed:100=1"},
        "All reply best to the last mean: how fast do picks fall?": {
            "minds": "classical:best_reply"
        },
        "The target is 1.3 times the mean: where do picks go?": {"p": "1.3"},
    },
    charts=charts,
    scene=scene,
)
