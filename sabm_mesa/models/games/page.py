"""The page of finite games: charts, and a table of the payoffs or the equilibria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sabm_mesa.analysis.charts import Chart, Level, lines
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.games.measures import Equilibrium, Predictions
from sabm_mesa.models.games.plots import MOST_MARKED, has_table


def charts(model: Any, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """The share or mean of each choice, with its value in equilibrium, and the payoffs."""
    del agent_data
    predictions: Predictions = model.predictions
    names = {name: column.label for name, column in predictions.columns.items()}
    values = sorted({value for name in names for value in predictions.predicted(name)})
    marked = [Level(value, f"equilibrium {value:.4g}") for value in values[:MOST_MARKED]]
    earned = [
        Level(value, f"equilibrium {value:.4g}") for value in predictions.payoffs()[:MOST_MARKED]
    ]
    share = all(column.option for column in predictions.columns.values())
    high = 1.0 if share else None
    unit = "Share of choices" if share else f"Choice ({model.currency})"
    return [
        Chart("rounds", "Choices by round", lines(model_data, names), unit, marked, high),
        Chart(
            "payoffs", "Mean payoff by round", lines(model_data, {"payoff": "mean payoff"}),
            f"Payoff ({model.currency})", earned,
        ),
    ]  # fmt: skip


def theory_table(model: Any, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The payoffs of a two-player game with few options, or the equilibria of any other game."""
    del model_data
    predictions: Predictions = model.predictions
    if not has_table(predictions):
        return _equilibria(predictions)
    rows, columns = (list(map(_words, names)) for names in predictions.rules.options)
    payoffs = predictions.form.table()
    cells = [[f"{one:g}, {two:g}" for one, two in row] for row in payoffs]
    table = pd.DataFrame(cells, columns=columns)
    table.insert(0, "Player 1 ↓ · Player 2 →", rows)
    stable = [
        _course(predictions, equilibrium)
        for equilibrium in predictions.equilibria
        if equilibrium.pure
    ]
    words = "; ".join(stable) if stable else "none without lots"
    return (
        f"{predictions.rules.title}: payoffs of player 1, player 2. Nash equilibria: {words}.",
        table,
    )


def heading(model: Any) -> str:
    """The name of the game."""
    return f"{model.title}: {model.rules.title}"


def public_columns(model: Any) -> Sequence[str]:
    """None: the columns reveal the names in the file and the equilibrium."""
    del model
    return ()


def _equilibria(predictions: Predictions) -> tuple[str, pd.DataFrame]:
    rows = [
        (
            _course(predictions, equilibrium),
            ", ".join(f"{payoff:.4g}" for payoff in equilibrium.payoffs),
        )
        for equilibrium in predictions.equilibria
    ]
    what = "Nash equilibria" if predictions.form.together else "subgame-perfect courses"
    return f"{predictions.rules.title}: {what}", pd.DataFrame(rows, columns=["Choices", "Payoffs"])


def _course(predictions: Predictions, equilibrium: Equilibrium) -> str:
    moves = []
    for k, choice in enumerate(equilibrium.choices):
        parts = [
            _words(str(predictions.rules.name_of(k, value)))
            + (f" {100 * p:.3g} %" if p < 1 else "")
            for value, p in choice.items()
        ]
        moves += [" / ".join(parts)] if parts else []
    return ", ".join(moves)


def _words(name: str) -> str:
    return name.replace("_", " ").removesuffix(".0")


PAGE = ScenarioPage(
    titles={
        "share_{}": "Share of {}",
        "mean_{}": "Mean of {}",
        "efficiency": "Efficiency (0 to 1)",
        "equilibrium": "Share in equilibrium",
        "absent": "Groups without a game",
    },
    card_run={
        "game": "rock_paper_scissors",
        "n_players": 24,
        "matching": "stranger",
        "n_rounds": 10,
    },
    charts=charts,
    public_columns=public_columns,
    table=theory_table,
    heading=heading,
)
