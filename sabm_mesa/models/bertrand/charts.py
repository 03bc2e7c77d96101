"""The charts of the Bertrand competition: prices, profits and the index of collusion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Level, Series, Span, lines
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.bertrand.model import BertrandCompetition

TAIL = 0.05
"""The maximum share of values beyond each end of the axis of the index."""


def public_columns(model: BertrandCompetition) -> list[str]:
    """Return the columns a human player may see: the prices, not demand or profit of others."""
    return [f"price_{number}" for number in range(1, model.n_firms + 1)]


def charts(
    model: BertrandCompetition, model_data: pd.DataFrame, _agent_data: pd.DataFrame
) -> list[Chart]:
    """Prices and profits with those of the equilibrium and of a cartel, and the index Δ."""
    model_data = model_data[model_data["round"] >= model.given_rounds]
    talk = _talk(model_data)
    by_firm = []
    for column, title, unit in (("price", "Prices", "Price"), ("profit", "Profits", "Profit")):
        names = {f"{column}_{k}": name for k, name in enumerate(model.firm_names, 1)}
        firms = lines(model_data, names, agents=range(1, model.n_firms + 1))
        marks, levels = _benchmarks(model, model_data, column)
        by_firm.append(
            Chart(f"{column}s", f"{title} by round", [*firms, *marks], unit, levels, spans=talk)
        )
    low, high, cut = _limits(model_data["collusion_index"])
    index = lines(model_data, {"collusion_index": "index Δ"})
    levels = [Level(0, "Bertrand"), Level(1, "Cartel", style.VERMILLION)]
    title = f"Collusion index by round{cut}"
    return [
        *by_firm, Chart("collusion", title, index, "Δ", levels, high, low=low, spans=talk)
    ]  # fmt: skip


def _benchmarks(
    model: BertrandCompetition, model_data: pd.DataFrame, column: str
) -> tuple[list[Series], list[Level]]:
    """The values of the equilibrium and of a cartel: levels, or lines if they change in the run."""
    marks, levels = [], []
    for name, colour in {"Bertrand": style.GREY, "Cartel": style.VERMILLION}.items():
        by_round = f"{name.lower()}_{column}"
        if len(set(model_data[by_round])) > 1:
            (line,) = lines(model_data, {by_round: name}, (colour,))
            marks.append(replace(line, dashed=True))
        else:
            levels.append(Level(getattr(model.benchmarks, by_round), name, colour))
    return marks, levels


def _talk(model_data: pd.DataFrame) -> list[Span]:
    """The rounds with talk, if talk begins or ends in the run."""
    on = model_data["communication"].astype(str) == "True"
    if on.all():
        return []
    blocks = model_data[on].groupby((on != on.shift()).cumsum())["round"]
    return [Span(float(block.min()), float(block.max()), "talk") for _, block in blocks]


def _limits(index: pd.Series[float]) -> tuple[float | None, float | None, str]:
    """Limits of the axis for nearly all values, and a text on the values beyond it."""
    values = index.dropna().to_numpy(dtype=np.float64)
    if not values.size:
        return None, None, ""
    ends = np.quantile(values, [TAIL, 1 - TAIL]).tolist()
    low, high = min(0.0, ends[0]), max(1.0, ends[1])
    margin = 0.1 * (high - low)
    beyond = [f"down to {values.min():.2g}"] if values.min() < low - margin else []
    beyond += [f"up to {values.max():.2g}"] if values.max() > high + margin else []
    if not beyond:
        return None, None, ""
    words = f" (values {' and '.join(beyond)} not shown)"
    return low - margin, high + margin, words.replace("-", "−")


PAGE = ScenarioPage(
    start={"minds": "classical:win_continue_lose_reverse", "n_rounds": "100"},
    card_run={"minds": "classical:win_continue_lose_reverse", "n_rounds": 120},
    card_chart="prices",
    titles={
        "kept": "Price kept (no answer)",
        "price_{}": "Price of {}",
        "demand_{}": "Demand for {}",
        "profit_{}": "Profit of {}",
        "spell": "Collusion so far (rounds)",
        "collusive_share": "Collusive rounds so far (share)",
        "collusion_index": "Collusion index Δ",
        "bertrand_price": "Bertrand price",
        "bertrand_profit": "Bertrand profit",
        "price_messages": "Messages on prices",
    },
    questions={
        "Both reply best to each other: where do prices end?": {
            "minds": "classical:best_response",
            "n_rounds": "40",
        },
        "One firm breaks its agreements: what happens?": {
            "minds": "classical:keeps_agreements=1,classical:cheats=1",
            "n_rounds": "100",
        },
        "Four firms instead of two: what happens?": {
            "minds": "classical:win_continue_lose_reverse",
            "n_firms": "4",
            "n_rounds": "100",
        },
    },
    charts=charts,
    public_columns=public_columns,
)
