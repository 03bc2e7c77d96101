"""The page of finite games: charts, the groups, and a table of the payoffs or the equilibria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sabm_mesa.analysis.charts import COLOURS, Chart, Level, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark, circles
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


def scene(model: Any, people: pd.DataFrame | None, numbers: Mapping[str, Any]) -> Scene:
    """The groups with the choice of each player as its colour, and its payoff."""
    if people is None:
        ids, size = [player.unique_id for player in model.population], model.rules.form.n_players
        groups = [ids[at : at + size] for at in range(0, len(ids), size)]
        chosen, payoffs = {}, {}
    else:
        groups = [rows["agent"].tolist() for _, rows in people.groupby("group")]
        chosen = dict(zip(people["agent"], people["choice"], strict=True))
        payoffs = dict(zip(people["agent"], people["payoff"], strict=True))
    places, centres, extent = circles(groups)
    names = list(dict.fromkeys(name for options in model.rules.options for name in options))
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    marks, labels = [], []
    for members, (_, y) in zip(groups, centres, strict=True):
        for member in members:
            at, choice = places[member], chosen.get(member)
            amount = isinstance(choice, int | float) and not pd.isna(choice)
            own = COLOURS[0] if amount else colours.get(str(choice), "#8C8C8C")
            text = f"{choice:.3g}" if amount else ""
            marks.append(SceneMark(member, *at, own, "o", 0.5, text, f"Player {member}"))
            if not pd.isna(payoffs.get(member)):
                below = at[1] + (0.4 if at[1] >= y else -0.4)
                labels.append((at[0], below, f"{payoffs[member]:.4g}", "middle"))
    ties = [
        (*places[one], *places[other], 1.0)
        for members in groups
        for one, other in zip(members, members[1:] + members[:1], strict=True)
    ]
    return Scene(
        "groups", f"Choices and payoffs ({model.currency})", extent, tuple(marks),
        ties=tuple(ties), labels=tuple(labels),
        legend=tuple((_words(name), colour, "o") for name, colour in colours.items()),
        words=f"mean payoff {numbers['payoff']:.4g}" if numbers else "nobody has chosen yet",
    )  # fmt: skip


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
    questions={
        "Both play tit for tat: do they cooperate?": {"minds": "classical:tit_for_tat"},
        "Tit for tat meets a best replier: who earns more?": {
            "minds": "classical:tit_for_tat=1,classical=1"
        },
        "Rock, paper, scissors with 24 strangers: what happens?": {
            "game": "rock_paper_scissors",
            "n_players": "24",
            "matching": "stranger",
            "n_rounds": "10",
            "minds": "classical:fictitious_play",
        },
    },
    charts=charts,
    scene=scene,
    public_scene=False,
    public_columns=public_columns,
    table=theory_table,
    heading=heading,
)
