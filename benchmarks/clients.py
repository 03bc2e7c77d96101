"""The clients of the side-by-side benchmark: ``python -m benchmarks.clients KIND URL FILE N``.

Each client asks all questions of the file at once, N times. It prints as JSON the wall time and the
CPU time of its process. The kinds are:

- ``sabm``: a round of this project, which reads, checks and counts the answers;
- ``sabm-recorded``: the same, with each answer and its prompt on disk before it is used;
- ``openai``: the bare client library;
- ``aiohttp``: only HTTP and JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Question = tuple[str, str]
"""The system prompt and the question."""
Took = tuple[float, float]
"""Seconds of wall time and of CPU time."""
SAMPLING = {"temperature": 0.7, "max_tokens": 256, "top_p": 1.0}


def questions(players: int) -> list[Question]:
    """Play the first round of a contest, and return the questions to its players.

    Args:
        players: the number of players.
    """
    from sabm_mesa import KeynesianBeautyContest
    from sabm_mesa.llm import Request, ScriptedClient
    from sabm_mesa.minds.llm import LLMMind

    asked: list[Question] = []

    def complete(request: Request) -> str:
        (_, system), (_, user) = request.messages
        asked.append((system, user))
        return "Any will do.\n50"

    mind = LLMMind("stub", ScriptedClient(complete), KeynesianBeautyContest(rng=1).llm_settings)
    KeynesianBeautyContest(n_players=players, n_rounds=1, minds=mind, rng=1, recording=False).step()
    return asked


def by(kind: str, url: str, asked: list[Question], repeats: int) -> list[Took]:
    """Return the wall and CPU time of a kind of client, for each repeat."""
    if kind in ("sabm", "sabm-recorded"):
        return by_sabm(url, asked, repeats, recorded=kind == "sabm-recorded")
    return {"openai": by_openai, "aiohttp": by_aiohttp}[kind](url, asked, repeats)


def by_sabm(url: str, asked: list[Question], repeats: int, *, recorded: bool) -> list[Took]:
    """Measure a round of the contest, which asks the same questions, as `sabm run` plays it."""
    import sabm_mesa.llm.server  # noqa: F401 - loaded before `heap_frozen`, as by the command
    from sabm_mesa import KeynesianBeautyContest
    from sabm_mesa.core import engine

    took = []
    with tempfile.TemporaryDirectory() as folder, engine.heap_frozen():
        for repeat in range(repeats):
            model = KeynesianBeautyContest(
                n_players=len(asked), n_rounds=1, minds=f"llm:stub@{url}", rng=1,
                recording=Path(folder, f"{repeat}.sqlite") if recorded else False,
            )  # fmt: skip
            wall, cpu = time.perf_counter(), time.process_time()
            model.step()
            took.append((time.perf_counter() - wall, time.process_time() - cpu))
            assert model.total.asks == len(asked)
    return took


def by_openai(url: str, asked: list[Question], repeats: int) -> list[Took]:
    """Measure the client library with its aiohttp transport."""
    import openai

    async def run() -> list[Took]:
        http = openai.DefaultAioHttpClient()
        async with openai.AsyncOpenAI(base_url=url, api_key="none", http_client=http) as client:

            async def ask(question: Question) -> str | None:
                done = await client.chat.completions.create(
                    model="stub", messages=_messages(question), **SAMPLING
                )
                return done.choices[0].message.content

            return [await _timed(ask, asked) for _ in range(repeats)]

    return asyncio.run(run())


def by_aiohttp(url: str, asked: list[Question], repeats: int) -> list[Took]:
    """Measure HTTP and JSON alone."""
    import aiohttp

    async def run() -> list[Took]:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(question: Question) -> str:
                body = {"model": "stub", "messages": _messages(question), **SAMPLING}
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    done = await response.json()
                content: str = done["choices"][0]["message"]["content"]
                return content

            return [await _timed(ask, asked) for _ in range(repeats)]

    return asyncio.run(run())


async def _timed(ask: Callable[[Question], Awaitable[Any]], asked: list[Question]) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    answers = await asyncio.gather(*(ask(question) for question in asked))
    took = time.perf_counter() - wall, time.process_time() - cpu
    assert all(answers)
    return took


def _messages(question: Question) -> Any:
    system, user = question
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def main(kind: str, url: str, path: str, repeats: int) -> None:
    """Measure one kind."""
    asked = json.loads(Path(path).read_text("utf-8"))
    walls, cpus = zip(*by(kind, url, asked, repeats), strict=True)
    packages = {name: version(name) for name in ("openai", "aiohttp")}
    print(json.dumps({"wall_s": walls, "cpu_s": cpus, "versions": packages}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
