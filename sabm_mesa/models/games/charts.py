"""The charts of finite games: choices, payoffs, equilibria and results of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import COLOURS, Chart, Level, Series, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark, circles
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.games.rules import Floats
from sabm_mesa.models.games.study import ChoiceColumn, Equilibrium, Predictions
from sabm_mesa.models.games.theory import dominant_option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CELLS = 6
"""Maximum number of options per player for a payoff table."""
MOST_MARKED = 4
"""Maximum number of marked equilibria in a chart."""
MOST_PARTS = 3
"""Maximum number of charts of the distribution of choices."""
PAIR, FEW = 2, 8
"""Players of a pair; fewer than this many players have their names in the scene."""
BEST = "*"
"""Mark of a payoff that is a best response to the other's choice."""


def charts(model: Any, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """The share or mean of each choice by round and over all rounds, and the payoffs."""
    predictions: Predictions = model.predictions
    game = predictions.rules.title
    names = {name: column.label for name, column in predictions.columns.items()}
    share = all(column.option for column in predictions.columns.values())
    unit = "Share of choices" if share else f"Choice ({model.currency})"
    values = {name: predictions.predicted(name) for name in names}
    distinct = sorted({value for found in values.values() for value in found})
    marked = [Level(value, f"equilibrium {value:.4g}") for value in distinct[:MOST_MARKED]]
    marked += [
        Level(value, f"people: {who}", style.BLACK)
        for name in names
        for value, who in predictions.people(name)
    ]
    means = predictions.payoffs()
    earned = [
        Level(value, f"equilibrium {value:.4g}", style.VERMILLION) for value in means[:MOST_MARKED]
    ]
    ends = {"largest": predictions.largest, "smallest": predictions.least}
    earned += [
        Level(value, f"{words} mean {value:.4g}")
        for words, value in ends.items()
        if value not in means and predictions.largest > predictions.least
    ]
    return [
        Chart(
            "rounds", f"{game}: choices by round", lines(model_data, names), unit, marked,
            1.0 if share else None,
        ),
        Chart(
            "payoffs", f"{game}: mean payoff by round",
            lines(model_data, {"payoff": "mean payoff"}), f"Payoff ({model.currency})", earned,
        ),
        *(
            _distribution(agent_data, predictions, part, f"choices_{i}" if i > 1 else "choices")
            for i, part in enumerate(_parts(predictions), 1)
        ),
    ]  # fmt: skip


def _parts(predictions: Predictions) -> list[list[ChoiceColumn]]:
    """The columns of each chart of the distribution: the columns of the same moves."""
    parts: dict[tuple[int, ...], list[ChoiceColumn]] = {}
    for column in predictions.columns.values():
        parts.setdefault(column.moves, []).append(column)
    return list(parts.values())[:MOST_PARTS]


def _distribution(
    agent_data: pd.DataFrame, predictions: Predictions, part: list[ChoiceColumn], name: str
) -> Chart:
    """The distribution of choices over all rounds, with equilibria and results of people."""
    chosen, column = _chosen(agent_data, predictions, part[0]), part[0]
    if column.option:
        names = [one.option for one in part]
        values: list[Any] = [predictions.value_of(one) for one in part]
        counts = [float((chosen == option).sum()) for option in names]
    else:
        amounts = pd.to_numeric(chosen, errors="coerce").dropna()
        options = _options(predictions, column.moves[0])
        values = sorted({*amounts.tolist(), *(option.value for option in options)})
        names = [f"{value:g}" for value in values]
        counts = [float((amounts == value).sum()) for value in values]
    total = sum(counts) or 1.0
    bars = [(i, count / total) for i, count in enumerate(counts)] if sum(counts) else []
    series = [Series("choices", bars, "bars", style.SKY_BLUE)]
    for i, equilibrium in enumerate(predictions.equilibria[:MOST_MARKED], 1):
        expected = predictions.distribution(column, equilibrium)
        marks = [
            (place, expected.get(value, 0.0))
            for place, value in enumerate(values)
            if expected and (column.option or value in expected)
        ]
        label = "equilibrium" if len(predictions.equilibria) == 1 else f"equilibrium {i}"
        series.append(Series(label, marks, "dots", style.VERMILLION))
    for who, shares in _people(predictions, part, values).items():
        series.append(Series(f"people: {who}", shares, "dots", style.BLACK))
    return Chart(
        name, f"{predictions.rules.title}: choices over all rounds{_title(part)}",
        [one for one in series if one.points], "Share of choices", high=1.0,
        last=max(len(names) - 1, 0), x="Choice", names=[_words(one) for one in names],
    )  # fmt: skip


def _people(
    predictions: Predictions, part: list[ChoiceColumn], values: list[Any]
) -> dict[str, list[tuple[float, float]]]:
    """Published shares of the choices: description of the people → places and shares."""
    found: dict[str, list[tuple[float, float]]] = {}
    for place, column in enumerate(part if part[0].option else ()):
        for share, who in predictions.people(column.name):
            found.setdefault(who, []).append((place, share))
    for result in predictions.distributions(part[0]):
        options = _options(predictions, part[0].moves[0])
        places = [values.index(option.value) for option in options]
        found[result.of] = list(zip(places, result.shares, strict=True))
    return found


def figures(
    model: Any, _model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str
) -> dict[str, Figure]:
    """The payoffs of two players with few options, and how often they occurred."""
    if not has_table(model.predictions):
        return {}
    return {"table": payoff_table(agent_data, subtitle, model.predictions)}


def has_table(predictions: Predictions) -> bool:
    """Whether a game is drawn as a table: two players with few options each."""
    form = predictions.form
    few = all(0 < len(move.options) <= MOST_CELLS for move in form.moves)
    return form.together and form.n_players == PAIR and few


def payoff_table(agent_data: pd.DataFrame, subtitle: str, predictions: Predictions) -> Figure:
    """The payoffs of two players, with best responses; darker cells occurred more often."""
    from matplotlib.patches import Rectangle

    form, rules = predictions.form, predictions.rules
    rows, columns = (list(names) for names in rules.options)
    shares = _cells(agent_data, rows, columns)
    figure = style.new_figure(
        "Payoffs and how often they came", f"{rules.title} · {subtitle}",
        height=1.5 + 0.62 * len(rows),
    )  # fmt: skip
    ax = figure.add_subplot()
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=2.5, aspect="auto")
    payoffs = form.table()
    for i in range(len(rows)):
        for j in range(len(columns)):
            first, second = (
                f"{payoff:g}{BEST if payoff == best else ''}"
                for payoff, best in zip(
                    payoffs[i, j], (payoffs[:, j, 0].max(), payoffs[i, :, 1].max()), strict=True
                )
            )
            ax.text(j, i - 0.12, f"{first}, {second}", ha="center", va="center",
                    fontsize=style.TITLE)  # fmt: skip
            ax.text(j, i + 0.24, f"{100 * shares[i, j]:.0f} %", ha="center", va="center",
                    fontsize=style.NOTE)  # fmt: skip
    pure = [equilibrium for equilibrium in predictions.equilibria if equilibrium.pure]
    label = "Nash equilibrium"
    for equilibrium in pure:
        i, j = (
            [option.value for option in form.moves[k].options].index(next(iter(choice)))
            for k, choice in enumerate(equilibrium.choices)
        )
        ax.add_patch(
            Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, fill=False, edgecolor=style.VERMILLION,
                      linewidth=2, label=label)
        )  # fmt: skip
        label = "_nolegend_"
    ax.set_xticks(range(len(columns)), [_words(name) for name in columns], fontsize=style.LABEL)
    ax.set_yticks(range(len(rows)), [_words(name) for name in rows], fontsize=style.LABEL)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("Player 2 (second number)", fontsize=style.LABEL)
    ax.set_ylabel("Player 1 (first number)", fontsize=style.LABEL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    mixed = [equilibrium for equilibrium in predictions.equilibria if not equilibrium.pure]
    lots = [_lots(predictions, equilibrium.choices) for equilibrium in mixed[:MOST_MARKED]]
    notes = [f"{BEST} best reply", *_dominance(predictions, payoffs)]
    notes = ["; ".join(notes), *(f"Equilibrium with lots: {text}" for text in lots)]
    figure.supxlabel("\n".join(notes), fontsize=style.NOTE, color="#404040")
    style.legend_below(figure, ax, loc="outside upper right")
    return figure


def _cells(agent_data: pd.DataFrame, rows: list[str], columns: list[str]) -> Any:
    """The share of the games that ended in each cell."""
    played = agent_data[agent_data["payoff"].notna()]
    table = played.pivot_table(
        index=["run", "round", "group"], columns="role", values="choice", aggfunc="first"
    )
    counts = np.zeros((len(rows), len(columns)))
    for first, second in table.itertuples(index=False) if len(table.columns) == PAIR else []:
        counts[rows.index(first), columns.index(second)] += 1
    return counts / max(1.0, counts.sum())


def _chosen(
    agent_data: pd.DataFrame, predictions: Predictions, column: ChoiceColumn
) -> pd.Series[Any]:
    """The choices of a column's moves in all rounds."""
    form = predictions.form
    roles = {form.moves[k].player + 1 for k in column.moves}
    choices = agent_data[agent_data["role"].isin(roles)]["choice"].dropna()
    if form.together:
        return choices
    # In turns, the names of a player's moves are joined in one text.
    return choices.astype(str).str.split(" ").explode()


def _options(predictions: Predictions, move: int) -> list[Any]:
    amounts = predictions.form.moves[move].amounts
    if amounts is not None and not amounts.fixed:
        return []
    return list(predictions.form.options(move))


def _title(part: list[ChoiceColumn]) -> str:
    label = part[0].label
    if not part[0].option:
        return f": {label.removeprefix('Mean ')}"
    _, comma, player = label.rpartition(", ")
    return f": {player}" if comma else ""


def _dominance(predictions: Predictions, payoffs: Floats) -> list[str]:
    """The dominant options of both players, in words."""
    dominant = [(k, dominant_option(payoffs, k)) for k in range(PAIR)]
    return [
        f"dominant for player {k + 1}: {_words(predictions.rules.options[k][option])}"
        for k, option in dominant
        if option is not None
    ]


def _lots(predictions: Predictions, choices: Any) -> str:
    lots = []
    for k, choice in enumerate(choices):
        parts = [
            f"{_words(str(predictions.rules.name_of(k, value)))} {100 * p:.3g} %"
            for value, p in choice.items()
        ]
        lots.append(f"player {k + 1} " + ", ".join(parts))
    return "; ".join(lots)


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
                name = f"Player {member}: " if len(model.population) < FEW else ""
                labels.append((at[0], below, f"{name}{payoffs[member]:.4g}", "middle"))
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
    figures=figures,
    public_columns=public_columns,
    table=theory_table,
    heading=heading,
)
