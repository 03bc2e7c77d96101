"""A million players in one process, compared with the minimum work for them.

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
"""A row of asks as in the contest, except for the agent and its position."""
AGENT, POSITION = map(ASK_COLUMNS.index, ("agent", "position"))
CELLS = ["Sleeper", PICK, True, 100.0, 1, 0, 0, 0, 0, 0]
"""The data of a player, without its number."""


def million(_folder: str, players: int = PLAYERS) -> list[Result]:
    """One simultaneous round of minds that answer after a second, recorded.

    Answers are either free or kept. A kept answer is on disk with its prompt before it is used.
    Each case, and the minimum work (the floor), is measured in its own process.
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


@cache  # `growth` measures the same number of agents
def apart(kind: str, players: int) -> dict[str, float]:
    """Measure in a new process, once for each case.

    Args:
        kind: ``"free"``, ``"kept"`` or ``"floor"``.
        players: the number of players.

    Returns:
        Seconds of wall and CPU time; the peak of the memory in GiB, and the memory at the start.
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
    """Play the contest as a user does."""
    model = KeynesianBeautyContest(
        n_players=players, n_rounds=1, minds=Sleeper(paid=paid), rng=1, recording=path
    )
    model.run_model()
    assert model.total.asks == model.n_winners == players


def floor(players: int, path: str) -> None:
    """Do the minimum work: create Mesa agents, await the sleeps, write the rows."""
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
    """Return the memory of this process in GiB: ``VmRSS`` (now) or ``VmHWM`` (its peak).

    `resource` would include the memory of the parent process.
    """
    said = Path("/proc/self/status").read_text("utf-8")
    return int(said.partition(f"{entry}:")[2].split()[0]) / 2**20


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
    else:
        print(table(million("", *map(int, sys.argv[1:]))))
