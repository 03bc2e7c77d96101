"""Language-model access: a contest against its critical path, runs at once, and jitter."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import Connection, KeynesianBeautyContest, Recording, SmartModel, llm
from sabm_mesa.llm import close_all
from sabm_mesa.runs.run import run_all

LATENCY_S = 0.2
RUNS = 15
REPEATS = 7


def critical_path(folder: str) -> list[Result]:
    """A contest of 24 players, where 72 turns and 4 decisions form a chain; and 15 runs at once."""
    with latency_server(LATENCY_S) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection, 2 * RUNS * 24)  # finds the request limit first
        one, many = (
            against_path(
                Path(folder, f"{runs}.sqlite"), KeynesianBeautyContest, {"minds": "llm:stub"},
                runs, connection, LATENCY_S,
            )
            for runs in (1, RUNS)
        )  # fmt: skip
    close_all()
    name = "KBC, 24 players, 4 rounds, 200 ms"
    return [
        Result(f"{name}: time / critical path", one.ratio, "<= 1.05", one.detail),
        Result(f"{name}: {RUNS} runs at once / one run", many.ratio / one.ratio, "<= 1.05",
               f"{many.detail}, over {one.detail}"),
    ]  # fmt: skip


class AgainstPath(NamedTuple):
    """The time of simultaneous runs / the longest of their critical paths, and the details."""

    ratio: float
    detail: str


def against_path(
    path: Path,
    model: type[SmartModel],
    parameters: Mapping[str, Any],
    runs: int,
    connection: Connection,
    latency_s: float,
) -> AgainstPath:
    """Play recorded runs at once.

    The number of repeated asks depends on the seed, so the time is divided by the critical path.

    Args:
        path: the recording.
        model: the scenario.
        parameters: its parameters.
        runs: the number of runs.
        connection: the server.
        latency_s: its latency.
    """
    before = time.process_time()
    with Recording(path) as recording:
        done = run_all(
            model, parameters, runs=runs, seed=1, recording=recording, connection=connection
        )
    chain = max(each.critical_path_asks for each in done.models)
    cpu_ms = (time.process_time() - before) / done.total().asks * 1000
    detail = f"{done.wall_s:.2f} s for {chain} asks in a chain, {cpu_ms:.2f} ms of CPU an ask"
    return AgainstPath(done.wall_s / (chain * latency_s), detail)


def jitter(_folder: str) -> list[Result]:
    """The same answers at latencies that vary: the share of data frames that are identical."""
    frames = []
    for options in ((), ("--jitter", "0.05", "--seed", "1"), ("--jitter", "0.05", "--seed", "2")):
        with latency_server(0.01, *options) as url:
            model = KeynesianBeautyContest(
                minds="llm:stub", rng=1, connection=Connection(base_url=url), recording=False
            )
            model.run_model()
        close_all()
        frames.append((model.model_frame(), model.agent_frame()))
    same = [a.equals(b) for other in frames[1:] for a, b in zip(frames[0], other, strict=True)]
    return [Result("identical frames with and without jitter", statistics.mean(same), ">= 1")]


def notes(folder: str) -> list[Result]:
    """Recorded asks with and without the note *was sent*, in turn: at once, and in a chain.

    The server answers immediately, so that the share of the note is as large as possible.
    """
    results = []
    with latency_server(0.0) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection)
        for name, asks, parameters in (
            ("400 asks at once", 400, {"n_players": 400, "n_rounds": 1}),
            ("168 asks, most in a chain", 168, {"n_players": 24, "n_rounds": 4}),
        ):
            took: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
            for repeat, noted in itertools.product(range(REPEATS), (True, False)):
                with noting(noted):
                    model = KeynesianBeautyContest(
                        minds="llm:stub", rng=1, connection=connection, **parameters,
                        recording=Path(folder, f"{asks}-{repeat}-{noted}.sqlite"),
                    )  # fmt: skip
                    wall, cpu = time.perf_counter(), time.process_time()
                    model.run_model()
                    took[noted].append((time.perf_counter() - wall, time.process_time() - cpu))
                assert model.total.asks == asks
            for kind, what in enumerate(("time", "CPU")):
                with_, without = (
                    statistics.median(each[kind] for each in took[noted]) / asks * 1000
                    for noted in (True, False)
                )
                results.append(
                    Result(
                        f"{name}: {what} with the note that a request was sent / without",
                        with_ / without, "",
                        f"{with_:.2f} ms and {without:.2f} ms an ask; median of {REPEATS}",
                    )
                )  # fmt: skip
    close_all()
    return results


@contextmanager
def noting(noted: bool) -> Iterator[None]:
    """Note requests before they are sent, or do not."""
    client = llm.NoteSentClient
    if not noted:
        # The only way to leave the class out is to replace it by a function.
        llm.NoteSentClient = lambda client, _prices: client  # type: ignore[assignment,misc]  # a function
    try:
        yield
    finally:
        llm.NoteSentClient = client  # type: ignore[misc]  # the class that was there


def contest_of_one_round(connection: Connection, players: int = 24) -> None:
    """Open connections and load late imports, so that neither is measured.

    Args:
        connection: the server.
        players: the number of simultaneous asks, so that the request limit is known.
    """
    model = KeynesianBeautyContest(
        n_players=players, n_rounds=1, minds="llm:stub", rng=0, connection=connection,
        recording=False,
    )  # fmt: skip
    model.run_model()
