"""The local server of the benchmarks. It is another process, so that it can use its own core."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def latency_server(latency_s: float, *options: str) -> Iterator[str]:
    """Start the server, yield its URL, and stop the server at the end of the block.

    Args:
        latency_s: seconds until it answers.
        options: further options of ``python -m tests.llm_server``.
    """
    command = [sys.executable, "-m", "tests.llm_server", "--port", "0", "--latency", str(latency_s)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
