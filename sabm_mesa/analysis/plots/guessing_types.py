"""What the plots of the guessing games share: the look of types, axes, marks and legends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis.plots import legends, style

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY_BLUE, style.YELLOW)
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of types in the order of their players; further ones begin anew."""
LONGEST_NAME = 34


def look_of(place: int) -> tuple[str, str]:
    """Colour and marker of a type.

    Args:
        place: its place in the order of the players, from 0.
    """
    return COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]


def types_of(agent_data: pd.DataFrame) -> list[str]:
    """The minds in the order of their players."""
    return [str(mind) for mind in agent_data["mind"].unique()]


def name_of(mind: str) -> str:
    """How a type is called in a legend: the spec of its mind, cut where it is long."""
    return mind if len(mind) <= LONGEST_NAME else mind[: LONGEST_NAME - 1] + "…"


def largest_pick(model_data: pd.DataFrame) -> float:
    """The largest legal pick."""
    return float(model_data["high"].iloc[0])


def rounds_axis(ax: Axes, data: pd.DataFrame, ylabel: str) -> None:
    """Label the axes, with a tick for each round, or few for many."""
    rounds = sorted(data["round"].unique().tolist())
    style.plain_axes(ax, "Round", ylabel)
    style.integer_ticks(ax.xaxis, rounds)
    ax.set_xlim(rounds[0] - 0.45, rounds[-1] + 0.45)


def level_names(levels: Mapping[int, float]) -> dict[float, str]:
    """Picks of levels and how they are named above a plot.

    Args:
        levels: the pick of each level.
    """
    return {pick: f"k={k}\n{pick:.3g}" for k, pick in levels.items()}


def mark_picks(ax: Axes, names: Mapping[float, str], *, named: bool = True) -> None:
    """Dotted lines at picks of theory and, if `named`, their names above the axes.

    Args:
        ax: axes whose x is a pick.
        names: each pick and its name.
        named: whether the names are shown.
    """
    for pick in names:
        ax.axvline(pick, color=style.GREY, linewidth=0.9, linestyle=":", zorder=0.5)
    if named:
        top = ax.secondary_xaxis("top")
        top.set_xticks(list(names), list(names.values()))
        top.tick_params(labelsize=style.NOTE, length=2, pad=1, labelcolor="#404040")
        top.spines["top"].set_visible(False)


def legend_below(figure: Figure, *axes: Axes) -> None:
    """The legend of one or several axes below them, in rows."""
    shown = [pair for ax in axes for pair in zip(*legends.entries(ax), strict=True)]
    artists = {label: artist for artist, label in reversed(shown)}
    labels = dict.fromkeys(label for _, label in shown)
    if labels:
        figure.legend(
            [artists[label] for label in labels], list(labels), loc="outside lower center",
            ncols=3, frameon=False, fontsize=style.NOTE,
        )  # fmt: skip
