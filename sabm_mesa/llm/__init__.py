"""Language models: one client, and what it calls.

A `Client` takes a request through the limit of the endpoint (`limit`), the budget of the run
(`budget`), the server (`server`, which knows the `quirks` of its models) and the price table
(`prices`). All runs of the process share one server and one limiter for each endpoint. A local
model (`local`) is a server of its own in a process on this machine.
"""

from __future__ import annotations

import atexit
import gc
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.core import engine
from sabm_mesa.core.parameters import check_int
from sabm_mesa.errors import KEY_VARIABLE, ParameterError, ServerInUse, UnknownName, about
from sabm_mesa.llm.budget import CAPS, Budget, check_price
from sabm_mesa.llm.client import MAX_RETRIES, Client
from sabm_mesa.llm.endpoints import (
    NAME,
    PRESETS,
    Endpoint,
    check_url,
    endpoint_url,
    is_loopback,
    is_openai,
    read_endpoints,
)
from sabm_mesa.llm.limit import CEILING, Limiter
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.llm.request import Request
from sabm_mesa.llm.scripted import ScriptedClient

if TYPE_CHECKING:
    from sabm_mesa.llm.local import LocalModel
    from sabm_mesa.llm.server import Server

__all__ = [
    "Budget",
    "Client",
    "Connection",
    "Endpoint",
    "Request",
    "ScriptedClient",
    "close_all",
    "connect",
    "connect_local",
    "read_endpoints",
    "release_local",
]

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Connection:
    """How endpoints are reached.

    Attributes:
        base_url: the endpoint of minds that name none; when None, that of OPENAI_BASE_URL in the
            environment, or OpenAI's own.
        endpoints: name → endpoint, for minds ``llm:MODEL@NAME`` (see `read_endpoints`). Those in
            `sabm_mesa.llm.endpoints.PRESETS` need no entry.
        max_concurrency: the maximum number of simultaneous requests, or None.
        timeout_s: seconds until a request fails.
        max_retries: the maximum number of retries of a request.
        prices: a user's own price file, or None.
        budget: caps over all runs that share this object, or None.
        recorded_url: the endpoint in a recording for minds that name none; used when `base_url` is
            None.
        agreed: more addresses that minds of a recording may name. Addresses of this computer, of
            the file of endpoints, of `base_url`, of the environment, of the presets and of OpenAI
            are always allowed. None when the minds do not come from a recording, and may name any
            address.
        needed: parameters of language models that a study depends on: it fails when a model does
            not support one of them.
        context: tokens that the longest question to a local model and its answer probably need; 0
            when unknown.

    Raises:
        ParameterError: for an illegal value.
    """

    base_url: str | None = None
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict, hash=False)
    max_concurrency: int | None = None
    timeout_s: float = TIMEOUT_S
    max_retries: int = MAX_RETRIES
    prices: str | Path | None = None
    budget: Budget | None = field(default=None, compare=False)
    recorded_url: str | None = None
    agreed: frozenset[str] | None = None
    needed: frozenset[str] = frozenset()
    context: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse settings with which a request would never end."""
        if self.max_concurrency is not None:
            check_int("max_concurrency", self.max_concurrency, 1)
        check_int("max_retries", self.max_retries, 0)
        if not 0 < self.timeout_s < math.inf:
            raise ParameterError(
                f"timeout_s must be more than 0 (got {self.timeout_s!r}).", parameter="timeout_s"
            )
        if self.base_url is not None:
            check_url(self.base_url)

    @classmethod
    def of_recorded(cls, settings: Mapping[str, Any]) -> Connection:
        """The connection of a recording, with its caps and nothing spent.

        Its address comes from the file. So no key is sent there unless this command names the
        address too, and nothing at all is sent unless it is on this computer (see `endpoint`).

        Raises:
            ParameterError: when the price file of the run is missing.
        """
        names = ("max_concurrency", "timeout_s", "max_retries")
        caps = {cap: settings[cap] for cap in CAPS if settings.get(cap) is not None}
        prices = settings.get("prices")
        price_file = prices if prices and str(prices).endswith(".toml") else None
        if price_file is not None and not Path(price_file).is_file():
            raise ParameterError(
                f"The price file of the run, {price_file}, is missing: give it (--prices)."
            )
        return cls(
            **{name: settings[name] for name in names if name in settings},
            prices=price_file,
            budget=Budget(**caps) if caps else None,
            recorded_url=settings.get("base_url"),
            agreed=frozenset(),
        )

    def for_recorded(self, agreed: Iterable[str] = ()) -> Connection:
        """The connection for minds that come from a recording.

        Args:
            agreed: addresses that they may name, when this connection has none.
        """
        return self if self.agreed is not None else replace(self, agreed=frozenset(agreed))

    def may_ask(self, url: str) -> bool:
        """Whether requests may go to an address that may come from a recording."""
        known = {endpoint_url(self.base_url), endpoint_url(None)}
        known |= {endpoint.url for endpoint in self.endpoints.values()} | (
            self.agreed or frozenset()
        )
        return self.agreed is None or url in known or is_openai(url) or is_loopback(url)

    @about("base_url")
    def endpoint(self, named: str | None = None) -> Endpoint:
        """The endpoint that a mind asks.

        Args:
            named: its name or address; None for the endpoint of minds that name none.

        Raises:
            UnknownName: for a name that is neither in the file of endpoints nor a preset.
            ParameterError: for an invalid address, or one from a recording that this command does
                not allow.
        """
        default_url = endpoint_url(self.base_url)
        if not named and (self.base_url is not None or self.recorded_url in {None, default_url}):
            return Endpoint(default_url, key_env=KEY_VARIABLE)
        named = named or self.recorded_url or ""
        if NAME.match(named):
            known = {**PRESETS, **self.endpoints}
            if named not in known:
                raise UnknownName(
                    "endpoint", named, known, "Endpoints are listed in a file: --endpoints."
                )
            known[named].hide_key()
            return known[named]
        url = check_url(named)
        if url in {default_url, endpoint_url(None)} or is_openai(url):
            return Endpoint(url, key_env=KEY_VARIABLE)
        listed = [endpoint for endpoint in self.endpoints.values() if endpoint.url == url]
        if listed[1:]:
            raise ParameterError(
                f"The endpoints {', '.join(endpoint.name for endpoint in listed)} have the address "
                f"{url}: name one of them, llm:MODEL@NAME."
            )
        if not self.may_ask(url):
            raise ParameterError(
                f"The recording uses {url}, which this command does not name, so nothing is sent "
                f"there: if the address is right, add --base-url {url} ({KEY_VARIABLE} is then "
                "sent too), or list it in a file (--endpoints)."
            )
        return listed[0] if listed else Endpoint(url)

    def as_recorded(self) -> dict[str, Any]:
        """Return the recorded form of the connection: all except the budget's state."""
        settings: dict[str, Any] = {
            "base_url": endpoint_url(self.base_url or self.recorded_url),
            "endpoints": {name: endpoint.url for name, endpoint in self.endpoints.items()},
            "max_concurrency": self.max_concurrency,
            "timeout_s": self.timeout_s,
            "max_retries": self.max_retries,
            "prices": PriceTable().date
            if self.prices is None
            else str(Path(self.prices).resolve()),
        }
        if self.budget is not None:
            settings |= {cap: getattr(self.budget, cap) for cap in CAPS}
        return settings


