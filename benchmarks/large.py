"""A recording of a million asks: opening its page, search, and export, with their memory.

Each number is measured in its own process, in CPU seconds: other programs on the machine cost time
but less CPU. For comparison, the minimum work is measured: reading every row once.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.million import _gib
from benchmarks.recording import WORDS
from benchmarks.results import Result
from sabm_mesa import PublicGoods, Reply, ScriptedMind
from sabm_mesa.core.asks import Ask

PLAYERS, ROUNDS = 1_000, 1_000
FEW = 50
"""The rounds of a small recording, to compare the memory with."""


def million_asks(folder: str, rounds: int = ROUNDS) -> list[Result]:
    """A million asks of public goods with 20-word answers: the use of their recording.

    Args:
        folder: the folder for the recordings.
        rounds: the number of rounds of the large recording.
    """
    few = min(FEW, rounds // 2)
    paths = {n: Path(folder, f"{n}.sqlite") for n in (few, rounds)}
    for n, path in paths.items():
        apart("write", path, n)
    small, large = paths.values()
    n_asks = PLAYERS * rounds
    results = []
    floor = apart("floor", large)["cpu_s"]
    for name, target in WORK.items():
        took, least = apart(name, large), apart(name, small)
        what = f"{n_asks:,} asks: {name},"
        detail = f"{took['wall_s']:.2f} s on the clock; a look at every row {floor:.2f} s of CPU"
        results.append(Result(f"{what} seconds of CPU", took["cpu_s"], target, detail))
        if "rows" in took:
            aim = ">= 200000" if name == "export to parquet" else ""
            rate = took["rows"] / took["cpu_s"]
            results.append(Result(f"{what} rows a second of CPU", rate, aim, detail))
        detail = f"{took['gib']:.2f} and {least['gib']:.2f} GiB; {rounds // few} × the asks"
        ratio = took["gib"] / least["gib"]
        results.append(Result(f"{what} memory / of the small one", ratio, "<= 1.1", detail))
    return results


WORK = {
    "first page": "<= 0.5",
    "first hits": "<= 0.5",
    "index": "",
    "search": "<= 0.5",
    "filter": "<= 0.5",
    "export to parquet": "",
    "export to csv": "",
}
"""Measure → its target in seconds of CPU."""


def apart(name: str, path: Path, rounds: int = 0) -> dict[str, float]:
    """Return CPU seconds, seconds, memory and rows of one measure, from its own process."""
    command = [sys.executable, "-m", "benchmarks.large", name, str(path), str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def repeat_rounds(path: Path, rounds: int) -> None:
    """Repeat the rounds of a recording of one run until it has this number of rounds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):  # a log would double the size
            connection.execute(f"PRAGMA {pragma}")
        (known,) = connection.execute("SELECT count(*) FROM model_data").fetchone()
        for table in ("asks", "model_data", "agent_data", "message_data"):
            rest = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")][2:]
            copy = f"INSERT INTO {table} SELECT run, round + ?, {', '.join(rest)} FROM {table}"
            for first in range(known, rounds, known):
                # Both columns are named: with one, the query would scan all rows, also new ones.
                some = [first, min(known, rounds - first)]
                connection.execute(f"{copy} WHERE run = 0 AND round < ?", some)
        connection.execute("PRAGMA journal_mode = WAL")


def _write(path: Path, rounds: int) -> Callable[[], object]:
    model = PublicGoods(
        n_players=PLAYERS, group_size=4, matching="stranger", memory=3, n_rounds=rounds,
        minds=ScriptedMind(_answer), rng=1, recording=path,
    )  # fmt: skip
    return model.run_model


def _answer(ask: Ask) -> Reply:
    stream = Random(str(ask.key))
    words = " ".join(stream.choices(WORDS, k=20))
    return Reply(
        f"{words}\n{stream.randint(0, 100)}", prompt_tokens=400, completion_tokens=30,
        cost_usd=1e-4, latency_s=0.8, model="stub-2026", finish_reason="stop",
        request=f"{stream.getrandbits(256):064x}",
    )  # fmt: skip


def _floor(path: Path) -> Callable[[], object]:
    from sabm_mesa.recording.store import open_for_reading

    def look() -> None:
        with open_for_reading(path, check=False) as connection:
            connection.execute("SELECT total(length(raw)) FROM asks").fetchone()

    return look


def _first_page(path: Path) -> Callable[[], object]:
    from sabm_mesa.visualization.records import charts, rounds
    from sabm_mesa.visualization.records.store import run_data, runs_of

    def show() -> None:
        runs_of(path)
        run = run_data(path, 0)
        charts.scenes_of(run, run.rounds[0])
        rounds.asks_of(run, run.rounds[0])
        rounds.said_in(run, 300, run.rounds[0])

    return show


def _search(path: Path, *, indexed: bool, **given: Any) -> Callable[[], object]:
    from sabm_mesa.recording.search import Search

    search = Search(path)
    if indexed:
        search.find()
    return lambda: search.find(**given)


def _first_hits(path: Path) -> Callable[[], object]:
    from sabm_mesa.visualization.records.search_view import PATIENCE

    return _search(path, indexed=False, words="lower number", patience=PATIENCE)


def _export(path: Path, kind: str) -> Callable[[], object]:
    from sabm_mesa.recording.export import write_tables
    from sabm_mesa.recording.frames import Recorded

    def write() -> int:
        with Recorded(path).tables() as tables:
            return sum(write_tables(path.parent / kind, tables, kind).values())

    return write


def _measure(name: str, path: Path, rounds: int) -> dict[str, float]:
    kind = name.removeprefix("export to ")
    work = {
        "write": lambda: _write(path, rounds),
        "floor": lambda: _floor(path),
        "first page": lambda: _first_page(path),
        "first hits": lambda: _first_hits(path),
        "index": lambda: _search(path, indexed=False),
        "search": lambda: _search(path, indexed=True, words="lower number"),
        "filter": lambda: _search(path, indexed=True, words="lower", agent=7, valid=True),
        "parquet": lambda: _export(path, kind),
        "csv": lambda: _export(path, kind),
    }[kind]()
    cpu, wall = time.process_time(), time.perf_counter()
    done = work()
    rows = {"rows": float(done)} if isinstance(done, int) else {}
    return {
        "cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall,
        "gib": _gib("VmHWM"), **rows,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
