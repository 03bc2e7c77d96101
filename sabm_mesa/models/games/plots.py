"""Plots of finite games, with theoretical predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round, require_rows
from sabm_mesa.analysis.plot_style import interval_band
from sabm_mesa.models.games.measures import ChoiceColumn, Predictions
from sabm_mesa.models.games.theory import dominant_option

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
COLOURS = (
    style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE,
)  # fmt: skip
MOST_LINES = len(COLOURS)
MOST_CELLS = 6
"""Maximum number of options per player for a payoff table."""
MOST_MARKED = 4
"""Maximum number of marked equilibria in a distribution."""
PAIR = 2
BEST = "*"
"""Mark of a payoff that is a best response to the other's choice."""


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str,
    predictions: Predictions,
    currency: str = "points",
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: one row per run and round.
        agent_data: one row per run, round and agent.
        subtitle: the minds and the condition.
        predictions: theoretical predictions and results of people for the game.
        currency: the name of the currency.

    Returns:
        ``table`` (two players with few options each), ``choices``, ``rounds`` and ``payoffs``.
    """
    require_rows(model_data, ["run", "round", "payoff", *predictions.columns])
    require_rows(agent_data, ["run", "round", "role", "group", "choice", "payoff"])
    subtitle = f"{predictions.rules.title} · {subtitle}" if subtitle else predictions.rules.title
    drawn: dict[str, Figure] = {}
    if has_table(predictions):
        drawn["table"] = payoff_table(agent_data, subtitle, predictions)
    drawn["choices"] = distribution(agent_data, subtitle, predictions)
    drawn["rounds"] = by_round(model_data, subtitle, predictions)
    drawn["payoffs"] = payoffs_by_round(model_data, subtitle, predictions, currency)
    return drawn


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
        "Payoffs and how often they came", style.with_runs(subtitle, agent_data),
        height=1.5 + 0.62 * len(rows),
    )  # fmt: skip
    ax = figure.add_subplot()
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=2, aspect="auto")
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
    if pure:
        figure.legend(
            *style.legend_entries(ax), loc="outside upper right", fontsize=style.NOTE, frameon=False
        )
    return figure


def distribution(agent_data: pd.DataFrame, subtitle: str, predictions: Predictions) -> Figure:
    """The distribution of choices over all rounds, with equilibria and results of people."""
    parts = _panels(predictions)
    figure = style.new_figure(
        "Choices over all rounds", style.with_runs(subtitle, agent_data), height=3.3
    )
    panels = figure.subplots(1, len(parts), squeeze=False, sharey=True)[0]
    for ax, part in zip(panels, parts, strict=True):
        _draw_distribution(ax, agent_data, predictions, part)
    panels[0].set_ylabel("Share of choices", fontsize=style.LABEL)
    style.legend_below(figure, *panels)
    return figure


def by_round(model_data: pd.DataFrame, subtitle: str, predictions: Predictions) -> Figure:
    """Shares of options, or mean amounts, by round."""
    shares = [name for name, column in predictions.columns.items() if column.option]
    amounts = [name for name, column in predictions.columns.items() if not column.option]
    for panel in _panels(predictions):
        if panel[0].option and len(panel) == PAIR:
            shares.remove(panel[1].name)  # the complement of the other share
    parts = [part[:MOST_LINES] for part in (shares, amounts) if part]
    figure = style.new_figure(
        "Choices by round", style.with_runs(subtitle, model_data), height=1.1 + 2.3 * len(parts)
    )
    panels = figure.subplots(len(parts), 1, squeeze=False, sharex=True)[:, 0]
    for ax, part in zip(panels, parts, strict=True):
        _draw_rounds(ax, model_data, part, predictions)
        title = "Share of choices" if predictions.columns[part[0]].option else "Mean amount"
        style.plain_axes(ax, "Round" if ax is panels[-1] else "", title)
        if part[0] in shares:
            ax.set_ylim(-0.03, 1.03)
    style.legend_below(figure, *panels)
    style.round_ticks(panels[-1].xaxis, sorted(set(model_data["round"])))
    return figure


def payoffs_by_round(
    model_data: pd.DataFrame, subtitle: str, predictions: Predictions, currency: str
) -> Figure:
    """Mean payoff by round, with the payoffs of equilibria and the largest and smallest payoff."""
    figure = style.new_figure(
        "Mean payoff by round", style.with_runs(subtitle, model_data), height=3.2
    )
    ax = figure.add_subplot()
    _line(ax, model_data, "payoff", style.BLUE, "mean payoff")
    means = predictions.payoffs()
    for i, mean in enumerate(means[:MOST_MARKED]):
        ax.axhline(mean, color=style.VERMILLION, linestyle=":", linewidth=1.4,
                   label="equilibrium" if i == 0 else "_nolegend_")  # fmt: skip
    if predictions.largest > predictions.least:
        for value, words in ((predictions.largest, "largest"), (predictions.least, "smallest")):
            if value not in means:
                ax.axhline(value, color=style.GREY, linestyle="--", linewidth=0.9,
                           label=f"{words} mean of the game")  # fmt: skip
    style.plain_axes(ax, "Round", f"Payoff ({currency})")
    style.round_ticks(ax.xaxis, sorted(set(model_data["round"])))
    if model_data["payoff"].isna().all():
        style.explain_empty(ax)
    style.legend_below(figure, ax)
    return figure


def _panels(predictions: Predictions) -> list[list[ChoiceColumn]]:
    """The columns of one panel of the distribution: the columns of the same moves."""
    parts: dict[tuple[int, ...], list[ChoiceColumn]] = {}
    for column in predictions.columns.values():
        parts.setdefault(column.moves, []).append(column)
    return list(parts.values())[:3]


def _draw_distribution(
    ax: Axes, agent_data: pd.DataFrame, predictions: Predictions, part: list[ChoiceColumn]
) -> None:
    chosen = _chosen(agent_data, predictions, part[0])
    if part[0].option:
        names = [column.option for column in part]
        places = np.arange(len(names), dtype=float)
        counts = np.array([(chosen == name).sum() for name in names], dtype=float)
        values = [predictions.value_of(column) for column in part]
        ax.set_xticks(places, [_words(name) for name in names], fontsize=style.TICK)
        width = 0.7
    else:
        amounts = pd.to_numeric(chosen, errors="coerce").dropna()
        values = sorted({*amounts, *(o.value for o in _options(predictions, part[0].moves[0]))})
        places = np.array(values, dtype=float)
        counts = np.array([(amounts == value).sum() for value in values], dtype=float)
        width = 0.8 * float(np.diff(places).min()) if len(places) > 1 else 0.8
    total = counts.sum()
    ax.bar(places, counts / total if total else counts, width=width, color=style.SKY_BLUE,
           label="choices")  # fmt: skip
    for i, equilibrium in enumerate(predictions.equilibria[:MOST_MARKED]):
        expected = predictions.distribution(part[0], equilibrium)
        marked = [(p, expected.get(v, 0.0)) for p, v in zip(places, values, strict=True)
                  if v is not None and (part[0].option or v in expected)]  # fmt: skip
        if marked and expected:
            ax.plot(
                *zip(*marked, strict=True), linestyle="", marker="D", markersize=6,
                fillstyle="none", color=style.VERMILLION, zorder=4,
                label="equilibrium" if i == 0 else "_nolegend_",
            )  # fmt: skip
    _draw_people(ax, predictions, part, places, width)
    style.plain_axes(ax, _title(part))
    if not total:
        style.explain_empty(ax)


def _draw_people(
    ax: Axes, predictions: Predictions, part: list[ChoiceColumn], places: Floats, width: float
) -> None:
    """Draw short lines at published shares, or a line at a published mean."""
    marks: list[tuple[float, float, str]] = []
    for x, column in zip(places, part, strict=False):
        if column.option:
            marks += [(x, value, who) for value, who in predictions.people(column.name)]
    for result in predictions.distributions(part[0]):
        options = _options(predictions, part[0].moves[0])
        marks += [(o.value, p, result.of) for o, p in zip(options, result.shares, strict=True)]
    named: set[str] = set()
    for x, share, who in marks:
        ends = [x - width / 2, x + width / 2]
        ax.plot(
            ends, [share, share], color=style.BLACK, linewidth=2, zorder=5,
            label="_nolegend_" if who in named else f"people: {who}",
        )  # fmt: skip
        named.add(who)
    if not part[0].option and not marks:
        for value, who in predictions.people(part[0].name):
            ax.axvline(value, color=style.BLACK, linewidth=1.4, linestyle="--",
                       label=f"people: {who}")  # fmt: skip


def _draw_rounds(
    ax: Axes, model_data: pd.DataFrame, names: list[str], predictions: Predictions
) -> None:
    for colour, name in zip(COLOURS, names, strict=False):
        column = predictions.columns[name]
        _line(ax, model_data, name, colour, column.label.removeprefix("Share of "))
        for i, value in enumerate(predictions.predicted(name)[:MOST_MARKED]):
            label = "equilibrium" if i == 0 and colour == COLOURS[0] else "_nolegend_"
            ax.axhline(value, color=colour, linestyle=":", linewidth=1.3, label=label)
        for value, who in predictions.people(name):
            ax.axhline(value, color=colour, linestyle="--", linewidth=1.0, label=f"people: {who}")


def _line(ax: Axes, model_data: pd.DataFrame, column: str, colour: str, label: str) -> None:
    data = model_data[["run", "round"]].assign(value=model_data[column].astype(float))
    summary = mean_by_round(data, "value")
    if len(set(data["run"])) > 1 and colour == COLOURS[0]:
        interval_band(ax, summary)
    marker = "o" if len(summary) <= style.FEW else ""
    ax.plot(summary["round"], summary["mean"], color=colour, linewidth=1.8, marker=marker,
            markersize=5, label=label, zorder=4, clip_on=False)  # fmt: skip


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
        return label.removeprefix("Mean ").capitalize()
    _, comma, player = label.rpartition(", ")
    return player.capitalize() if comma else ""


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


def _words(name: str) -> str:
    return name.replace("_", " ")