_lock = threading.Lock()
_servers: dict[tuple[str, float], Server] = {}
_models: dict[Path, LocalModel] = {}
_replaced: list[LocalModel] = []
_limiters: dict[str, Limiter] = {}
_of_parents: list[object] = []


def connect(
    named: str | None = None,
    connection: Connection | None = None,
    model: str = "",
    before: Sequence[str] = (),
    *,
    thought: bool = False,
) -> Client:
    """The client for an endpoint.

    Args:
        named: the name or address of the endpoint that a mind names; None for the endpoint of the
            connection.
        model: the name of the model, to check that a budget in dollars can be kept.
        before: the provenances of answers of a recorded run that continues, as JSON.
        thought: whether answers of that run have thoughts.

    Raises:
        MissingKey: when the endpoint needs a key and the environment has none.
        UsageError: when the price file cannot be read, the model has no price for a budget in
            dollars, or the endpoint cannot be used (see `Connection.endpoint`).
    """
    how = connection or Connection()
    endpoint = how.endpoint(named)
    prices = PriceTable(how.prices, endpoint.base_url)
    if model:
        check_price(model, how.budget, prices)
    with _lock:
        key = (endpoint.identity, how.timeout_s)
        if key not in _servers:
            engine.raise_file_limit()
            from sabm_mesa.llm.server import Server

            _servers[key] = Server(endpoint, how.timeout_s)
        server = _servers[key]
        if endpoint.identity not in _limiters:
            _limiters[endpoint.identity] = Limiter()
        limiter = _limiters[endpoint.identity]
    endpoint.check_key()
    server.quirks(model).adopt(before, thought=thought)
    ceiling = min(how.max_concurrency or CEILING, endpoint.max_concurrency or CEILING)
    return Client(server, prices, how.budget, limiter, ceiling, how.max_retries)


