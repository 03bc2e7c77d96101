"""The server as a process: `python -m tests.llm_server`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from typing import Any

from .brains import load_brain
from .faults import Fault, Plan, Rates, as_plan
from .server import LLMServer


def main(argv: list[str] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; prints `{"url": …, "port": …, "pid": …}` once it listens."""
    options = _parser().parse_args(argv)
    server = LLMServer(
        port=options.port,
        brain=options.brain,
        latency=options.latency,
        jitter=options.jitter,
        seed=options.seed,
        faults=_plan(dict(options.fault), dict(options.rate), options.seed),
        max_concurrency=options.max_concurrency,
        retry_after=options.retry_after,
        api_key=options.api_key,
        models=dict(options.model or [("stub", "stub-2026")]),
        strict_models=options.strict_models,
        cache=options.cache,
        record=False,
    )
    asyncio.run(_serve(server))


async def _serve(server: LLMServer) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.close)

    def announce() -> None:
        address = {"url": server.url, "port": server.port, "pid": os.getpid()}
        sys.stdout.write(json.dumps(address) + "\n")
        sys.stdout.flush()

    await server.serve(announce)


def _plan(listed: dict[int, Fault], rates: dict[Fault | str, float], seed: int) -> Plan:
    explicit, random = as_plan(listed), Rates(rates, seed)

    def plan(number: int, body: dict[str, Any]) -> Fault | str | None:
        drawn = random(number, body)
        return explicit(number, body) or drawn

    return plan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.llm_server", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, default=0, help="0: a free one")
    add("--brain", type=load_brain, default="stub", help="stub, nonsense or script:FILE")
    add("--model", type=_served, action="append", metavar="NAME[=SERVED]", help="repeatable")
    add("--strict-models", action="store_true", help="404 for any other model")
    add("--latency", type=float, default=0.0, help="seconds until an answer")
    add("--jitter", type=float, default=0.0, help="plus up to this many seconds")
    add("--seed", type=int, default=0, help="of jitter and rates")
    add("--fault", type=_numbered, action="append", default=[], metavar="NUMBER=FAULT",
        help="repeatable; request numbers start at 0; e.g. 3=429:retry-after=1")  # fmt: skip
    add("--rate", type=_rated, action="append", default=[], metavar="FAULT=RATE",
        help="repeatable; e.g. 429:retry-after=1=0.1, garbage=0.05")  # fmt: skip
    add("--max-concurrency", type=int, help="429 above it")
    add("--retry-after", type=float, help="seconds, for the 429s of --max-concurrency")
    add("--api-key", help="401 without it")
    add("--cache", action="store_true", help="report prompt prefixes seen before as cached")
    return parser


def _served(text: str) -> tuple[str, str]:
    name, _, served = text.partition("=")
    return name, served or name


def _numbered(text: str) -> tuple[int, Fault]:
    number, _, fault = text.partition("=")
    return int(number), Fault.parse(fault)


def _rated(text: str) -> tuple[Fault, float]:
    fault, _, rate = text.rpartition("=")
    return Fault.parse(fault), float(rate)


if __name__ == "__main__":
    main()
