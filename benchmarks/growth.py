"""Curves of time by agents, rounds, runs and recorded asks: `docs/images/benchmarks`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks import large
from benchmarks.llm import LATENCY_S, contest_of_one_round
from benchmarks.million import apart
from benchmarks.results import IMAGES, Result, number
from benchmarks.server import latency_server
from sabm_mesa import BertrandCompetition, Connection, KeynesianBeautyContest, Recording
from sabm_mesa.analysis import plot_style as style
from sabm_mesa.llm import close_all
from sabm_mesa.runs.run import run_all

AGENTS = (100, 1_000, 10_000, 100_000, 1_000_000)
ROUNDS = (100, 300, 1_000, 3_000, 10_000)
RUNS = (1, 2, 4, 8, 16, 32)
RECORDINGS = (10_000, 100_000, 1_000_000, 10_000_000)
CONTEST = {"n_players": 12, "n_rounds": 2}
Points = list[tuple[int, float]]


def agents(_folder: str) -> list[Result]:
    """One recorded simultaneous round, by agents: CPU time and memory of an agent."""
    found = {n: apart("free", n) for n in AGENTS}
    cpu = [(n, took["cpu_s"] / n * 1e6) for n, took in found.items()]
    memory = [(n, (took["gib"] - took["gib_before"]) * 2**20 / n) for n, took in found.items()]
    figure = _figure("What an agent costs", "One recorded round of the beauty contest")
    left, right = figure.subplots(1, 2)
    _curve(left, cpu, "Agents (logarithmic)", "CPU time of an agent (µs)")
    _curve(right, memory, "Agents (logarithmic)", "Memory of an agent (KiB)")
    _save(figure, "agents")
    name = f"an agent among {AGENTS[-1]:,} / among {AGENTS[2]:,}:"
    return [
        Result(f"{name} CPU time", cpu[-1][1] / cpu[2][1], "", _said(cpu, "µs")),
        Result(f"{name} memory", memory[-1][1] / memory[2][1], "", _said(memory, "KiB")),
    ]


def rounds(folder: str) -> list[Result]:
    """Recorded classical price competitions, by rounds: the CPU time of a round."""
    points = []
    for n in ROUNDS:
        model = BertrandCompetition(
            n_rounds=n, communication=False, stop_after=None, rng=1,
            recording=Path(folder, f"{n}.sqlite"),
        )  # fmt: skip
        started = time.process_time()
        model.run_model()
        points.append((n, (time.process_time() - started) / n * 1e6))
    figure = _figure("What a round costs", "Price competition of two classical firms, recorded")
    _curve(figure.subplots(), points, "Rounds of the run (logarithmic)", "CPU time of a round (µs)")
    _save(figure, "rounds")
    name = f"a round among {ROUNDS[-1]:,} / among {ROUNDS[2]:,}: CPU time"
    return [Result(name, points[-1][1] / points[2][1], "", _said(points, "µs"))]


def runs(folder: str) -> list[Result]:
    """Recorded contests with a language model that go on at once, by runs: the time of all."""
    points = []
    with latency_server(LATENCY_S) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection)
        for n in RUNS:
            with Recording(Path(folder, f"runs-{n}.sqlite")) as recording:
                done = run_all(
                    KeynesianBeautyContest, {"minds": "llm:stub", **CONTEST}, runs=n, seed=1,
                    recording=recording, connection=connection,
                )  # fmt: skip
            points.append((n, done.wall_s))
    close_all()
    path = done.models[0].critical_path_asks * LATENCY_S
    figure = _figure(
        "What runs at once cost", "Beauty contest of 12 players, two rounds, answers after 200 ms"
    )
    ax = figure.subplots()
    _curve(ax, points, "Runs at once (logarithmic)", "Time of all runs (s)")
    ax.axhline(path, color=style.GREY, linestyle="--", linewidth=1.2)
    ax.annotate(
        "critical path", (RUNS[0], path), xytext=(0, -4), textcoords="offset points",
        va="top", fontsize=style.NOTE, color="#606060",
    )  # fmt: skip
    _save(figure, "runs")
    name = f"{RUNS[-1]} runs at once / one: time"
    return [Result(name, points[-1][1] / points[0][1], "", _said(points, "s"))]


def recordings(folder: str, sizes: Sequence[int] = RECORDINGS) -> list[Result]:
    """Recordings of public goods of 1,000 players, by asks: first page, search, export, memory.

    The rounds of the larger recordings repeat those of the smallest.
    """
    path = Path(folder, "recording.sqlite")
    large.apart("write", path, sizes[0] // large.PLAYERS)
    found: dict[str, list[dict[str, float]]] = {
        name: [] for name in ("first page", "search", "export to parquet")
    }
    for n in sizes:
        large.repeat_rounds(path, n // large.PLAYERS)
        for name, measured in found.items():
            measured.append(large.apart(name, path))
    page, search, export = (
        [(n, each["cpu_s"]) for n, each in zip(sizes, measured, strict=True)]
        for measured in found.values()
    )
    exports = found["export to parquet"]
    rate = [(n, each["rows"] / each["cpu_s"] / 1e3) for n, each in zip(sizes, exports, strict=True)]
    memory = [(n, each["gib"] * 2**10) for n, each in zip(sizes, exports, strict=True)]
    _draw_recordings(page, search, rate, memory)
    name = f"a recording of {sizes[-1]:,} asks / of {sizes[0]:,}:"
    return [
        Result(f"{name} {what}", points[-1][1] / points[0][1], "", _said(points, unit))
        for what, points, unit in (
            ("CPU time of the first page", page, "s"),
            ("CPU time of a search", search, "s"),
            ("CPU time of the export to Parquet", export, "s"),
            ("rows exported a second", rate, "thousand"),
            ("memory of the export", memory, "MiB"),
        )
    ]


def _draw_recordings(page: Points, search: Points, rate: Points, memory: Points) -> None:
    figure = style.new_figure(
        "What a recording costs its reader", "Public goods of 1,000 players; seconds are of CPU",
        height=5.4,
    )  # fmt: skip
    panels = figure.subplots(2, 2).flat
    x = "Asks (logarithmic)"
    _curve(next(panels), page, x, "First page (s)")
    _curve(ax := next(panels), search, x, "Search (s, logarithmic)")
    ax.set_yscale("log")
    ax.set_ylim(search[0][1] / 2, search[-1][1] * 2)
    _curve(next(panels), rate, x, "Parquet (1,000 rows a s)")
    _curve(next(panels), memory, x, "Memory of the export (MiB)")
    _save(figure, "recordings")


def _figure(title: str, subtitle: str) -> Figure:
    return style.new_figure(title, subtitle, height=2.9)


def _curve(ax: Axes, points: Sequence[tuple[int, float]], xlabel: str, ylabel: str) -> None:
    """A line over an axis of orders of magnitude, from zero."""
    numbers, values = zip(*points, strict=True)
    ax.plot(numbers, values, color=style.BLUE, linewidth=1.8, marker="o", markersize=5)
    ax.set_xscale("log")
    ax.set_xticks(numbers)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: _short(n)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, style.headroom(list(values), 0.12))
    style.plain_axes(ax, xlabel, ylabel)


def _short(n: float) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if n >= size:
            return f"{n / size:g}{letter}"
    return f"{n:g}"


def _said(points: Points, unit: str) -> str:
    return ", ".join(f"{_short(n)}: {number(value)} {unit}" for n, value in points)


def _save(figure: Figure, name: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"{name}.png")
