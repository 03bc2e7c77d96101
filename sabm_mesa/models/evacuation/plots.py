"""Plots of the evacuation: escapes over time, the room, its use, and routes of the path test."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round, require_rows
from sabm_mesa.models.evacuation.theory import (
    most_escaped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sabm_mesa.models.evacuation.room import Room


EXIT_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.YELLOW)
"""The colours of exits and of people with this target, in the order of the exits."""
PREFIX = "escaped_"
FASTEST = "most that walls and exits allow"
_MARKS = ("o", "s", "^")
SHOWN_ROUNDS = (1, 5, 10, 20, 30, 40)
"""Numbers of played rounds for snapshots, if people are still inside."""
_WALL, _OBSTACLE, _NO_TARGET = "#4D4D4D", "#B3B3B3", style.BLACK
_COLUMNS = ["run", "round", "agent", "x", "y", "target", "status"]


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | None = None,
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `cumulative_escapes` and `escapes_by_exit`.
        agent_data: see `snapshots` and `fastest`.
        subtitle: which minds and condition were run.
        room: the room; None infers its size and the exits that were used from the data, and
            draws no obstacles and no bound.

    Returns:
        ``escapes``, ``exits`` and ``snapshots``.
    """
    names = [name.removeprefix(PREFIX) for name in _exit_columns(model_data)]
    plan = FloorPlan.of(room, agent_data, names)
    return {
        "escapes": cumulative_escapes(model_data, subtitle, room=room, agent_data=agent_data),
        "exits": escapes_by_exit(model_data, subtitle),
        "snapshots": snapshots(agent_data, subtitle, room=plan),
    }


@cache
def published() -> MappingProxyType[str, Any]:
    """Table 2 of Wu et al. 2024: rounds, and the mean number escaped by condition."""
    text = files(__package__).joinpath("table2.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def cumulative_escapes(
    model_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | None = None,
    agent_data: pd.DataFrame | None = None,
) -> Figure:
    """People escaped by round, with the fastest evacuation and the published rows."""
    played = _by_rounds_played(model_data, ["escaped", "inside"])
    n_people = int(played["escaped"].iloc[-1] + played["inside"].iloc[-1])
    n_runs = played["run"].nunique()
    summary = mean_by_round(played, "escaped")
    figure = style.new_figure(
        "People who have escaped", style.with_runs(subtitle, model_data), height=3.9
    )
    ax = figure.add_subplot()
    x = summary["round"].to_numpy()
    last = int(x.max())
    if n_people == published()["n_people"] and (room is None or room.is_published):
        _published_rows(ax)
        last = max(last, *published()["rounds"])
    if room is not None and agent_data is not None:
        bound = fastest(agent_data, room, int(x.max()))
        (line,) = ax.plot(x, bound, color=style.GREY, linewidth=1.2, label=FASTEST, zorder=3)
        line.set_linestyle((0, (4, 2)))
    if n_runs > 1:
        band = "95 % interval of the mean"
        ax.fill_between(
            x, summary["low"], summary["high"],
            color=style.SKY_BLUE, alpha=0.4, linewidth=0, label=band, zorder=2,
        )  # fmt: skip
    label = "these runs, mean" if n_runs > 1 else "this run"
    ax.plot(x, summary["mean"], color=style.BLUE, linewidth=2.0, label=label, zorder=4)
    _time_axes(ax, last, n_people, f"People, of {n_people}")
    style.add_legend(ax, loc="lower right")
    return figure


