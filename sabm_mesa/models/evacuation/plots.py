"""Plots of the evacuation: escapes over time, the room, its use, and routes of the path test."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.statistics import bootstrap_mean_by_round, require_rows
from sabm_mesa.models.evacuation.theory import (
    Cell,
    Route,
    Walk,
    from_words,
    most_escaped,
    shortest_routes,
    walk,
)

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.artist import Artist
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
ROUTES = (style.BLUE, style.VERMILLION, style.PURPLE, style.BLACK)
"""The colours of the routes of a walker, the most frequent first; further routes are not drawn."""
_SHORTEST: dict[str, Any] = {"color": style.GREEN, "linestyle": (0, (1.6, 0.9)), "linewidth": 4.5}
_NAMED: dict[str, Any] = {"linewidth": 1.6, "marker": "o", "markersize": 3.5}
_ROUTE_COLUMNS = ["start", "route"]
_APART = 0.14
"""Offset in cells between overlapping routes."""
_LINE = 0.19
"""Height of a line of the legend in inches."""


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
        agent_data: see `snapshots`, `occupancy` and `fastest`.
        subtitle: which minds and condition were run.
        room: the room; None infers its size and the exits that were used from the data, and
            draws no obstacles and no bound.

    Returns:
        ``escapes``, ``exits``, ``snapshots`` and ``occupancy``.
    """
    names = [name.removeprefix(PREFIX) for name in _exit_columns(model_data)]
    plan = FloorPlan.of(room, agent_data, names)
    return {
        "escapes": cumulative_escapes(model_data, subtitle, room=room, agent_data=agent_data),
        "exits": escapes_by_exit(model_data, subtitle),
        "snapshots": snapshots(agent_data, subtitle, room=plan),
        "occupancy": occupancy(agent_data, subtitle, room=plan),
    }


def animation(
    _model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | None = None,
) -> FuncAnimation:
    """The first run as an animation: see `animate`.

    Args:
        agent_data: see `snapshots`.
        subtitle: which minds and condition were run.
        room: the room, as for `figures`.
    """
    return animate(agent_data, subtitle, room=room)


# Escapes over time.


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
    rng: np.random.Generator | int = 0,
) -> Figure:
    """People escaped by round, with the fastest evacuation and the published rows.

    Args:
        model_data: one row per run and round, with columns ``run``, ``round``, ``escaped`` and
            ``inside``; a run that ended early stays at its last value.
        subtitle: which minds and condition were run; the number of runs is added.
        room: the room. The published rows are drawn for the published number of people, in the
            published room or an unknown one (None).
        agent_data: with it and a room, `fastest`, the upper bound of all runs, is drawn.
        rng: generator or seed of the bootstrap.

    Raises:
        ValueError: if a column is missing, there are no rows, or a run has two rows for a round.
    """
    played = _by_rounds_played(model_data, ["escaped", "inside"])
    n_people = int(played["escaped"].iloc[-1] + played["inside"].iloc[-1])
    n_runs = played["run"].nunique()
    summary = bootstrap_mean_by_round(played, "escaped", rng=rng)
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
    """People escaped by exit: the mean of the runs, and each run as a thin line.

    Args:
        model_data: one row per run and round, with columns ``run``, ``round``, ``inside``,
            ``escaped`` and one ``escaped_NAME`` an exit.
        subtitle: which minds and condition were run; the number of runs is added.

    Raises:
        ValueError: if a column is missing, there are no rows, or a run has two rows for a round.
    """
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

    Args:
        agent_data: one row per run, round and person, with columns ``run``, ``round``, ``status``,
            ``x`` and ``y``.
        room: the room.
        last: the last number of rounds.

    Returns:
        Shape (last + 1,), after 0, 1, … rounds.

    Raises:
        ValueError: if a column is missing or there are no rows.
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


