"""The page of the Keynesian beauty contest: its charts, and the titles of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Series, dots, lines
from sabm_mesa.models.beauty_contest.histogram import histogram
from sabm_mesa.models.beauty_contest.kbc.plots import LEVEL_COLOURS, LEVELS, NAMES
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.pictures import Scene
    from sabm_mesa.models.beauty_contest.kbc.model import KeynesianBeautyContest


def charts(
    model: KeynesianBeautyContest, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The picks with their mean and the target, the depth of reasoning, and the variance."""
    means = lines(model_data, {"mean": "mean", "target": "target"}, ("#000000", style.VERMILLION))
    players = float(model.n_players)
    picks = [*dots(agent_data, "choice", "players"), *means]
    return [
        Chart("picks", "Picks by round", picks, "Pick", high=100),
        Chart("depth", "Depth of reasoning by round", _depth(agent_data), "Players", high=players),
        Chart(
            "variance", "Variance of the picks by round",
            lines(model_data, {"variance": "variance"}), "Variance (picks squared)",
        ),
    ]  # fmt: skip


def scene(
    model: KeynesianBeautyContest, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The picks as a histogram."""
    return histogram(model, 100.0, people, numbers)


def _depth(agent_data: pd.DataFrame) -> list[Series]:
    """The number of players of each class by round, the deepest at the bottom."""
    series = []
    for level, name, colour in zip(LEVELS, NAMES, LEVEL_COLOURS, strict=False):
        rows = agent_data[agent_data["level"] == level]
        counts = rows.groupby("round").size() if len(agent_data) else rows["round"]
        rounds = agent_data["round"].unique().tolist()
        points = [(number, float(counts.get(number, 0))) for number in rounds]
        series.append(Series(name.replace("\n", " "), points, "bars", colour))
    return series


PAGE = ScenarioPage(
    titles={
        "mean": "Mean pick",
        "target": "Target (⅔ of the mean)",
        "variance": "Variance (picks squared)",
        "agreement": "Agreement (share of messages)",
        "payoff": "Payoff (credits)",
        "level": "Level k",
    },
    questions={
        "One player always picks 100: what happens?": {"minds": "classical=23,fixed:100=1"},
        "Half of the players reason by level k: who wins?": {
            "minds": "classical=12,classical:level_k=12"
        },
        "All are told to cooperate: do they agree?": {"condition": "cooperative"},
    },
    card_chart="picks",
    charts=charts,
    scene=scene,
)
