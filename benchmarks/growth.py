"""Curves of cost by agents, rounds, simultaneous runs and asks: `docs/images/benchmarks`.

``python -m benchmarks.growth NAME`` plays one of the long runs that measure the cost of rounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks import large
from benchmarks.llm import contest_of_one_round
from benchmarks.million import _gib, apart
from benchmarks.results import IMAGES, Result, number
from benchmarks.server import latency_server
from sabm_mesa import Connection, KeynesianBeautyContest, Recording, ScriptedMind
from sabm_mesa.analysis import plot_style as style
from sabm_mesa.core.asks import Ask
from sabm_mesa.llm import close_all
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import scenario
from sabm_mesa.runs.run import run_all

AGENTS = (100, 1_000, 10_000, 100_000, 1_000_000)
ROUNDS = (100, 1_000, 10_000, 100_000)
RECORDINGS = (10_000, 100_000, 1_000_000, 10_000_000)
RUNS = (1, 3, 10, 30, 100, 300, 1_000)
BEARS, LATENCY_S = 200, 1.0
"""The maximum number of simultaneous requests of the server, and its latency in seconds."""
CONTEST = {"n_players": 3, "n_rounds": 2}
Points = list[tuple[int, float]]


class Long(NamedTuple):
    """A run with many rounds.

    Attributes:
        label: its name in the figure.
        scenario: the scenario.
        rounds: the number of its rounds.
        colour: the colour of its line.
        parameters: those that differ from their defaults.
    """

    label: str
    scenario: str
    rounds: int
    colour: str
    parameters: Mapping[str, Any] = {}


def _reads_its_prompt(ask: Ask) -> int:
    ask.messages()
    return 7


PRICES = {"communication": False, "stop_after": None}
LONG = {
    "bertrand": Long("price competition", "bertrand", 100_000, style.BLUE, PRICES),
    "bertrand-prompts": Long(
        "price competition, prompts rendered", "bertrand", 10_000, style.SKY_BLUE,
        PRICES | {"minds": ScriptedMind(_reads_its_prompt)},
    ),
    "games": Long(
        "prisoner's dilemma", "games", 100_000, style.VERMILLION, {"game": "prisoners_dilemma"}
    ),
    "public-goods": Long("public goods", "public-goods", 100_000, style.GREEN),
    "beauty-contest": Long("repeated beauty contest", "beauty-contest", 10_000, style.ORANGE),
    "kbc": Long("beauty contest with talk", "kbc", 1_000, style.PURPLE),
    "cocktail-party": Long("cocktail party", "cocktail-party", 1_000, style.BLACK),
}  # fmt: skip


def agents(_folder: str) -> list[Result]:
    """One recorded simultaneous round, by number of agents: CPU time and memory per agent."""
    found = {n: apart("free", n) for n in AGENTS}
    cpu = [(n, took["cpu_s"] / n * 1e6) for n, took in found.items()]
    memory = [(n, (took["gib"] - took["gib_before"]) * 2**20 / n) for n, took in found.items()]
    figure = style.new_figure(
        "What an agent costs", "One recorded round of the beauty contest", height=3.1
    )
    for ax, points, ylabel in zip(
        figure.subplots(1, 2), (cpu, memory),
        ("CPU time of an agent (µs)", "Memory of an agent (KiB)"), strict=True,
    ):  # fmt: skip
        _curve(ax, points, "Agents", ylabel)
    _save(figure, "agents")
    name = f"an agent among {AGENTS[-1]:,} / among {AGENTS[2]:,}:"
    return [
        Result(f"{name} CPU time", cpu[-1][1] / cpu[2][1], "", _said(cpu, "µs")),
        Result(f"{name} memory", memory[-1][1] / memory[2][1], "", _said(memory, "KiB")),
    ]


def rounds(_folder: str) -> list[Result]:
    """Recorded classical runs, by number of rounds: CPU time and memory per round."""
    figure = style.new_figure(
        "What a round costs", "Recorded runs, one per line; a mark is the mean of the last half",
        height=4.6,
    )  # fmt: skip
    left, right = figure.subplots(1, 2)
    results = []
    for name, each in LONG.items():
        command = [sys.executable, "-m", "benchmarks.growth", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        cpu, memory = json.loads(done.stdout)
        _line(left, cpu, each.colour, each.label)
        _line(right, memory, each.colour, each.label)
        (n, last), (before, one) = cpu[-1], cpu[-2]
        what = f"{each.label}: a round among {n:,} / among {before:,}: CPU time"
        results.append(Result(what, last / one, "<= 1.5", _said(cpu, "µs")))
        what = f"{each.label}: KiB of memory a round, after {n:,}"
        results.append(Result(what, memory[-1][1], "", _said(memory, "KiB")))
    _axes(left, ROUNDS, "Rounds", "CPU time of a round (µs)")
    _axes(right, ROUNDS, "Rounds", "Memory, by round so far (KiB)")
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False,
        fontsize=style.NOTE,
    )  # fmt: skip
    _save(figure, "rounds")
    return results


def _play(name: str) -> tuple[Points, Points]:
    """Play a long run; return µs of CPU per round, and KiB of memory per round so far."""
    each = LONG[name]
    marks = [n for n in ROUNDS if n <= each.rounds]
    cpu, memory = [], []
    with TemporaryDirectory() as folder:
        model: SmartModel = scenario(each.scenario)(
            **each.parameters, n_rounds=each.rounds, rng=1, recording=Path(folder, "run.sqlite")
        )
        before = _gib("VmRSS")
        for n in marks:
            _advance(model, n // 2)
            began = time.process_time()
            _advance(model, n)
            cpu.append((n, (time.process_time() - began) / (n - n // 2) * 1e6))
            memory.append((n, (_gib("VmRSS") - before) * 2**20 / n))
    return cpu, memory


def _advance(model: SmartModel, rounds: int) -> None:
    while model.round + 1 < rounds:
        model.step()


def runs(folder: str) -> list[Result]:
    """Simultaneous recorded contests with a language model, by number of runs: wall and CPU time.

    The request limit is searched again for each number of runs. The numbers of threads and open
    files are maxima.
    """
    wall, cpu, most = [], [], {"threads": 0, "open files": 0}

    def watch(_models: object) -> None:
        most["threads"] = max(most["threads"], threading.active_count())
        most["open files"] = max(most["open files"], len([*Path("/proc/self/fd").iterdir()]))

    with latency_server(LATENCY_S, "--max-concurrency", str(BEARS)) as url:
        contest_of_one_round(Connection(base_url=url))
        for n in RUNS:
            close_all()
            first, began = _stats(url), time.process_time()
            with Recording(Path(folder, f"runs-{n}.sqlite")) as recording:
                done = run_all(
                    KeynesianBeautyContest, {"minds": "llm:stub", **CONTEST}, runs=n, seed=1,
                    recording=recording, connection=Connection(base_url=url), watch=watch,
                )  # fmt: skip
            last, asks = _stats(url), done.total().asks
            wall.append((n, done.wall_s))
            cpu.append((n, (time.process_time() - began) / asks * 1e3))
    close_all()
    answered, refused = (
        last.get(status, 0) - first.get(status, 0) for status in ("status_200", "status_429")
    )
    path = done.models[0].critical_path_asks * LATENCY_S
    share = asks / RUNS[-1] * LATENCY_S / BEARS
    _draw_runs(wall, cpu, path, share)
    name, least = (
        f"{RUNS[-1]:,} runs at once, a server that bears {BEARS} requests:",
        (RUNS[-1] * share),
    )
    return [
        Result(f"{name} time / asks · latency / {BEARS}", wall[-1][1] / least, "<= 1.3",
               f"{wall[-1][1]:.1f} s and {least:.1f} s, {asks:,} asks; {_said(wall, 's')}"),
        Result(f"{name} answers of the server / asks", answered / asks, "<= 1",
               f"{refused} requests were refused and sent again"),
        Result(f"{name} an ask, CPU / among {RUNS[2]} runs", cpu[-1][1] / cpu[2][1], "<= 1.5",
               _said(cpu, "ms")),
        *(Result(f"{name} {what} at most", n, "<= 1100") for what, n in most.items()),
    ]  # fmt: skip


def _draw_runs(wall: Points, cpu: Points, path: float, share: float) -> None:
    figure = style.new_figure(
        "What runs at once cost",
        f"Beauty contest of 3 players, two rounds; answers after {LATENCY_S:g} s, from a server "
        f"that bears {BEARS} requests at once",
        height=3.3,
    )
    left, right = figure.subplots(1, 2)
    _line(left, wall)
    knee = path / share
    left.plot([RUNS[0], RUNS[-1]], [path, path], **_DASHED)
    left.plot([knee / 4, RUNS[-1]], [path / 4, RUNS[-1] * share], **_DASHED)
    _note(left, "critical path\n(slope 0)", (RUNS[0], path), "top", "left")
    _note(left, "the server's limit\n(slope 1)", (knee / 2, path / 4), "bottom", "left")
    _axes(left, RUNS, "Runs at once", "Time of all runs (s)")
    _curve(right, cpu, "Runs at once", "CPU time of an ask (ms)")
    _save(figure, "runs")


def recordings(folder: str, sizes: Sequence[int] = RECORDINGS) -> list[Result]:
    """Recordings of public goods with 1,000 players, by asks: first page, search, export, memory.

    The larger recordings repeat the rounds of the smallest one.
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
    for ax, points, label in zip(
        figure.subplots(2, 2).flat, (page, search, rate, memory),
        (
            "First page (s)", "Search with its index (s)", "Parquet (1,000 rows a s)",
            "Memory of the export (MiB)",
        ),
        strict=True,
    ):  # fmt: skip
        _curve(ax, points, "Recorded asks", label)
    _save(figure, "recordings")


