"""Language-model access: a contest against its critical path, asks against the bare client."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

import openai

from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import Connection, KeynesianBeautyContest, Recording
from sabm_mesa.llm import close_all
from sabm_mesa.runner import run_all

LATENCY_S = 0.2
ASKS = 400
REPEATS = 5


def critical_path(folder: str) -> list[Result]:
    """24 players, 4 rounds: 72 turns and 4 decisions wait for one another; and 15 runs at once."""
    with latency_server(LATENCY_S) as url:
        connection = Connection(base_url=url)

        def contest(runs: int, name: str) -> tuple[float, int]:
            with Recording(f"{folder}/{name}.sqlite") as recording:
                done = run_all(
                    KeynesianBeautyContest, {"minds": "llm:stub"}, runs=runs, seed=1,
                    recording=recording, connection=connection,
                )  # fmt: skip
            return done.wall_s, done.models[0].critical_path_asks

        contest_of_one_round(connection)
        one, asks = contest(1, "one")
        many, _ = contest(15, "many")
    close_all()
    least = asks * LATENCY_S
    return [
        Result(
            "KBC, 24 players, 4 rounds, 200 ms: time / critical path", one / least, "<= 1.10",
            f"{one:.2f} s for {asks} asks in a chain",
        ),
        Result(
            "KBC, 15 runs at once / one run", many / one, "<= 1.3", f"{many:.2f} s and {one:.2f} s"
        ),
    ]  # fmt: skip


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


def contest_of_one_round(connection: Connection) -> None:
    """Open connections and import what is imported once, so that it is not measured."""
    model = KeynesianBeautyContest(
        n_rounds=1, minds="llm:stub", rng=0, connection=connection, recording=False
    )
    model.run_model()


def simultaneous_asks(folder: str) -> list[Result]:
    """400 asks at once against the bare client library doing the same."""
    with latency_server(LATENCY_S) as url:
        ours: list[float] = []
        bare: list[float] = []
        messages: list[tuple[tuple[str, str], ...]] = []
        for repeat in range(REPEATS + 1):
            took, messages = _ours(url, f"{folder}/asks-{repeat}.sqlite")
            ours.append(took)
            bare.append(_bare(url, messages))
    close_all()
    ratio = statistics.median(a / b for a, b in zip(ours[1:], bare[1:], strict=True))
    detail = f"medians {statistics.median(ours[1:]):.2f} s and {statistics.median(bare[1:]):.2f} s"
    return [Result(f"{ASKS} asks at once, 200 ms, recorded / bare client", ratio, "<= 1.5", detail)]


def _ours(url: str, path: str) -> tuple[float, list[tuple[tuple[str, str], ...]]]:
    model = KeynesianBeautyContest(
        n_players=ASKS, n_rounds=1, minds=f"llm:stub@{url}", rng=1, recording=path
    )
    close_all()  # the bare client opens its connections within its time too
    took = _time(model.run_model)
    questions = []
    for player in model.players:
        question = player.observe()
        values = {**question.placeholders(model.book), "form": "Write the number alone."}
        questions.append(
            (
                ("system", model.book.render("scenario", values)),
                ("user", model.book.render("act", values)),
            )
        )
    return took, questions


def _bare(url: str, questions: list[tuple[tuple[str, str], ...]]) -> float:
    async def ask_all() -> float:
        http = openai.DefaultAioHttpClient()
        async with openai.AsyncOpenAI(base_url=url, api_key="none", http_client=http) as client:
            started = time.perf_counter()
            await asyncio.gather(
                *(
                    client.chat.completions.create(
                        model="stub",
                        messages=[{"role": r, "content": c} for r, c in question],  # type: ignore[misc]
                        temperature=0.7,
                        max_tokens=256,
                        top_p=1.0,
                    )
                    for question in questions
                )
            )
            return time.perf_counter() - started

    return asyncio.run(ask_all())


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