def connect_local(
    path: Path,
    options: str = "",
    connection: Connection | None = None,
    before: Sequence[str] = (),
    *,
    thought: bool = False,
    note: str = "",
    spec: str = "",
) -> tuple[Client, str]:
    """The client for a GGUF file, which has one server for all runs of a process.

    A server with other options or too short a context is ended first, unless a run uses it.

    Args:
        options: how its server is started, such as ``"threads=2&slots=4"``.
        before: the provenances of answers of a recorded run that continues, as JSON.
        thought: whether answers of that run have thoughts.
        note: a sentence for the log line on the start of the server.
        spec: the spec of the mind, for errors; ``gguf:FILE`` by default.

    Returns:
        The client; name, size and SHA-256 of the file.

    Raises:
        ParameterError: when there is no such file, it cannot be loaded, or there is too little
            memory.
        ServerInUse: when a run uses its server with other options.
        MindSpecError: for options that do not exist.
    """
    from sabm_mesa.llm.local import CONTEXT, LocalModel, LocalOptions, LocalServer

    how = connection or Connection()
    path = Path(os.path.realpath(path))  # also of links that lead in a circle
    given = LocalOptions.parse(options)
    with _lock:
        old = _models.get(path)
        changed = old is not None and old.server.options != given
        if old is not None and (changed or old.server.is_short_of(how.context)):
            if old.in_use:
                gc.collect()  # a run that nobody has any more uses nothing
            if not old.in_use:
                _replaced.append(_models.pop(path))
                old.server.stop()
                _limiters.pop(str(path), None)
            elif changed:
                raise ServerInUse(
                    f"{path.name} runs already with other options: a file has one server. Give "
                    "the same options behind the ? everywhere, or first end the runs that use it "
                    "(in Python model.close(), in the viewer Reset).",
                    parameter="minds",
                )
        if path not in _models:
            server = LocalServer(path, given, how.context or CONTEXT, spec)
            server.announce(note)
            _models[path] = LocalModel(server)
        model = _models[path]
        server = model.server
        limiter = _limiters.setdefault(str(path), Limiter(server.slots))
    quirks = model.quirks(path.name)
    quirks.known = quirks.known or not server.header.may_think
    quirks.adopt(before, thought=thought)
    ceiling = min(how.max_concurrency or CEILING, server.slots)
    prices = PriceTable(how.prices)
    # Nothing is paid for here, so a stop waits for no answer.
    client = Client(model, prices, how.budget, limiter, ceiling, how.max_retries, grace_s=0)
    model.users.add(client)
    return client, server.file


def release_local(client: Client) -> None:
    """Note that a client of `connect_local` is finished: another run may have other options."""
    for model in list(_models.values()):
        model.users.discard(client)


def close_all() -> None:
    """Close all connections, end the servers of local models; the next `connect` opens new ones."""
    with _lock:
        models = [*_models.values(), *_replaced]
        senders = [*(server for server in _servers.values() if server.is_open), *models]
        _forget()

    async def close() -> None:
        for sender in senders:
            await sender.close()

    try:
        if senders:
            engine.run(close())
    finally:  # also after Ctrl-C
        for model in models:
            model.server.stop()


def _forget() -> None:
    """Empty what runs share: servers, local models and limits."""
    kept: dict[Any, Any] | list[Any]
    for kept in (_servers, _models, _replaced, _limiters):
        kept.clear()


def _leave_to_parent() -> None:
    """Start without connections in a forked process: it must not use or close its parent's."""
    global _lock  # noqa: PLW0603 - the parent may have forked while it was held
    _lock = threading.Lock()
    _of_parents.extend([*_servers.values(), *_models.values(), *_replaced])
    _forget()


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