def _stats(url: str) -> dict[str, int]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/_stats") as answer:
        counts: dict[str, int] = json.load(answer)
    return counts


_DASHED: dict[str, Any] = {"color": style.GREY, "linestyle": "--", "linewidth": 1.2, "zorder": 1}


def _curve(ax: Axes, points: Points, xlabel: str, ylabel: str) -> None:
    """Draw a line on logarithmic axes, and one of slope 0 that ends at the same value."""
    numbers, last = [n for n, _ in points], points[-1][1]
    _line(ax, points)
    ax.plot([numbers[0], numbers[-1]], [last, last], **_DASHED)
    side = "bottom" if points[1][1] <= last else "top"  # away from the line
    _note(ax, "slope 0", ((numbers[0] * numbers[1]) ** 0.5, last), side, "left")
    _axes(ax, numbers, xlabel, ylabel)


def _line(ax: Axes, points: Points, colour: str = style.BLUE, label: str = "") -> None:
    numbers, values = zip(*points, strict=True)
    ax.plot(
        numbers, values, color=colour, linewidth=1.8, marker="o", markersize=5, label=label,
        clip_on=False,
    )  # fmt: skip


def _note(ax: Axes, text: str, at: tuple[float, float], va: str, ha: str) -> None:
    ax.annotate(
        text, at, xytext=(0, -6 if va == "top" else 0), textcoords="offset points",
        va=va, ha=ha, fontsize=style.NOTE, color="#606060",
    )  # fmt: skip


def _axes(ax: Axes, numbers: Sequence[int], xlabel: str, ylabel: str) -> None:
    """Make both axes logarithmic; the vertical axis spans at least two orders of magnitude."""
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.get_lines()])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks([n for n in numbers if len(numbers) < 6 or str(n)[0] == "1"])
    low, high = float(values.min()), float(values.max())
    while high / low < 100:
        low, high = low / 1.1, high * 1.1
    ax.set_ylim(low / 1.5, high * 1.5)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator())
    ax.yaxis.set_minor_formatter(NullFormatter())
    style.plain_axes(ax, xlabel, ylabel)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda n, _: _short(n)))


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


if __name__ == "__main__":
    print(json.dumps(_play(sys.argv[1])))