# The room: snapshots, use, animation.


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
        """Return the plan of a room, or the plan that follows from positions in the data.

        Args:
            room: the room, or its plan; None infers it from the data.
            agent_data: see `snapshots`.
            names: the exits in their order, if known.
        """
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

    Args:
        agent_data: one row per run, round and agent, with columns ``x`` and ``y`` (NaN: escaped
            before), ``target``, ``status`` and ``exit``.
        subtitle: which minds and condition were run; the number of the run is added.
        room: the room; None infers its size and exits from the data, without obstacles.
        rounds: the numbers of played rounds; None: some rounds with people inside.

    Raises:
        ValueError: if a column is missing or there are no rows.
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


def occupancy(
    agent_data: pd.DataFrame, subtitle: str = "", *, room: Room | FloorPlan | None = None
) -> Figure:
    """Number of rounds at whose end each cell was occupied, mean over the runs.

    Args:
        agent_data: see `snapshots`.
        subtitle: which minds and condition were run; the number of runs is added.
        room: the room; None infers its size and exits from the data, without obstacles.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    from matplotlib.colors import PowerNorm

    _first_run(agent_data)
    plan = FloorPlan.of(room, agent_data)
    height, width = plan.walls.shape
    there = agent_data.dropna(subset=["x", "y"])
    n_runs = agent_data["run"].nunique()
    counts = np.zeros((height, width))
    np.add.at(counts, (there["x"].astype(int).to_numpy(), there["y"].astype(int).to_numpy()), 1)
    figure = style.new_figure(
        "Use of the room",
        style.with_runs(subtitle, agent_data),
        height=1.1 + (style.WIDTH - 2.0) * height / width,
    )
    ax = figure.add_subplot()
    shown = np.ma.masked_where(plan.walls > 0, counts / n_runs)
    # The square-root scale makes rarely used routes visible beside the queues.
    scale = PowerNorm(0.5, vmin=0, vmax=max(float(counts.max()) / n_runs, 1.0))
    image = ax.imshow(shown, cmap="viridis", norm=scale, zorder=1)
    draw_room(ax, plan, floor=False)
    bar = figure.colorbar(image, ax=ax, location="bottom", shrink=0.7, aspect=35)
    label = "Rounds with somebody in the cell" + (", mean of the runs" if n_runs > 1 else "")
    bar.set_label(f"{label} (square-root colour scale)", fontsize=style.LABEL)
    bar.ax.tick_params(labelsize=style.TICK)
    return figure


def animate(
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | FloorPlan | None = None,
    interval_ms: int = 250,
) -> FuncAnimation:
    """The first run as an animation, one frame per round.

    Save it with ``animate(...).save("run.gif", writer="pillow")``, or as MP4 with
    ``writer="ffmpeg"`` where ffmpeg is installed.

    Args:
        agent_data: see `snapshots`.
        subtitle: which minds and condition were run; the number of the run is added.
        room: the room; None infers its size and exits from the data, without obstacles.
        interval_ms: milliseconds from frame to frame.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    run, number = _first_run(agent_data)
    plan = FloorPlan.of(room, agent_data)
    height, width = plan.walls.shape
    subtitle = " · ".join(filter(None, [subtitle, f"run {number}"]))
    figure = style.new_figure("Evacuation", subtitle, width=5.2, height=0.9 + 4.6 * height / width)
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    draw_room(ax, plan)
    _target_legend(figure, plan)
    rounds = sorted(run["round"].unique().tolist())
    moments = dict(list(run.groupby("round")))
    people = ax.scatter([], [], s=_dot(ax, plan), zorder=3, edgecolors="white", linewidths=0.3)
    title = ax.set_title(" ", loc="left", fontsize=style.TICK)

    def draw(number: int) -> list[Any]:
        now = _inside(moments[number])
        people.set_offsets(now[["y", "x"]].to_numpy(dtype=np.float64).reshape(-1, 2))
        people.set_facecolor(_colours(now, plan))
        title.set_text(_caption(moments[number], number + 1))
        return [people, title]

    return FuncAnimation(figure, draw, frames=rounds, interval=interval_ms, init_func=list)


