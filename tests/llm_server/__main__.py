"""The server as a process: `python -m tests.llm_server`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys

from .server import LLMServer


def main() -> None:
    """Serve until SIGINT or SIGTERM; prints `{"url": …, "port": …, "pid": …}` once it listens."""
    parser = argparse.ArgumentParser(prog="python -m tests.llm_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds until an answer")
    options = parser.parse_args()
    asyncio.run(_serve(LLMServer(port=options.port, latency=options.latency, record=False)))


async def _serve(server: LLMServer) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.close)

    def announce() -> None:
        address = {"url": server.url, "port": server.port, "pid": os.getpid()}
        sys.stdout.write(json.dumps(address) + "\n")
        sys.stdout.flush()

    await server.serve(announce)


if __name__ == "__main__":
    main()
