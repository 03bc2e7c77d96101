"""The page of finite games: the payoffs, or the equilibria, beside the charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sabm_mesa.analysis.charts import Chart, Level, lines
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.games.measures import Equilibrium, Predictions
from sabm_mesa.models.games.plots import MOST_MARKED, has_table


def charts(model: Any, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """The share or mean of each choice beside that in equilibrium, and the payoffs.

    Args:
        model: the model.
        model_data: one row a round.
        agent_data: not used.
    """
    del agent_data
    found: Predictions = model.predictions
    names = {name: each.label for name, each in found.columns.items()}
    values = sorted({value for name in names for value in found.predicted(name)})
    marked = [Level(value, f"equilibrium {value:.4g}") for value in values[:MOST_MARKED]]
    earned = [Level(value, f"equilibrium {value:.4g}") for value in found.payoffs()[:MOST_MARKED]]
    share = all(each.option for each in found.columns.values())
    low, high = (0.0, 1.0) if share else (None, None)
    unit = "Share of choices" if share else str(model.currency)
    return [
        Chart("rounds", "Choices by round", lines(model_data, names), unit, marked, low, high),
        Chart(
            "payoffs", "Mean payoff by round", lines(model_data, {"payoff": "mean payoff"}),
            str(model.currency), earned,
        ),
    ]  # fmt: skip


def theory_table(model: Any, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The payoffs of a game of two with few options; of any other game its equilibria.

    Args:
        model: the model.
        model_data: one row a round.
    """
    del model_data
    found: Predictions = model.predictions
    if not has_table(found):
        return _equilibria(found)
    rows, columns = (list(map(_words, names)) for names in found.rules.options)
    payoffs = found.form.table()
    cells = [[f"{one:g}, {two:g}" for one, two in row] for row in payoffs]
    table = pd.DataFrame(cells, columns=columns)
    table.insert(0, "Player 1 ↓ · Player 2 →", rows)
    stable = [_course(found, each) for each in found.equilibria if each.pure]
    words = "; ".join(stable) if stable else "none without lots"
    return f"{found.rules.title}: payoffs of player 1, player 2. Nash equilibria: {words}.", table


def public_columns(model: Any) -> Sequence[str]:
    """None: columns have the names of the file, and say what is in equilibrium.

    Args:
        model: the model.
    """
    del model
    return ()


def _equilibria(found: Predictions) -> tuple[str, pd.DataFrame]:
    rows = [
        (_course(found, each), ", ".join(f"{payoff:.4g}" for payoff in each.payoffs))
        for each in found.equilibria
    ]
    if found.form.auction is not None:
        bids = ", ".join(f"{bid:.4g}" for bid in found.predicted(next(iter(found.columns))))
        paid = ", ".join(f"{payoff:.4g}" for payoff in found.payoffs())
        rows = [(f"mean bid {bids} (risk-neutral)", f"{paid} on average")]
    what = "Nash equilibria" if found.form.together else "subgame-perfect courses"
    return f"{found.rules.title}: {what}", pd.DataFrame(rows, columns=["Choices", "Payoffs"])


def _course(found: Predictions, equilibrium: Equilibrium) -> str:
    said = []
    for k, choice in enumerate(equilibrium.choices):
        parts = [
            _words(str(found.rules.name_of(k, value))) + (f" {100 * p:.3g} %" if p < 1 else "")
            for value, p in choice.items()
        ]
        said += [" / ".join(parts)] if parts else []
    return ", ".join(said)


def _words(name: str) -> str:
    return name.replace("_", " ").removesuffix(".0")


PAGE = ScenarioPage(
    titles={
        "share_{}": "Share of {}",
        "mean_{}": "Mean of {}",
        "efficiency": "Efficiency (0 to 1)",
        "equilibrium": "Share in equilibrium",
        "absent": "Groups without a game",
        "value": "Private value",
    },
    card_run={"n_players": 24, "matching": "stranger", "n_rounds": 10},
    card_chart="table",
    charts=charts,
    public_columns=public_columns,
    table=theory_table,
)