def draw_room(ax: Axes, plan: FloorPlan, *, floor: bool = True) -> None:
    """Draw walls, obstacles and exits, each exit in its colour.

    Args:
        ax: the axes; they get the limits of the room, with x running down, and no frame.
        plan: the plan of the room.
        floor: whether the floor is painted, and the exits filled.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    height, width = plan.walls.shape
    shown = plan.walls if floor else np.ma.masked_equal(plan.walls, 0)
    ax.imshow(shown, cmap=ListedColormap(["white", _WALL, _OBSTACLE]), vmin=0, vmax=2, zorder=2)
    for name, cells in plan.exits.items():
        for x, y in cells:
            gap = Rectangle((y - 0.5, x - 0.5), 1, 1, zorder=2.5, linewidth=0 if floor else 1.2)
            gap.set(facecolor=plan.colours[name], edgecolor=plan.colours[name])
            gap.set(alpha=0.55 if floor else 1.0, fill=floor)
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


# Routes of the path test over the shortest ones.


def route_figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    size: int = 10,
    exits: Sequence[Cell] = ((5, 0), (9, 4), (8, 9)),
) -> Mapping[str, Figure]:
    """All plots of the path test; one per mind for several minds.

    Args:
        model_data: not used; all plot functions take it.
        agent_data: see `routes`, with the column ``mind``.
        subtitle: the mind that was asked.
        size: cells along a side of the room.
        exits: the exits.
    """
    del model_data
    by_mind = dict(list(agent_data.groupby("mind", sort=False)))
    if len(by_mind) == 1:
        return {"routes": routes(agent_data, subtitle, size=size, exits=exits)}
    return {
        f"routes-{number}": routes(rows, str(mind), size=size, exits=exits)
        for number, (mind, rows) in enumerate(by_mind.items(), 1)
    }


def routes(
    agent_data: pd.DataFrame, subtitle: str = "", *, size: int, exits: Sequence[Cell]
) -> Figure:
    """The room with the named and the shortest routes, one panel per start.

    Args:
        agent_data: one row per answer, with columns ``start`` and ``route`` as texts (see
            `theory.in_words`); a route is missing without a list of cells.
        subtitle: the mind that was asked.
        size: cells along a side of the room.
        exits: the exits.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    require_rows(agent_data, _ROUTE_COLUMNS)
    by_start = agent_data.groupby("start", sort=False)["route"]
    named = {str(start): given for start, given in by_start}
    columns = min(2, len(named))
    rows = -(-len(named) // columns)
    width = style.WIDTH if columns > 1 else 0.6 * style.WIDTH
    lines = 3 + max(_entries(counts) for counts in named.values())
    room, legend = width / columns, _LINE * lines
    figure = style.new_figure(
        "Ways out of the room", subtitle, width=width, height=rows * (room + legend + 0.3)
    )
    layout = figure.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(h_pad=0.12)  # inches: the panels keep off the subtitle
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=[room, legend] * rows)
    for i, (start, given) in enumerate(named.items()):
        row, column = divmod(i, columns)
        ax, below = (figure.add_subplot(grid[2 * row + k, column]) for k in (0, 1))
        (cell,) = from_words(start)
        _draw_empty_room(ax, size, exits, cell)
        handles = _draw_routes(ax, given, size, exits, cell)
        ax.set_title(f"Start {start}", loc="left", fontsize=style.LABEL)
        below.set_axis_off()
        key = below.legend(handles=handles, loc="upper left", borderaxespad=0.0, frameon=False,
                           fontsize=style.NOTE, handlelength=2.6)  # fmt: skip
        key.set_in_layout(False)  # keep its place in the panel, regardless of its length
    return figure


def _entries(named: pd.Series[str]) -> int:
    """The number of legend lines for the routes of a walker."""
    different = named.nunique()
    return min(different, len(ROUTES)) + (different > len(ROUTES)) + bool(named.isna().any())


