"""Plots of the emergency evacuation: escapes over time, snapshots and use of the room."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis.plots import legends, style
from sabm_mesa.analysis.plots.evacuation_bound import fastest
from sabm_mesa.analysis.plots.evacuation_plan import EXIT_COLOURS, Plan
from sabm_mesa.analysis.plots.evacuation_room import animate, occupancy, snapshots
from sabm_mesa.analysis.statistics import bootstrap_mean_by_round, require_rows

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from sabm_mesa.models.room import Room

PREFIX = "escaped_"
FASTEST = "most that walls and exits allow"
_MARKS = ("o", "s", "^")


@cache
def published() -> MappingProxyType[str, Any]:
    """Table 2 of Wu et al. 2024: rounds, and the mean number escaped by condition."""
    text = files(__package__).joinpath("emergency_evacuation.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


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
    plan = Plan.of(room, agent_data, names)
    return {
        "escapes": cumulative_escapes(model_data, subtitle, room=room, agent_data=agent_data),
        "exits": escapes_by_exit(model_data, subtitle),
        "snapshots": snapshots(agent_data, subtitle, room=plan),
        "occupancy": occupancy(agent_data, subtitle, room=plan),
    }


def at_round(
    agent_data: pd.DataFrame, round_: int, subtitle: str = "", *, room: Room | None = None
) -> Figure:
    """The room after one round of the first run: see `snapshots`.

    Args:
        agent_data: see `snapshots`.
        round_: the round, from 0.
        subtitle: which minds and condition were run.
        room: the room, as for `figures`.
    """
    return snapshots(agent_data, subtitle, room=room, rounds=[round_ + 1])


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


def cumulative_escapes(
    model_data: pd.DataFrame,
    subtitle: str = "",
    *,
    room: Room | None = None,
    agent_data: pd.DataFrame | None = None,
    rng: np.random.Generator | int = 0,
) -> Figure:
    """How many have escaped by a round; beside it the fastest way and the published rows.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round``, ``escaped`` and
            ``inside``; a run that ended early stays at its last value.
        subtitle: which minds and condition were run; the number of runs is added.
        room: the room. The published rows are drawn when there are as many people as in the
            published runs and the room is the published one, or None, which is to say unknown.
        agent_data: with it and a room, no run can be above the curve that `fastest` gives.
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
        band = "95 % bootstrap interval of the mean"
        ax.fill_between(
            x, summary["low"], summary["high"],
            color=style.SKY_BLUE, alpha=0.4, linewidth=0, label=band, zorder=2,
        )  # fmt: skip
    label = "these runs, mean" if n_runs > 1 else "this run"
    ax.plot(x, summary["mean"], color=style.BLUE, linewidth=2.0, label=label, zorder=4)
    _time_axes(ax, last, n_people, f"People, of {n_people}")
    legends.legend(ax, loc="lower right")
    return figure


def escapes_by_exit(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """How many have escaped by each exit: the mean of the runs, and each run as a thin line.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round``, ``inside``,
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


def _exit_columns(model_data: pd.DataFrame) -> list[str]:
    found = [str(name) for name in model_data.columns if str(name).startswith(PREFIX)]
    if not found:
        raise ValueError(f"the data frame has no column {PREFIX}…: no exit to plot")
    return found


def _by_rounds_played(model_data: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The data by rounds played, from 0, in whole runs: a run that ended stays as it was."""
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
