"""The charts of the Keynesian beauty contest: picks, depth of reasoning and variance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Series, lines
from sabm_mesa.models.beauty_contest.charts import (
    depth_by_round,
    histogram,
    picks_by_round,
    scene_of_picks,
)
from sabm_mesa.models.beauty_contest.guessing import (
    TAU,
    cognitive_hierarchy_choices,
    poisson_frequencies,
)
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, P
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.pictures import Scene
    from sabm_mesa.models.beauty_contest.kbc.model import KeynesianBeautyContest

SHOWN = 0.01
"""The minimum share of players for drawing a step of the hierarchy."""


def charts(
    _model: KeynesianBeautyContest, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The picks by round, those of the first round, their depth and variance."""
    first = agent_data[agent_data["round"] == 0]
    return [
        picks_by_round(model_data, agent_data, float(HIGH)),
        histogram("first_picks", "Picks of the first round", first, HIGH, P, [predicted()]),
        depth_by_round(agent_data),
        Chart(
            "variance", "Variance of the picks by round",
            lines(model_data, {"variance": "variance"}), "Variance (picks squared)",
        ),
    ]  # fmt: skip


def predicted() -> Series:
    """The picks of the steps of the cognitive hierarchy, a theory of first picks.

    Each step from 1 on has the share of its players in per cent; step 0 picks uniformly.
    """
    shares = poisson_frequencies(TAU, 10)
    picks = cognitive_hierarchy_choices(TAU, 10, HIGH / 2, P)
    steps = zip(picks[1:].tolist(), (100 * shares[1:]).tolist(), strict=True)
    points = [(pick, share) for pick, share in steps if share >= 100 * SHOWN]
    label = f"cognitive hierarchy, τ = {TAU:g}"
    return Series(label, sorted(points), "dots", style.BLACK)


def scene(
    model: KeynesianBeautyContest, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The picks as a histogram."""
    return scene_of_picks(model, 100.0, people, numbers)


PAGE = ScenarioPage(
    titles={
        "mean": "Mean pick",
        "target": "Target (⅔ of the mean)",
        "variance": "Variance (picks squared)",
        "agreement": "Agreement (share of messages)",
        "payoff": "Payoff (credits)",
        "level": "Level k",
    },
    card_chart="picks",
    questions={
        "One player always picks 100: what happens?": {"minds": "classical=23,fixed:100=1"},
        "Half of the players reason by level k: who wins?": {
            "minds": "classical=12,classical:level_k=12"
        },
        "All are told to cooperate: do they agree?": {"condition": "cooperative"},
    },
    charts=charts,
    scene=scene,
)
