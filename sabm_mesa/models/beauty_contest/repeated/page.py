"""The page of the repeated beauty contest: its charts, and the titles of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import COLOURS, Chart, Level, Series, dots, lines
from sabm_mesa.models.beauty_contest.histogram import histogram
from sabm_mesa.models.beauty_contest.repeated.measures import by_type, is_fixed
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.pictures import Scene
    from sabm_mesa.models.beauty_contest.repeated.model import RepeatedBeautyContest


def charts(
    model: RepeatedBeautyContest, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The picks by type with their mean and the target, the convergence, and the payoffs."""
    means = lines(model_data, {"mean": "mean", "target": "target"}, ("#000000", style.VERMILLION))
    typed = by_type(agent_data) if len(agent_data) else agent_data
    ratio, payoff = _by_type(typed, "ratio"), _by_type(typed, "payoff")
    moving = [line for line in ratio if not is_fixed(line.label)]
    p = Level(model.p, f"p = {model.p:.3g}")
    picks = [*dots(agent_data, "choice", "players"), *means]
    return [
        Chart("picks", "Picks by round", picks, "Pick", high=float(model.high)),
        Chart("convergence", "Mean pick over the last one by round", moving, "Ratio", (p,)),
        Chart("payoffs", "Mean payoff of a player of each type by round", payoff, "Points"),
    ]


def scene(
    model: RepeatedBeautyContest, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The picks as a histogram."""
    return histogram(model, float(model.high), people, numbers)


def _by_type(typed: pd.DataFrame, column: str) -> list[Series]:
    groups = typed.groupby("mind", sort=False) if len(typed) else ()
    return [
        Series(
            str(mind), list(zip(rows["round"].tolist(), rows[column].tolist(), strict=True)),
            colour=COLOURS[i % len(COLOURS)],
        )
        for i, (mind, rows) in enumerate(groups)
    ]  # fmt: skip


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
    questions={
        "One player always picks 100: what happens?": {"minds": "classical=9,fixed:100=1"},
        "All reply best to the last mean: how fast do picks fall?": {
            "minds": "classical:best_reply"
        },
        "The target is 1.3 times the mean: where do picks go?": {"p": "1.3"},
    },
    card_chart="picks",
    charts=charts,
    scene=scene,
)