def _draw_empty_room(ax: Axes, size: int, exits: Sequence[Cell], start: Cell) -> None:
    from matplotlib.patches import Rectangle

    ax.set_aspect("equal")
    for i in range(1, size):
        for line in (([i - 0.5] * 2, [-0.5, size - 0.5]), ([-0.5, size - 0.5], [i - 0.5] * 2)):
            ax.plot(*line, color="#D0D0D0", linewidth=0.5, zorder=1)
    for x, y in exits:
        ax.add_patch(Rectangle((y - 0.5, x - 0.5), 1, 1, facecolor=style.YELLOW, zorder=1.1))
    wall = Rectangle((-0.5, -0.5), size, size, edgecolor=style.BLACK, fill=False, zorder=1.2)
    ax.add_patch(wall)
    ax.plot(start[1], start[0], marker="s", markersize=9, color=style.BLACK, zorder=4)
    ax.set_xlim(-0.7, size - 0.3)
    ax.set_ylim(size - 0.3, -0.7)
    ticks = range(0, size, max(1, size // 10))
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.tick_params(labelsize=style.TICK, length=0, pad=1)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("y", fontsize=style.LABEL, labelpad=2)
    ax.set_ylabel("x", fontsize=style.LABEL, labelpad=2)
    ax.spines[:].set_visible(False)


def _draw_routes(
    ax: Axes, named: pd.Series[str], size: int, exits: Sequence[Cell], start: Cell
) -> list[Artist]:
    """Draw the shortest and the named routes; return the entries of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    best = shortest_routes(size, start, exits)
    for route in best:
        _line(ax, (start, *route), **_SHORTEST, zorder=2)
    ways = "a shortest way" if len(best) == 1 else "shortest ways"
    handles: list[Artist] = [
        Patch(facecolor=style.YELLOW, label="exit"),
        Line2D([], [], linestyle="none", marker="s", markersize=7, color="black", label="start"),
        Line2D([], [], **_SHORTEST, label=f"{ways}: {_moves(len(best[0]))}"),
    ]
    counts = Counter(from_words(text) for text in named.dropna())
    ranked = [route for route, _ in counts.most_common()]
    for i, (route, colour) in enumerate(zip(ranked, ROUTES, strict=False)):
        walked = walk(size, start, exits, route)
        aside = _APART * ((i + 1) // 2) * (-1) ** i
        _line(ax, walked.cells, aside, **_NAMED, color=colour, zorder=3)
        if walked.illegal is not None:
            _draw_illegal(ax, walked.cells[-1], walked.illegal, size, aside, colour)
        label = _route_caption(walked) + _of(counts[route], len(named))
        handles.append(Line2D([], [], **_NAMED, color=colour, label=label))
    unseen = sum(counts[route] for route in ranked[len(ROUTES) :])
    for n, words in ((unseen, "other ways"), (int(named.isna().sum()), "no list of cells")):
        if n:
            handles.append(Line2D([], [], linestyle="none", label=words + _of(n, len(named))))
    return handles


def _draw_illegal(ax: Axes, last: Cell, cell: Cell, size: int, aside: float, colour: str) -> None:
    """Draw a dotted line to the target of an illegal move, and a cross there or at the edge."""
    x, y = (min(max(coordinate, -0.5), size - 0.5) for coordinate in cell)
    ax.plot([last[1] + aside, y + aside], [last[0] + aside, x + aside], color=colour,
            linewidth=1.4, linestyle=":", zorder=3)  # fmt: skip
    ax.plot(y + aside, x + aside, marker="x", markersize=8, markeredgewidth=2, color=colour,
            zorder=4.5, clip_on=False)  # fmt: skip


def _line(ax: Axes, cells: Route, aside: float = 0.0, **look: Any) -> None:
    ax.plot([y + aside for _, y in cells], [x + aside for x, _ in cells], **look)


def _route_caption(walked: Walk) -> str:
    if walked.exit is not None:
        return f"to {walked.exit} in {_moves(walked.moves)}"
    if walked.illegal is not None:
        return f"{_moves(walked.moves)}, then illegal: {walked.illegal}"
    return f"{_moves(walked.moves)}, to no exit"


def _moves(n: int) -> str:
    return "1 move" if n == 1 else f"{n} moves"


def _of(n: int, of: int) -> str:
    return f" ({n} of {of})" if of > 1 else ""
