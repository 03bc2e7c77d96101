"""The time that recording adds to a run, the time of a replay, and the size of a recording."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.recording import WORDS
from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import (
    BertrandCompetition,
    Connection,
    KeynesianBeautyContest,
    LLMMind,
    ScriptedClient,
    ScriptedMind,
    SmartModel,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.llm import close_all
from sabm_mesa.llm.client import Completion, Request
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.rerun import replay
from tests.llm_server import stub

LATENCY_S = 0.2
REPEATS = 3


def recording_overhead(folder: str) -> list[Result]:
    """A contest at 200 ms with and without a recording, and asks that take no time."""
    ratios, took = [], []
    with latency_server(LATENCY_S) as url:
        for repeat in range(REPEATS + 1):  # the first opens connections
            pair = [
                _seconds(
                    KeynesianBeautyContest(
                        n_players=12, n_rounds=2, minds="llm:stub", rng=1, recording=recording,
                        connection=Connection(base_url=url),
                    ).run_model
                )
                for recording in (f"{folder}/latency-{repeat}.sqlite", False)
            ]  # fmt: skip
            ratios.append(pair[0] / pair[1])
            took.append(pair)
    close_all()
    recorded, bare = (statistics.median(times) for times in zip(*took[1:], strict=True))
    detail = f"medians {recorded:.3f} s and {bare:.3f} s"
    name = "KBC, 200 ms: time recorded / not recorded"
    return [
        Result(name, statistics.median(ratios[1:]), "<= 1.05", detail),
        *(_cost_of_an_ask(folder, name, *case) for name, case in _CASES.items()),
    ]


def _cost_of_an_ask(
    folder: str, name: str, minds: Callable[[], Any], players: int, rounds: int, target: str
) -> Result:
    """Measure the microseconds that a recording adds to an ask that takes no time."""
    added = []
    for repeat in range(REPEATS):
        times = []
        for recording in (f"{folder}/{players}-{repeat}.sqlite", False):
            model = _Silent(
                n_players=max(players, 2), n_rounds=rounds, rng=1, recording=recording,
                minds={minds(): players, **({"fixed:1": 1} if players == 1 else {})},
            )  # fmt: skip
            times.append(_seconds(model.run_model))
        added.append((times[0] - times[1]) / (players * rounds))
    said = f"recording adds to an ask without latency, {name}: µs"
    return Result(said, statistics.median(added) * 1e6, target, f"{players * rounds} asks")


class _Silent(KeynesianBeautyContest):
    """The contest without its discussion, so that the data of a round have a constant size."""

    phases = KeynesianBeautyContest.phases[1:]


class _Paid:
    """A mind that answers at once and counts as paid, so that its answers are stored."""

    spec, instant, paid = "paid", False, True

    async def answer(self, ask: Ask) -> object:
        return _free(ask)


def _free(ask: Ask) -> object:
    return Random(f"{ask.key}").randint(0, 100)


_CASES: dict[str, tuple[Callable[[], Any], int, int, str]] = {
    "free": (lambda: ScriptedMind(_free), 24, 200, "<= 100"),
    "paid, 400 at once": (_Paid, 400, 20, "<= 100"),
    "paid, one after another": (_Paid, 1, 400, ""),
}


def replays(folder: str) -> list[Result]:
    """Runs with a language model that answers at once: their replay, and the size of recordings."""
    results = []
    for name, model, runs, repeats, target in (
        ("KBC, 24 players, 4 rounds", KeynesianBeautyContest, 15, 3, "<= 1"),
        ("Bertrand, 1200 rounds", BertrandCompetition, 1, 1, ""),
    ):
        path = Path(folder, f"{model.scenario_name}.sqlite")
        for seed in range(runs):
            _answered(model, seed, path).run_model()
        played = statistics.median(
            _seconds(_answered(model, 0, False).run_model) for _ in range(repeats)
        )
        took = statistics.median(_seconds(partial(replay, path, [0])) for _ in range(repeats))
        asks = Recorded(path).runs()["asks"]
        detail = f"{asks[0]} asks, {took / asks[0] * 1e6:.0f} µs each"
        size = path.stat().st_size
        what = f"{name}, {runs} run{'s' * (runs > 1)}: bytes an ask"
        results += [
            Result(f"{name}: replay, seconds", took, target, detail),
            Result(f"{name}: replay / the run with available answers, not recorded", took / played),
            Result(what, size / asks.sum(), "<= 1000", f"{size:,} bytes"),
        ]
    return results


def _answered(model: type[SmartModel], seed: int, recording: Path | bool) -> SmartModel:
    """Return a run with a language model that answers at once."""
    mind = LLMMind("stub", ScriptedClient(_complete), model(rng=0).llm_settings)
    return model(minds=mind, rng=seed, recording=recording)


def _complete(request: Request) -> Completion:
    """Answer with twenty words if a text is asked for, and with a number if one is."""
    answer = stub([{"role": role, "content": text} for role, text in request.messages], {})
    number = answer.rpartition("\n")[2]
    is_number = number.replace(".", "").isdigit()
    if not is_number or number != answer:
        spoken = " ".join(Random(request.digest()).choices(WORDS, k=20))
        answer = f"{spoken}\n{number}" if is_number else spoken
    return Completion(
        answer, model="stub-2026", prompt_tokens=400, completion_tokens=30, cost_usd=1e-4
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
