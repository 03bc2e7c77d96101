"""Every scenario over HTTP at 200 ms: its time against its critical path, and repeated text.

The critical path is the longest chain of asks in which each had to wait for the previous one, times
the latency. No program that follows the rules of the scenario can be faster. For comparison, bare
aiohttp sends the same asks in the same number of steps: this is the time that the server and the
machine add.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.clients import bare_chain
from benchmarks.llm import LATENCY_S, contest_of_one_round
from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import Connection, Recording
from sabm_mesa.core.asks import Chat
from sabm_mesa.llm import close_all
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.recording.reading import load_runs
from sabm_mesa.runs.run import run_all

SIZES: dict[str, dict[str, Any]] = {
    "beauty-contest": {"n_rounds": 20},
    "bertrand": {"n_rounds": 5},
    "cocktail-party": {"n_rounds": 2, "max_turns": 6},
    "evacuation": {"n_rounds": 3},
    "fishery": {"n_rounds": 2},
    "games": {},
    "kbc": {"n_rounds": 2},
    "pasture": {"n_rounds": 2},
    "pollution": {"n_rounds": 2},
    "public-goods": {"n_rounds": 20},
    "sentence-making": {"n_rounds": 1, "n_sentences": 2, "max_turns": 6},
}
"""Parameters that make a scenario short enough for a benchmark; the others have defaults."""
AT_ONCE = {"movement": "simultaneous"}
"""The other order of movement of the evacuation."""


def critical_paths(folder: str) -> list[Result]:
    """One recorded run of each scenario, alone, and of the evacuation in both orders of movement.

    The request limit of the server is known from a first round of the evacuation.
    """
    results, bare, shares = [], [], []
    with latency_server(LATENCY_S) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection)
        run_all(
            scenario("evacuation"), {"minds": "llm:stub", "n_rounds": 1, **AT_ONCE}, seed=1,
            connection=connection,
        )  # fmt: skip
        sizes = [(name, SIZES.get(name, {})) for name in SCENARIOS]
        for number, (name, size) in enumerate(
            [*sizes, ("evacuation", SIZES["evacuation"] | AT_ONCE)]
        ):
            model, before = scenario(name), time.process_time()
            with Recording(Path(folder, f"{number}.sqlite")) as recording:
                done = run_all(
                    model, {"minds": "llm:stub", **size}, seed=1,
                    recording=recording, connection=connection,
                )  # fmt: skip
            cpu_s = time.process_time() - before
            chain, total = done.models[0].critical_path_asks, done.total()
            attempts = total.asks + total.reasks
            bare_s = bare_chain(url, sent(recording.path), chain)
            settings = ", ".join(f"{parameter}={value}" for parameter, value in size.items())
            what = f"{name} ({settings})"
            results.append(
                Result(
                    f"{what}: time / critical path",
                    done.wall_s / (chain * LATENCY_S),
                    "<= 1.08" if AT_ONCE.items() <= size.items() else "<= 1.05",
                    f"{done.wall_s:.2f} s (CPU {cpu_s:.2f} s), {attempts} asks, {chain} in a chain",
                )
            )  # fmt: skip
            bare.append(
                Result(f"{what}: time / bare aiohttp", done.wall_s / bare_s, "", f"{bare_s:.2f} s")
            )
            if number < len(sizes):
                share = done.repeated_prefix()
                shares.append(Result(f"{name}: share of prompt text that repeats", share))
    close_all()
    return results + bare + shares


def sent(path: Path) -> list[Chat]:
    """Return (role, content) of the messages of each ask of the runs in a recording."""
    return [run.chat(row) for run in load_runs(path) for row in run.asks.values()]
