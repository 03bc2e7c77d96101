"""A local server that speaks the OpenAI protocol for chats, for tests and benchmarks.

In a test::

    with LLMServer(brain=lambda messages, body: "42", latency=0.2, faults=["429"]) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="any")

As a process of its own, which prints its address as one JSON line when it listens::

    python -m tests.llm_server --latency 0.3

It listens on the loopback interface only.
"""

from .brains import Reply, nonsense
from .faults import Fault
from .record import Seen
from .server import LLMServer
from .stub import stub
from .writer import writer

__all__ = [
    "Fault",
    "LLMServer",
    "Reply",
    "Seen",
    "nonsense",
    "stub",
    "writer",
]
