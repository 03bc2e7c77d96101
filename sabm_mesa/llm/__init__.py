"""Language models: one client interface, and short wrappers around it.

::

    Budgeted → Retrying → Limited → Priced → FinishingSent → OpenAIClient

One chain and one limiter for each endpoint, shared by all runs of the process.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sabm_mesa import engine
from sabm_mesa.llm.budget import Budget, Budgeted
from sabm_mesa.llm.client import Client, Completion, Request
from sabm_mesa.llm.finish import FinishingSent
from sabm_mesa.llm.limit import Limited, Limiter
from sabm_mesa.llm.prices import Priced, price_table
from sabm_mesa.llm.retry import MAX_RETRIES, Retrying
from sabm_mesa.llm.scripted import ScriptedClient

if TYPE_CHECKING:
    from sabm_mesa.llm.openai_client import OpenAIClient

__all__ = [
    "Budget",
    "Client",
    "Completion",
    "Connection",
    "Request",
    "ScriptedClient",
    "close_all",
    "connect",
]

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Connection:
    """How endpoints are reached.

    Attributes:
        base_url: the endpoint of minds that name none; None for OpenAI's own.
        max_concurrency: requests under way at once at the most, or None.
        timeout_s: seconds after which a request is given up.
        max_retries: how often a request is sent again at most.
        prices: a user's own price file, or None.
        budget: caps over all runs that share this object, or None.
    """

    base_url: str | None = None
    max_concurrency: int | None = None
    timeout_s: float = TIMEOUT_S
    max_retries: int = MAX_RETRIES
    prices: str | Path | None = None
    budget: Budget | None = field(default=None, compare=False)


_clients: dict[tuple[str | None, float], OpenAIClient] = {}
_limiters: dict[str | None, Limiter] = {}


def connect(url: str | None = None, connection: Connection | None = None) -> Client:
    """The chain of clients for an endpoint.

    Args:
        url: the endpoint that a mind names; None for that of the connection.
        connection: how endpoints are reached; the defaults when None.

    Raises:
        MissingKey: when the endpoint needs a key and the environment has none.
        ParameterError: when the price file cannot be read.
    """
    from sabm_mesa.llm.openai_client import OpenAIClient

    how = connection or Connection()
    url = url or how.base_url
    place = (url, how.timeout_s)
    if place not in _clients:
        _clients[place] = OpenAIClient(url, how.timeout_s)
    limiter = _limiters.setdefault(url, Limiter())
    if how.max_concurrency is not None:
        limiter.lower_ceiling(how.max_concurrency)
    prices = price_table(how.prices)
    priced = Priced(FinishingSent(_clients[place]), prices)
    client = Retrying(Limited(priced, limiter), how.max_retries)
    return client if how.budget is None else Budgeted(client, how.budget, prices)


def close_all() -> None:
    """Close all connections; the next `connect` opens new ones."""
    clients = list(_clients.values())
    _clients.clear()
    _limiters.clear()

    async def close() -> None:
        for client in clients:
            await client.close()

    if clients:
        engine.run(close())


atexit.register(close_all)
