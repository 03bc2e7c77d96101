"""A recording of 100,000 asks: its size, and the time to read and export it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from benchmarks.results import Result
from sabm_mesa import KeynesianBeautyContest, Recording, Reply, ScriptedMind
from sabm_mesa.core.asks import Ask
from sabm_mesa.recording.export import write_tables
from sabm_mesa.recording.frames import Recorded

ASKS = 100_000
ASKS_OF_A_RUN = 168
WORDS = [
    "I",
    "think",
    "that",
    "the",
    "others",
    "will",
    "choose",
    "two",
    "thirds",
    "of",
    "a",
    "lower",
    "number",
    "than",
    "before",
    "so",
    "we",
]


def hundred_thousand_asks(folder: str) -> list[Result]:
    """100,000 asks of contests with 20-word answers: size and use of their recording."""
    path = Path(folder, "large.sqlite")
    runs = -(-ASKS // ASKS_OF_A_RUN)
    with Recording(path) as recording:
        for seed in range(runs):
            KeynesianBeautyContest(
                minds=ScriptedMind(_answer), rng=seed, recording=recording
            ).run_model()
    asks = runs * ASKS_OF_A_RUN
    recorded = Recorded(path)
    size = path.stat().st_size / asks
    results = [Result(f"{asks:,} asks: bytes an ask", size, "<= 1000", f"{path.stat().st_size:,}")]
    for name, work in {
        "read one chat": lambda: recorded.chat(runs - 1, 3, "act", 24),
        "read the decisions": recorded.decisions,
        **{f"export to {kind}": _export(recorded, folder, kind) for kind in _KINDS},
        "export to csv with messages": _export(recorded, folder, "csv", messages=True),
    }.items():
        started = time.perf_counter()
        work()
        took = time.perf_counter() - started
        # No target with messages: half a gigabyte of texts that the recording stores once.
        target = "" if "messages" in name else "<= 10"
        results.append(Result(f"{asks:,} asks: {name}, seconds", took, target))
    return results


_KINDS = ("csv", "parquet", "jsonl")


def _export(
    recorded: Recorded, folder: str, kind: str, messages: bool = False
) -> Callable[[], object]:
    def write() -> None:
        with recorded.tables(messages) as tables:
            write_tables(Path(folder, kind), tables, kind)

    return write


def _answer(ask: Ask) -> Reply:
    stream = Random(str((ask.key, ask.observation)))
    words = " ".join(stream.choice(WORDS) for _ in range(20))
    answer = words if ask.name == "communicate" else f"{words}\n{stream.randint(0, 100)}"
    return Reply(
        answer,
        prompt_tokens=400,
        completion_tokens=30,
        cost_usd=1e-4,
        latency_s=0.8,
        model="stub-2026",
        finish_reason="stop",
        request=f"{stream.getrandbits(256):064x}",
    )