def escapes_by_exit(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """People escaped by exit: the mean of the runs, and each run as a thin line."""
    exits = _exit_columns(model_data)
    played = _by_rounds_played(model_data, ["escaped", "inside", *exits])
    n_runs = played["run"].nunique()
    figure = style.new_figure(
        "People who have escaped, by exit", style.with_runs(subtitle, model_data), height=3.6
    )
    ax = figure.add_subplot()
    means = played.groupby("round")[exits].mean()
    for i, name in enumerate(exits):
        colour = EXIT_COLOURS[i % len(EXIT_COLOURS)]
        if n_runs > 1:
            for _, run in played.groupby("run"):
                ax.plot(run["round"], run[name], color=colour, linewidth=0.6, alpha=0.45)
        label = f"{name.removeprefix(PREFIX)} ({means[name].iloc[-1]:.1f})".replace(".0)", ")")
        ax.plot(means.index, means[name], color=colour, linewidth=2.0, label=label, zorder=3)
    top = float(played[exits].to_numpy().max())
    _time_axes(ax, int(means.index.max()), max(top, 1.0) * 1.05, "People")
    title = "exit (mean at the end)" if n_runs > 1 else "exit (at the end)"
    ax.legend(
        fontsize=style.NOTE, title=title, title_fontsize=style.NOTE, frameon=False,
        loc="upper left",
    )  # fmt: skip
    return figure


def fastest(agent_data: pd.DataFrame, room: Room, last: int) -> npt.NDArray[np.float64]:
    """The maximum number of escaped people after each number of rounds, mean of the runs.

    The data begin with the cells after the first round, so the bound applies from there on and
    equals the data before. Diagonal steps count as allowed even in a room without them, since a run
    may have been forked between the two.

    Returns:
        Shape (last + 1,), after 0, 1, … rounds.
    """
    require_rows(agent_data, ["run", "round", "status", "x", "y"])
    steps = (room if room.diagonals else replace(room, diagonals=True)).steps
    widths = [len(cells) for cells in room.exit_cells.values()]
    curves = [_of_run(run, steps, widths, last) for _, run in agent_data.groupby("run")]
    mean: npt.NDArray[np.float64] = np.mean(curves, axis=0)
    return mean


def _of_run(
    run: pd.DataFrame, steps: npt.NDArray[np.float64], widths: list[int], last: int
) -> npt.NDArray[np.float64]:
    first = run[run["round"] == run["round"].min()]
    out = first["status"] == "escaped"
    x, y = first.loc[~out, ["x", "y"]].to_numpy(dtype=np.int64).T
    played = int(first["round"].iloc[0]) + 1
    later = most_escaped(steps[:, x, y], widths, max(last - played, 0))
    curve = np.concatenate([np.zeros(played), later + float(out.sum())])
    return curve[: last + 1]


def _exit_columns(model_data: pd.DataFrame) -> list[str]:
    columns = [str(name) for name in model_data.columns if str(name).startswith(PREFIX)]
    if not columns:
        raise ValueError(f"the data frame has no column {PREFIX}…: no exit to plot")
    return columns


def _by_rounds_played(model_data: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The data by number of rounds, from 0; a run that ended keeps its last values."""
    require_rows(model_data, ["run", "round", *columns])
    if model_data.duplicated(["run", "round"]).any():
        raise ValueError("a run has more than one row for a round: select one condition first")
    last = int(model_data["round"].max()) + 1
    runs = []
    for number, run in model_data.groupby("run"):
        by_round = run.set_index(run["round"] + 1)[columns].astype(float).sort_index()
        start = pd.DataFrame({name: [0.0] for name in columns}, index=[0])
        if "inside" in columns:
            start["inside"] = by_round["escaped"].iloc[0] + by_round["inside"].iloc[0]
        whole = pd.concat([start, by_round]).reindex(range(last + 1)).ffill()
        runs.append(whole.rename_axis("round").reset_index().assign(run=number))
    return pd.concat(runs, ignore_index=True)


def _published_rows(ax: Axes) -> None:
    table = published()
    colours = (style.VERMILLION, style.GREEN, style.PURPLE)
    rows = zip(table["escaped"].items(), colours, _MARKS, strict=True)
    for (condition, escaped), colour, mark in rows:
        label = f"{table['source']}: {condition}"
        (line,) = ax.plot(table["rounds"], escaped, color=colour, label=label, zorder=3)
        line.set(linestyle="none", marker=mark, markersize=5, markerfacecolor="none")


def _time_axes(ax: Axes, last: int, top: float, label: str) -> None:
    style.plain_axes(ax, "Rounds played", label)
    style.integer_ticks(ax.xaxis)
    style.integer_ticks(ax.yaxis, most=6)
    ax.set_xlim(0, max(last, 1) * 1.02)
    ax.set_ylim(0, top * 1.04)


# The room.


@dataclass(frozen=True)
class FloorPlan:
    """The drawn parts of a room.

    Attributes:
        walls: 1 at walls, 2 at obstacles, 0 elsewhere, by (x, y).
        exits: exit → its cells.
    """

    walls: npt.NDArray[np.int64]
    exits: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(
        cls, room: Room | FloorPlan | None, agent_data: pd.DataFrame, names: Sequence[str] = ()
    ) -> FloorPlan:
        """Return the plan of a room, or the plan that follows from positions in the data."""
        if isinstance(room, FloorPlan):
            return room
        if room is not None:
            walls = room.solid.astype(np.int64)
            walls[1:-1, 1:-1] *= 2
            return cls(walls, {name: list(cells) for name, cells in room.exit_cells.items()})
        out = agent_data[(agent_data["status"] == "escaped") & agent_data["x"].notna()]
        exits = {
            str(name): [(int(x), int(y)) for x, y in sorted(set(zip(e["x"], e["y"], strict=True)))]
            for name, e in out.groupby("exit", sort=False)
        }
        named = sorted({str(name) for name in agent_data["target"].dropna()} | set(exits))
        cells = [cell for exit_cells in exits.values() for cell in exit_cells]
        height = int(max(agent_data["x"].max() + 1, *(x for x, _ in cells), 2)) + 1
        width = int(max(agent_data["y"].max() + 1, *(y for _, y in cells), 2)) + 1
        # An exit is a gap in the wall, so an exit at the largest row or column is at the wall.
        height -= any(x == height - 2 and 0 < y < width - 1 for x, y in cells)
        width -= any(y == width - 2 and 0 < x < height - 1 for x, y in cells)
        walls = np.ones((height, width), dtype=np.int64)
        walls[1:-1, 1:-1] = 0
        for cell in cells:
            walls[cell] = 0
        return cls(walls, {name: exits.get(name, []) for name in (names or named)})

    @property
    def colours(self) -> dict[str, str]:
        """Exit → colour."""
        return {n: EXIT_COLOURS[i % len(EXIT_COLOURS)] for i, n in enumerate(self.exits)}


def snapshots(
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | FloorPlan | None = None,
    rounds: Sequence[int] | None = None,
) -> Figure:
    """The room after several rounds of the first run; the colour of a person shows its target.

    People who have escaped are not drawn.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    run, number = _first_run(agent_data)
    plan = FloorPlan.of(room, agent_data)
    last = int(run["round"].max()) + 1
    shown = [r for r in (SHOWN_ROUNDS if rounds is None else rounds) if 1 <= r <= last] or [last]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    height, width = plan.walls.shape
    figure = style.new_figure(
        "People in the room",
        " · ".join(filter(None, [subtitle, f"run {number}"])),
        height=0.6 + rows * (0.5 + (style.WIDTH / columns - 0.3) * height / width),
    )
    layout = figure.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(h_pad=0.14)  # Inches: a panel that fills its place leaves no gap to the subtitle.
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, after in zip(panels, shown, strict=False):
        draw_room(ax, plan)
        now = run[run["round"] == after - 1]
        _draw_people(ax, now, plan)
        ax.set_title(_caption(now, after), loc="left", fontsize=style.TICK)
    for ax in panels[len(shown) :]:
        ax.set_axis_off()
    _target_legend(figure, plan)
    return figure


def draw_room(ax: Axes, plan: FloorPlan) -> None:
    """Draw walls, obstacles and exits, each exit in its colour."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    height, width = plan.walls.shape
    colours = ListedColormap(["white", _WALL, _OBSTACLE])
    ax.imshow(plan.walls, cmap=colours, vmin=0, vmax=2, zorder=2)
    for name, cells in plan.exits.items():
        for x, y in cells:
            gap = Rectangle((y - 0.5, x - 0.5), 1, 1, zorder=2.5, linewidth=0)
            gap.set(facecolor=plan.colours[name], edgecolor=plan.colours[name])
            gap.set(alpha=0.55)
            ax.add_patch(gap)
    ax.set_xlim(-0.5, width - 0.5)
    ax.set_ylim(height - 0.5, -0.5)
    ax.set_axis_off()


def _first_run(agent_data: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    require_rows(agent_data, _COLUMNS)
    number = agent_data["run"].min()
    return agent_data[agent_data["run"] == number], int(number)


def _draw_people(ax: Axes, now: pd.DataFrame, plan: FloorPlan) -> None:
    there = _inside(now)
    dots = ax.scatter(there["y"].astype(float), there["x"].astype(float), s=_dot(ax, plan))
    dots.set(zorder=3, facecolor=_colours(there, plan), edgecolor="white", linewidth=0.2)


def _inside(now: pd.DataFrame) -> pd.DataFrame:
    """Rows of people inside; in the round of its escape, a person has the cell of the exit."""
    return now[now["status"] != "escaped"].dropna(subset=["x", "y"])


def _dot(ax: Axes, plan: FloorPlan) -> float:
    """Area of a person in square points, so that it fills most of its cell."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    grid = ax.get_gridspec()
    columns = grid.ncols if grid is not None else 1
    cell = 72 * figure.get_figwidth() / columns / (plan.walls.shape[1] + 3)
    return float((0.75 * cell) ** 2)


def _colours(now: pd.DataFrame, plan: FloorPlan) -> list[str]:
    colours = plan.colours
    return [colours.get(str(target), _NO_TARGET) for target in now["target"]]


def _caption(now: pd.DataFrame, after: int) -> str:
    escaped = int((now["status"] == "escaped").sum())
    dead = int((now["status"] == "dead").sum())
    parts = [f"round {after}", f"{escaped} out", f"{len(now) - escaped} in"]
    if dead:
        parts[-1] = f"{dead} dead"
    return " · ".join(parts)


def _target_legend(figure: Figure, plan: FloorPlan) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=6, color=colour, label=name)
        for name, colour in plan.colours.items()
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=max(len(handles), 1), frameon=False,
        fontsize=style.NOTE, title="wants to leave by", title_fontsize=style.NOTE,
    )  # fmt: skip
