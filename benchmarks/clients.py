"""The clients of the side-by-side benchmark: ``python -m benchmarks.clients KIND URL FILE N``.

Each asks all questions of the file at once, N times, and prints as JSON how long that took on the
clock and in CPU time of its process: ``sabm`` and ``sabm-recorded`` as a round of this project (the
answers read, checked and counted; recorded: each with its prompt on disk before it is used),
``openai`` with the bare client library, ``aiohttp`` with nothing but HTTP and JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

Question = tuple[str, str]
"""The system prompt and the question."""
Took = tuple[float, float]
"""Seconds on the clock, and of CPU."""
SAMPLING = {"temperature": 0.7, "max_tokens": 256, "top_p": 1.0}


def questions(players: int) -> list[Question]:
    """The questions to players in the first round of a contest, which is played to get them.

    Args:
        players: how many.
    """
    from sabm_mesa import KeynesianBeautyContest, LLMMind, ScriptedClient
    from sabm_mesa.llm.client import Completion, Request

    asked: list[Question] = []

    def complete(request: Request) -> Completion:
        (_, system), (_, user) = request.messages
        asked.append((system, user))
        return Completion("Any will do.\n50")

    mind = LLMMind("stub", ScriptedClient(complete), KeynesianBeautyContest(rng=1).llm_settings)
    KeynesianBeautyContest(n_players=players, n_rounds=1, minds=mind, rng=1, recording=False).step()
    return asked


def by(kind: str, url: str, asked: list[Question], repeats: int) -> list[Took]:
    """The time and CPU of a kind of client for each repeat."""
    if kind in ("sabm", "sabm-recorded"):
        return by_sabm(url, asked, repeats, recorded=kind == "sabm-recorded")
    return {"openai": by_openai, "aiohttp": by_aiohttp}[kind](url, asked, repeats)


def by_sabm(url: str, asked: list[Question], repeats: int, *, recorded: bool) -> list[Took]:
    """A round of the contest, which asks the same questions."""
    from sabm_mesa import KeynesianBeautyContest

    took = []
    with tempfile.TemporaryDirectory() as folder:
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
    """The client library over its aiohttp transport."""
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
    """HTTP and JSON, no more."""
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


def bare_chain(url: str, chats: Sequence[Sequence[tuple[str, str]]], steps: int) -> float:
    """Seconds that bare aiohttp takes for chats in steps, with the asks of a step at once.

    As many asks as fit go with each step. All connections are open before.

    Args:
        url: the server.
        chats: (role, content) of each message of each ask.
        steps: how many steps wait for one another.
    """
    import aiohttp

    ends = [len(chats) * step // steps for step in range(steps + 1)]

    async def run() -> float:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(chat: Sequence[tuple[str, str]]) -> None:
                messages = [{"role": role, "content": content} for role, content in chat]
                body = {"model": "stub", "messages": messages, **SAMPLING}
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    done = await response.json()
                assert done["choices"]

            await asyncio.gather(*map(ask, chats[: -(-len(chats) // steps)]))
            began = time.perf_counter()
            for first, end in pairwise(ends):
                await asyncio.gather(*map(ask, chats[first:end]))
            return time.perf_counter() - began

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
