"""Endpoints: their addresses, and which key goes to which.

``OPENAI_API_KEY`` belongs to OpenAI's own address, to that of ``OPENAI_BASE_URL`` and to that of
``--base-url``. Any other endpoint gets a key only when a file names one for it::

    [endpoints.mistral]
    base_url = "https://api.mistral.ai/v1"
    key_env = "MISTRAL_API_KEY"                  # the variable of the environment; none by default
    extra_body = { safe_prompt = false }         # more fields of each request
    max_concurrency = 4                          # requests under way at once at most

    [endpoints.azure]
    base_url = "https://LAB.openai.azure.com/openai/deployments/NAME?api-version=2024-10-21"
    key_env = "AZURE_OPENAI_API_KEY"
    key_header = "api-key"                       # by default Authorization: Bearer KEY

and the mind ``llm:mistral-small-latest@mistral``. The endpoints in `PRESETS` need no file:
``llm:claude-haiku-4-5@anthropic``.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import (
    KEY_VARIABLE,
    MissingKey,
    ParameterError,
    about,
    hide_variable,
    key,
)

URL_VARIABLE = "OPENAI_BASE_URL"
ENDPOINTS_VARIABLE = "SABM_ENDPOINTS"
"""Names the file of endpoints for the viewer."""
OPENAI_URL = "https://api.openai.com/v1"
REACHABLE_S = 5.0
"""Seconds without a response until an address counts as wrong."""
WAYS = (
    f"Set {KEY_VARIABLE} in the environment;",
    "or name a server that needs no key, as of Ollama or vLLM: --base-url http://127.0.0.1:8000/v1;",
    "or run without a server: --minds classical, or a small model on this machine, --minds local.",
)
"""The most common remedies for a missing or wrong key."""
NAME = re.compile(r"[A-Za-z][\w-]*\Z")
"""The name of an endpoint."""
_VARIABLE, _HEADER = "[A-Z_a-z][0-9A-Z_a-z]*", "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_SECRET_NAME = re.compile(r"key|token|secret|auth|password|cookie|\bsig", re.IGNORECASE)
_ADDED = "/chat/completions"
"""The ending of addresses that the client adds itself."""
_OWN_HEADERS = {
    "authorization", "host", "content-length", "content-type", "content-encoding",
    "transfer-encoding", "connection", "accept-encoding",
}  # fmt: skip
_OWN_FIELDS = {
    "model", "messages", "n", "stream", "temperature", "top_p", "seed", "max_tokens",
    "max_completion_tokens", "response_format", "reasoning_effort",
}  # fmt: skip
"""Fields of a request that the run sets."""


@dataclass(frozen=True)
class Endpoint:
    """A server, and the fields that it gets with each request.

    Attributes:
        url: the address, with the query of each request after its ``?``; None for OpenAI's own.
        name: the name of its entry in the file; ``""`` for one without.
        key_env: the variable of the environment that holds its key; ``""`` when it gets none.
        key_header: the header with the key; ``""`` for ``Authorization: Bearer KEY``.
        label: a name to show in place of its address; ``""`` shows the address.
        own_key: a key that only this process knows, in place of one from the environment.
        extra_body: name → value of more fields of a request.
        max_concurrency: the maximum number of simultaneous requests, or None.
    """

    url: str | None = None
    name: str = ""
    key_env: str = ""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    max_concurrency: int | None = None
    key_header: str = ""
    label: str = ""
    own_key: str = field(default="", repr=False)

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own, which answers nothing without a key."""
        return is_openai(self.url)

    @property
    def where(self) -> str:
        """The endpoint in words."""
        return self.label or (self.base_url if self.url else "the OpenAI API")

    @property
    def base_url(self) -> str:
        """The address without its query."""
        return (self.url or OPENAI_URL).partition("?")[0].rstrip("/")

    @property
    def query(self) -> dict[str, str]:
        """Its query: name → value, such as the version of Azure's interface."""
        return dict(parse_qsl(urlsplit(self.url or "").query))

    @property
    def identity(self) -> str:
        """A text that two endpoints share when they can share connections."""
        same = self.url, self.key_env, self.key_header, dict(self.extra_body)
        return json.dumps(same, sort_keys=True)

    def key(self) -> str:
        """The key that goes there, or ``""``."""
        return self.own_key or (key(self.key_env) if self.key_env else "")

    def hide_key(self) -> None:
        """Hide its key from now on in all texts that this process writes."""
        hide_variable(self.key_env)

    def check_key(self) -> None:
        """Raise an error at once when the key for requests is missing.

        Raises:
            MissingKey: when the endpoint needs a key and there is none, or the key is invalid.
        """
        key = self.key()
        if not key and self.name and self.key_env:
            raise MissingKey(f"The endpoint {self.name!r} needs the key {self.key_env}.", (
                f"Set {self.key_env} in the environment.",
            ))  # fmt: skip
        if not key and self.is_openai:
            raise MissingKey("There is no API key.", WAYS)
        if not (key.isascii() and key.isprintable()):
            which = "The API key" if self.key_env == KEY_VARIABLE else f"The key {self.key_env}"
            raise MissingKey(f"{which} has characters that no key has.", WAYS)


PRESETS = {
    "anthropic": Endpoint("https://api.anthropic.com/v1", "anthropic", "ANTHROPIC_API_KEY"),
    "google": Endpoint(
        "https://generativelanguage.googleapis.com/v1beta/openai", "google", "GEMINI_API_KEY"
    ),
}
"""Endpoints that need no file: the OpenAI-compatible addresses of Anthropic and Google.

An entry of the same name in a file replaces one of them.
"""


