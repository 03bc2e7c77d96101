"""Pictures of the room of an evacuation: snapshots, a heat map, and an animation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.plots.evacuation_plan import Plan
from sabm_mesa.analysis.statistics import require_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sabm_mesa.models.room import Room

SHOWN_ROUNDS = (1, 5, 10, 20, 30, 40)
"""Rounds played at which snapshots are taken, as far as people are still inside."""
_WALL, _OBSTACLE, _NO_TARGET = "#4D4D4D", "#B3B3B3", style.BLACK
_COLUMNS = ["run", "round", "agent", "x", "y", "target", "status"]


def snapshots(
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | Plan | None = None,
    rounds: Sequence[int] | None = None,
) -> Figure:
    """The room after several rounds of the first run; a person has the colour of its target.

    Whoever has escaped is not drawn.

    Args:
        agent_data: one row a run, round and agent, with columns ``x`` and ``y`` (NaN: escaped
            before), ``target``, ``status`` and ``exit``.
        subtitle: which minds and condition were run; the number of the run is added.
        room: the room; None infers its size and exits from the data, without obstacles.
        rounds: the rounds played at which to look; None for some while people are inside.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    run, number = _first_run(agent_data)
    plan = Plan.of(room, agent_data)
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
    agent_data: pd.DataFrame, subtitle: str = "", *, room: Room | Plan | None = None
) -> Figure:
    """How many rounds somebody stood in each cell: the mean over the runs, at ends of rounds.

    Args:
        agent_data: see `snapshots`.
        subtitle: which minds and condition were run; the number of runs is added.
        room: the room; None infers its size and exits from the data, without obstacles.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    _first_run(agent_data)
    plan = Plan.of(room, agent_data)
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
    # The square root of the scale shows ways that few people take beside the queues.
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
    room: Room | Plan | None = None,
    interval_ms: int = 250,
) -> FuncAnimation:
    """The first run as an animation, one frame a round.

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
    run, number = _first_run(agent_data)
    plan = Plan.of(room, agent_data)
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


def _first_run(agent_data: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    require_rows(agent_data, _COLUMNS)
    number = agent_data["run"].min()
    return agent_data[agent_data["run"] == number], int(number)


def draw_room(ax: Axes, plan: Plan, *, floor: bool = True) -> None:
    """Draw walls, obstacles and exits, each exit in its colour.

    Args:
        ax: the axes; they get the limits of the room, with x running down, and no frame.
        plan: the plan of the room.
        floor: whether the floor is painted, and the exits filled.
    """
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


def _draw_people(ax: Axes, now: pd.DataFrame, plan: Plan) -> None:
    there = _inside(now)
    dots = ax.scatter(there["y"].astype(float), there["x"].astype(float), s=_dot(ax, plan))
    dots.set(zorder=3, facecolor=_colours(there, plan), edgecolor="white", linewidth=0.2)


def _inside(now: pd.DataFrame) -> pd.DataFrame:
    """Those who have not escaped; in the round of its escape a person has the exit's cell."""
    return now[now["status"] != "escaped"].dropna(subset=["x", "y"])


def _dot(ax: Axes, plan: Plan) -> float:
    """Area of a person in square points, so that it fills most of its cell."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    grid = ax.get_gridspec()
    columns = grid.ncols if grid is not None else 1
    cell = 72 * figure.get_figwidth() / columns / (plan.walls.shape[1] + 3)
    return float((0.75 * cell) ** 2)


def _colours(now: pd.DataFrame, plan: Plan) -> list[str]:
    colours = plan.colours
    return [colours.get(str(target), _NO_TARGET) for target in now["target"]]


def _caption(now: pd.DataFrame, after: int) -> str:
    escaped = int((now["status"] == "escaped").sum())
    dead = int((now["status"] == "dead").sum())
    parts = [f"round {after}", f"{escaped} out", f"{len(now) - escaped} in"]
    if dead:
        parts[-1] = f"{dead} dead"
    return " · ".join(parts)


def _target_legend(figure: Figure, plan: Plan) -> None:
    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=6, color=colour, label=name)
        for name, colour in plan.colours.items()
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=max(len(handles), 1), frameon=False,
        fontsize=style.NOTE, title="wants to leave by", title_fontsize=style.NOTE,
    )  # fmt: skip
