"""The cost of a recording: added time, size, and the time to read and export it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import Connection, KeynesianBeautyContest, Recording, Reply, ScriptedMind
from sabm_mesa.core.asks import Ask
from sabm_mesa.llm import close_all
from sabm_mesa.recording.export import write_frames
from sabm_mesa.recording.frames import Recorded

LATENCY_S = 0.2
REPEATS = 3
ASKS = 100_000
ASKS_OF_A_RUN = 168
WORDS = "I think that the others will choose two thirds of a lower number than before so we"


def overhead_and_size(folder: str) -> list[Result]:
    """A contest at 200 ms with and without a recording; size and use of 100,000 recorded asks."""
    return [_overhead(folder), *_large(folder)]


def _overhead(folder: str) -> Result:
    took: list[list[float]] = []
    with latency_server(LATENCY_S) as url:
        for repeat in range(REPEATS + 1):  # the first opens connections
            models = [
                KeynesianBeautyContest(
                    n_players=12, n_rounds=2, minds="llm:stub", rng=1, recording=recording,
                    connection=Connection(base_url=url),
                )
                for recording in (f"{folder}/latency-{repeat}.sqlite", False)
            ]  # fmt: skip
            took.append([_seconds(model.run_model) for model in models])
    close_all()
    ratio = statistics.median(recorded / bare for recorded, bare in took[1:])
    recorded, bare = (statistics.median(times) for times in zip(*took[1:], strict=True))
    detail = f"medians {recorded:.3f} s and {bare:.3f} s"
    return Result("KBC, 200 ms: time recorded / not recorded", ratio, "<= 1.05", detail)


def _large(folder: str) -> list[Result]:
    path = Path(folder, "large.sqlite")
    runs = -(-ASKS // ASKS_OF_A_RUN)
    with Recording(path) as recording:
        for seed in range(runs):
            KeynesianBeautyContest(
                minds=ScriptedMind(_answer), rng=seed, recording=recording
            ).run_model()
    asks, size = runs * ASKS_OF_A_RUN, path.stat().st_size
    recorded = Recorded(path)

    def export(kind: str, messages: bool = False) -> None:
        write_frames(Path(folder, kind), recorded.frames(messages), kind)

    works: dict[str, Callable[[], object]] = {
        "read one chat": lambda: recorded.chat(runs - 1, 3, "act", 24),
        "read the decisions": recorded.decisions,
        **{f"export to {kind}": partial(export, kind) for kind in ("csv", "jsonl")},
        "export to csv with messages": partial(export, "csv", messages=True),
    }
    return [
        Result(f"{asks:,} asks: bytes an ask", size / asks, "<= 1000", f"{size:,} bytes"),
        *(
            # No target with messages: half a gigabyte of texts that the recording stores once.
            Result(f"{asks:,} asks: {name}, seconds", _seconds(work),
                   "" if "messages" in name else "<= 10")
            for name, work in works.items()
        ),
    ]  # fmt: skip


def _answer(ask: Ask) -> Reply:
    """Answer with twenty words."""
    stream = Random(str((ask.key, ask.facts)))
    words = " ".join(stream.choices(WORDS.split(), k=20))
    answer = words if ask.name == "communicate" else f"{words}\n{stream.randint(0, 100)}"
    return Reply(
        answer, prompt_tokens=400, completion_tokens=30, cost_usd=1e-4, latency_s=0.8,
        model="stub-2026", finish_reason="stop", request=f"{stream.getrandbits(256):064x}",
    )  # fmt: skip


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