@about("endpoints")
def read_endpoints(path: str | Path) -> dict[str, Endpoint]:
    """Read a file of endpoints.

    Returns:
        Name → endpoint. From now on, their keys are removed from all written texts.

    Raises:
        ParameterError: when it cannot be read, or an entry is wrong.
    """
    table = read_toml(path, "file of endpoints", ParameterError)
    entries = table.get("endpoints")
    if set(table) != {"endpoints"} or not isinstance(entries, dict):
        raise ParameterError(
            f"{path}: a file of endpoints has tables [endpoints.NAME], each with a base_url, and "
            "nothing else."
        )
    return {name: _endpoint(name, entry, f"{path}: [endpoints.{name}]") for name, entry in
            entries.items()}  # fmt: skip


def endpoints_of_server() -> dict[str, Endpoint]:
    """The endpoints of the file that the environment names, as for the viewer; none without one.

    Raises:
        ParameterError: as `read_endpoints`.
    """
    path = os.environ.get(ENDPOINTS_VARIABLE)
    return read_endpoints(path) if path else {}


class _Entry(BaseModel):
    """An entry of a file of endpoints; the title of a field says what it is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    base_url: str
    key_env: str | None = Field(
        None, pattern=rf"\A({_VARIABLE})?\z",
        title="is the name of a variable of the environment, such as LAB_API_KEY, and not the key",
    )  # fmt: skip
    key_header: str = Field(
        "", pattern=rf"\A({_HEADER})?\z",
        title="is the name of a header, such as api-key, and not the key",
    )  # fmt: skip
    extra_body: Any = Field({})
    max_concurrency: int | None = Field(None, ge=1, title="must be an integer of 1 or more")


def _endpoint(name: str, given: Any, where: str) -> Endpoint:
    if not NAME.match(name):
        raise ParameterError(
            f"{where}: the name of an endpoint must consist of letters, digits, - and _, and begin "
            "with a letter."
        )
    try:
        entry = _Entry.model_validate(given)
        url = check_url(entry.base_url)
    except ValidationError as error:
        raise ParameterError(f"{where}{_problem(error)}.") from None
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None
    if entry.key_header.lower() in _OWN_HEADERS:
        raise ParameterError(
            f"{where}: the header {entry.key_header!r} is set already, so it cannot hold the key: "
            "without key_header, the key is sent as Authorization: Bearer KEY."
        )
    variable = (KEY_VARIABLE if is_openai(url) else "") if entry.key_env is None else entry.key_env
    extra = check_extra_body(entry.extra_body, f"{where}: extra_body")
    most, header = entry.max_concurrency, entry.key_header
    endpoint = Endpoint(url, name, variable, extra, most, header)
    endpoint.hide_key()
    return endpoint


def _problem(error: ValidationError) -> str:
    """The first problem of an entry, without its values, which may be keys."""
    field = (*error.errors()[0]["loc"], "")[0]
    if field not in _Entry.model_fields or field == "base_url":
        return f" needs a base_url, and may have {', '.join([*_Entry.model_fields][1:])}"
    return f": {field} {_Entry.model_fields[str(field)].title}"


def check_extra_body(extra: Any, where: str) -> Mapping[str, Any]:
    """Check fields that are sent with each request in addition to those of the run.

    Raises:
        ParameterError: when it is not a table, has a field that the run sets, or cannot be sent.
    """
    if not isinstance(extra, Mapping):
        raise ParameterError(f"{where} is a table of fields, not {extra!r}.")
    if taken := sorted(_OWN_FIELDS & set(extra)):
        raise ParameterError(f"{where} cannot have {taken[0]!r}, which the run sets.")
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{where} has a value that JSON cannot hold, such as a date."
        ) from None
    return extra


def is_openai(url: str | None) -> bool:
    """Whether an address is OpenAI's own.

    Args:
        url: the address; None for the default, OpenAI's own.
    """
    if url is None:
        return True
    parts, openai = urlsplit(url), urlsplit(OPENAI_URL)
    return (parts.scheme, parts.hostname, parts.port or 443) == (
        openai.scheme,
        openai.hostname,
        443,
    )


def is_loopback(url: str) -> bool:
    """Whether an address leads to this computer."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def endpoint_url(url: str | None) -> str | None:
    """The endpoint as given, or that of the environment, or None for OpenAI's own.

    Raises:
        ParameterError: when it is not an address, or contains a password or key.
    """
    url = url or os.environ.get(URL_VARIABLE)
    return check_url(url) if url else None


@about("base_url")
def check_url(url: str) -> str:
    """Check an address and leave out the slash at its end.

    Raises:
        ParameterError: when it is not an address, or contains a password or key, which would be
            recorded.
    """
    try:
        parts = urlsplit(url)
        legal = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        legal = False
    if not legal:
        raise ParameterError(
            "The address of a server must look like http://127.0.0.1:8000/v1 "
            f"(got {url.rpartition('@')[2]!r})."
        )
    if "@" in parts.netloc or any(map(_SECRET_NAME.search, parse_qs(parts.query))):
        raise ParameterError(
            "The address of a server must not hold a password or key, since addresses are "
            f"recorded: set {KEY_VARIABLE} in the environment, or name a key in a file "
            "(--endpoints)."
        )
    if parts.path.rstrip("/").endswith(_ADDED):
        raise ParameterError(
            f"The address must be that of the server, not of its chats: leave out {_ADDED}, which "
            f"is added to it (got {url!r})."
        )
    return url.rstrip("/")


def check_listener(address: str, what: str) -> None:
    """Check that a server listens at an address.

    Raises:
        ParameterError: when it is not an address, or no server answers there.
    """
    try:
        parts = urlsplit(f"//{address}")
        host_and_port = parts.hostname or "", parts.port or 0
        socket.create_connection(host_and_port, REACHABLE_S).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"There is no {what} at {address!r} ({reason}): it must be HOST:PORT."
        ) from None
