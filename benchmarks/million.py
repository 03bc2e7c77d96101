"""A million players in one process, against the least that has to be done for them.

``python -m benchmarks.million N`` measures N players instead of a million.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mesa

from benchmarks.results import Result, table
from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.recording.store import ASK_COLUMNS, INSERT_AGENT_DATA, INSERT_ASK

PLAYERS = 1_000_000
LATENCY_S = 1.0
PICK = 33
_ANSWERED = {
    "phase": "act", "name": "act", "mind": "Sleeper", "messages": None, "request": None,
    "raw": str(PICK), "thoughts": "", "form": "value", "value": str(PICK), "read_as": "exact",
    "reasoning": "", "valid": True, "reason": "", "cost_usd": 0.0, "latency_s": LATENCY_S,
    "served_model": "", "finish_reason": "", "response_id": None, "provenance": None,
    "copied": False, "final": True,
}  # fmt: skip
ROW = [_ANSWERED.get(column, 0) for column in ASK_COLUMNS]
"""A row of asks as the contest has it, but for the agent and its turn."""
AGENT, POSITION = map(ASK_COLUMNS.index, ("agent", "position"))
CELLS = ["Sleeper", PICK, True, 100.0, 1, 0, 0, 0, 0, 0]
"""The data of a player besides its number."""


def million(_folder: str, players: int = PLAYERS) -> list[Result]:
    """One simultaneous round of minds that answer after a second, recorded.

    Once with answers that are free, and once with answers that are kept: then each is on disk with
    its prompt before it is used. Each is measured in its own process, the floor too.
    """
    floor = apart("floor", players)
    results = []
    for kind, words, times in (
        ("free", "free answers", "<= 1.2"),
        ("kept", "answers durable, with their prompts", "<= 2"),
    ):
        ours = apart(kind, players)
        what = f"{players:,} players, {words}:"
        detail = f"{ours['wall_s']:.1f} s and {floor['wall_s']:.1f} s"
        cpu = f"{ours['cpu_s']:.1f} s and {floor['cpu_s']:.1f} s"
        results += [
            Result(f"{what} seconds", ours["wall_s"], "<= 40", f"CPU {ours['cpu_s']:.1f} s"),
            Result(f"{what} time / bare floor", ours["wall_s"] / floor["wall_s"], times, detail),
            Result(f"{what} CPU / bare floor", ours["cpu_s"] / floor["cpu_s"], times, cpu),
            Result(f"{what} GiB at most", ours["gib"], "<= 3", f"floor {floor['gib']:.2f} GiB"),
        ]
    return results


@cache  # the curve of growth ends where the million is
def apart(kind: str, players: int) -> dict[str, float]:
    """Measure in its own process, once for all who want to know.

    Args:
        kind: ``"free"``, ``"kept"`` or ``"floor"``.
        players: how many.

    Returns:
        Seconds on the clock and of CPU; GiB at most, and before there were players.
    """
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "million.sqlite"))
        command = [sys.executable, "-m", "benchmarks.million", kind, str(players), path]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


class Sleeper:
    """A mind that answers after a second."""

    def __init__(self, *, paid: bool) -> None:
        self.paid = paid

    async def answer(self, _ask: object) -> int:
        """Wait, and pick."""
        await asyncio.sleep(LATENCY_S)
        return PICK


def contest(players: int, path: str, *, paid: bool) -> None:
    """The contest as a user plays it."""
    model = KeynesianBeautyContest(
        n_players=players, n_rounds=1, minds=Sleeper(paid=paid), rng=1, recording=path
    )
    model.run_model()
    assert model.total.asks == model.n_winners == players


def floor(players: int, path: str) -> None:
    """The least: make Mesa agents, await the sleeps, write the rows."""
    model = mesa.Model(rng=1)
    agents = [mesa.Agent(model) for _ in range(players)]
    mind = Sleeper(paid=False)

    async def answers() -> list[Any]:
        return await asyncio.gather(*(mind.answer(agent) for agent in agents))

    asyncio.run(answers())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    schema = Path(sys.modules["sabm_mesa.recording"].__path__[0], "schema.sql")
    for statement in schema.read_text("utf-8").split(";\n"):
        connection.execute(statement)
    connection.execute("BEGIN")
    rows = (
        [*ROW[:AGENT], agent.unique_id, *ROW[AGENT + 1 : POSITION], i, *ROW[POSITION + 1 :]]
        for i, agent in enumerate(agents)
    )
    connection.executemany(INSERT_ASK, rows)
    data = json.dumps([[agent.unique_id, *CELLS] for agent in agents])
    connection.execute(INSERT_AGENT_DATA, [0, 0, data])
    connection.execute("COMMIT")
    connection.close()


def _measure(kind: str, players: int, path: str) -> dict[str, float]:
    gib_before = _gib("VmRSS")
    before, started = time.process_time(), time.perf_counter()
    if kind == "floor":
        floor(players, path)
    else:
        contest(players, path, paid=kind == "kept")
    wall, cpu = time.perf_counter() - started, time.process_time() - before
    return {"wall_s": wall, "cpu_s": cpu, "gib": _gib("VmHWM"), "gib_before": gib_before}


def _gib(entry: str) -> float:
    """A number of this process from Linux: ``VmRSS``, its memory now, or ``VmHWM``, its peak.

    `resource` would count the memory of the process that started this one.
    """
    said = Path("/proc/self/status").read_text("utf-8")
    return int(said.partition(f"{entry}:")[2].split()[0]) / 2**20


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
    else:
        print(table(million("", *map(int, sys.argv[1:]))))
