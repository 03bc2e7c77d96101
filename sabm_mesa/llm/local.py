"""Local models: llama.cpp's server in its own process, asked by the ordinary client.

A GGUF file has one server for all runs of a command. It listens on loopback at a port that is free,
answers only to a random key, and ends with the command (`llama_server`). The recording has the
SHA-256 of the file and the version of the runtime, but neither port nor key.

The server handles `slots` requests at the same time, each with its own context. A request that
needs a longer context is refused before it is sent: no prompt is ever cut.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Annotated, Any
from weakref import WeakSet

from annotated_types import Ge, Le

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.parameters import check_fields
from sabm_mesa.errors import (
    ContextTooSmall,
    LLMError,
    MindSpecError,
    ParameterError,
    ServerUnavailable,
)
from sabm_mesa.llm.client import Client, FirstAlone, Sender
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.gguf import read_header, sha256_of
from sabm_mesa.llm.quirks import UNSURE, Quirks
from sabm_mesa.llm.request import Request
from sabm_mesa.llm.server import Server

RUNTIME = "xllamacpp"
"""The distribution that brings llama.cpp."""
ANSWER_TOKENS = 1024
"""The maximum number of tokens of an answer when a run sets no limit: small models may never end
one."""
SLOTS = 8
"""The default number of simultaneous requests, if memory allows it."""
CONTEXT = 4096
"""The default context of a slot, in tokens of prompt and answer."""
LARGEST_CONTEXT = 131_072
"""The longest context, whatever a model was trained for: llama.cpp reserves the memory at once."""
_SHARE_OF_MEMORY = 0.8
_BEGINNING = 200
"""The number of equal first characters of requests that begin alike."""
_LOOK_S = 0.2
"""Seconds over which the load of the processor is measured."""
_MESSAGE_TOKENS, _TEMPLATE_TOKENS = 16, 256
"""The maximum number of tokens that a template adds to a message and to a chat; above it, they are
counted."""
_ENVIRONMENT = re.compile(
    r"PATH|HOME|LANG|LC_\w+|TMPDIR|TEMP|TMP|SYSTEMROOT|LD_LIBRARY_PATH|DYLD_\w+|PYTHON\w+|"
    r"VIRTUAL_ENV|OMP_\w+|GGML_\w+|CUDA_\w+|HIP_\w+|ROCR_\w+|VK_\w+|METAL_\w+"
)
"""Variables of the environment that the server gets; no key is among them."""
_REASON = re.compile(r"error loading model: (.*)|failed to allocate (.*)|(\w*Error: .*)")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalOptions:
    """How the server of a local model is started; None leaves a number to this machine.

    Attributes:
        threads: threads that compute; by default one per free core.
        slots: the number of simultaneous requests.
        context: tokens of prompt and answer together in each slot.
        gpu_layers: layers of the model on the graphics card; by default the runtime chooses.

    Raises:
        ParameterError: for a number that is too small or too large.
    """

    threads: Annotated[int, Ge(1), Le(1024)] | None = None
    slots: Annotated[int, Ge(1), Le(256)] | None = None
    context: Annotated[int, Ge(256), Le(LARGEST_CONTEXT)] | None = None
    gpu_layers: Annotated[int, Ge(0), Le(10_000)] | None = None

    def __post_init__(self) -> None:
        """Refuse sizes that crash the runtime."""
        check_fields(self)

    @classmethod
    def parse(cls, text: str) -> LocalOptions:
        """Read the options behind the ``?`` of a spec: ``threads=2&slots=4``.

        Raises:
            MindSpecError: for an unknown option, or a value that is not a whole number.
            ParameterError: for a number that is too small or too large.
        """
        options: dict[str, int] = {}
        known = [field.name for field in fields(cls)]
        for part in filter(None, text.split("&")):
            name, _, value = part.partition("=")
            if name not in known or name in options or not value.isdecimal():
                raise MindSpecError(
                    f"A local model has no option {part!r}: options are {', '.join(known)}, each "
                    "once and with a whole number, as in local?threads=2&slots=4."
                )
            options[name] = int(value)
        return cls(**options)


def split_options(spec: str) -> tuple[str, str]:
    """The spec of a local model without its options, and the options."""
    name, _, options = spec.partition("?")
    return name, options


class LocalServer:
    """The server of one GGUF file.

    Args:
        context: the context of a slot, in tokens, if model and options allow it.
        spec: the spec of the mind that names it, for errors; ``gguf:FILE`` by default.

    Attributes:
        name: the name of the file.
        options: its start options.
        file: name, size and SHA-256 of the file, as the recording of each answer has them.
        header: the facts that the file states.
        slots: the number of simultaneous requests.
        context: tokens of prompt and answer together in each slot.
        endpoint: its endpoint.

    Raises:
        ParameterError: when the runtime is not installed, the file cannot be used, or there is too
            little memory.
    """

    endpoint: Endpoint

    def __init__(
        self,
        path: Path,
        options: LocalOptions,
        context: int = CONTEXT,
        spec: str = "",
    ) -> None:
        self._path, self.options = path, options
        self._name = split_options(spec or f"gguf:{path}")[0]
        self.name = path.name
        self.header = read_header(path)
        self._runtime = runtime()
        self.file = f"{path.name}, {path.stat().st_size} bytes, sha256 {sha256_of(path)}"
        self._most = min(self.header.context or LARGEST_CONTEXT, LARGEST_CONTEXT)
        self._threads = options.threads or free_cores()
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self._lock = threading.Lock()
        room = UNSURE if self.header.may_think else 0
        self._start(options.context or min(self._most, context + room))

    def announce(self, note: str) -> None:
        """Log that it runs, with a note, and what its model lacks."""
        _log.warning(
            "%s runs on this machine with %d thread%s. It answers up to %d questions at once, of "
            "%s tokens each.%s",
            self.name, self._threads, "" if self._threads == 1 else "s", self.slots,
            f"{self.context:,}", note and f" {note}",
        )  # fmt: skip
        if self.header.remark:
            _log.warning("%s has %s", self.name, self.header.remark)

    @property
    def failure(self) -> str:
        """Why the server ended by itself; ``""`` as long as it runs."""
        status = None if self._process is None else self._process.poll()
        if status is None:
            return ""
        return f"signal {-status}" if status < 0 else self._reason() or f"exit status {status}"

    def is_short_of(self, context: int) -> bool:
        """Whether it could have been started with a longer context that a run needs."""
        return not self.options.context and self.context < min(context, self._most)

    def too_small(self, needed: int) -> str:
        """The advice for a question that needs a longer context."""
        enough = -(-needed // 256) * 512
        if enough <= self._most:
            why = "context is set to that" if self.options.context else "shorter ones were expected"
            way = f"begin again with a longer one (--minds '{self._with(context=enough)}')"
        else:
            why = "the model takes no more" if self.context == self._most else "set for it"
            way = (
                "choose another model, a smaller max_tokens, or a setting with shorter prompts "
                "(--set)"
            )
        return (
            f"A question to {self.name} and its answer need a context of {needed:,} tokens, and "
            f"the limit is {self.context:,} ({why}): {way}."
        )

    def _with(self, **changed: int) -> str:
        """The spec of this model with changed options."""
        options = vars(replace(self.options, **changed)).items()
        given = "&".join(f"{name}={value}" for name, value in options if value is not None)
        return f"{self._name}?{given}"

    def stop(self) -> None:
        """Stop the server and its computation."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                process.kill()
                process.wait()
                for stream in (process.stdin, process.stdout, self._errors):
                    if stream is not None:
                        with suppress(OSError):
                            stream.close()

    def _plan(self, context: int) -> int:
        """The slots for which there is memory.

        Raises:
            ParameterError: when there is too little for one slot, or for the requested number.
        """
        weights, cache = self._path.stat().st_size, self.header.cache_bytes * context
        memory = available_memory()
        free = _SHARE_OF_MEMORY * memory - weights
        slots = self.options.slots or SLOTS
        while slots > 1 and self.options.slots is None and slots * cache > free:
            slots //= 2
        if slots * cache > free:
            raise ParameterError(
                f"There is too little memory for {self.name}: it needs "
                f"{(weights + slots * cache) / 1e9:.1f} GB with {slots} × {context:,} tokens of "
                f"context, and {memory / 1e9:.1f} GB are free. Close other programs, choose a "
                f"smaller model, or a smaller context ({self._with(context=1024, slots=1)})."
            )
        return slots

    def _start(self, context: int) -> None:
        self.slots, self.context = self._plan(context), context
        key = secrets.token_urlsafe(32)
        given = {
            "path": str(self._path), "alias": self.file, "key": key, "slots": self.slots,
            "context": context, "threads": self._threads, "verbosity": 1,
            "gpu_layers": self.options.gpu_layers,
        }  # fmt: skip
        script = Path(__file__).with_name("llama_server.py")
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see stop
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)},
            start_new_session=True,  # Ctrl-C is this process's, which then ends the server
        )
        try:
            address = self._address(given)
        except BaseException:
            self.stop()
            raise
        where = f"llama.cpp ({RUNTIME} {self._runtime})"
        self.endpoint = Endpoint(address, label=where, own_key=key)

    def _address(self, given: Mapping[str, Any]) -> str:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(given) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if line:
            return str(json.loads(line))
        process.wait()
        raise ParameterError(
            f"llama.cpp cannot load {self._path} ({self.failure}): is the file complete, is there "
            f"enough memory, and is {RUNTIME} {self._runtime} new enough for this model?"
        )

    def _reason(self) -> str:
        """The first reason that the server printed."""
        if self._errors is None:
            return ""
        self._errors.seek(0)
        match = _REASON.search(self._errors.read())
        return "" if match is None else next(filter(None, match.groups())).strip()


class LocalModel(Sender):
    """The server of a local model, and the requests to it, of all runs.

    Attributes:
        server: the server.
        users: the clients of runs that may ask it.
    """

    def __init__(self, server: LocalServer) -> None:
        super().__init__()
        self.server, self.where = server, server.name
        self.users = WeakSet[Client]()
        self._client = Server(server.endpoint, timeout_s=None)
        self._under_way = 0
        self._first = FirstAlone()

    @property
    def in_use(self) -> bool:
        """Whether a run may ask it, or a request is under way."""
        return bool(self.users) or self._under_way > 0

    def quirks(self, model: str) -> Quirks:
        """The quirks of the model, which specs may name in several ways."""
        del model
        return super().quirks(self.where)

    def turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """Let the first of the requests that begin alike go alone.

        The others then use the cache of the server, and do not read the same text again in each
        slot.
        """
        return self._first.turn("".join(text for _, text in request.messages)[:_BEGINNING])

    async def send(self, request: Request) -> Reply:
        """Complete a chat. It may take any time: an answer that is given up is computed again.

        Raises:
            BadRequest: when the prompt and its answer do not fit into the context.
            LLMError: when the server has ended, or as the ordinary client.
        """
        self._under_way += 1
        try:
            needed = await self._tokens(request)
            if needed > self.server.context:
                raise ContextTooSmall(f"{self.server.too_small(needed)} It was not sent.")
            return await self._client.send(request)
        except ServerUnavailable:
            if failure := self.server.failure:
                raise LLMError(
                    f"The server of {self.server.name} ended by itself ({failure}): if memory is "
                    "short, choose a smaller model or fewer slots. The run can be resumed."
                ) from None
            raise
        finally:
            self._under_way -= 1

    async def close(self) -> None:
        """Close the connections, and end the server."""
        await self._client.close()
        self.server.stop()

    async def _tokens(self, request: Request) -> int:
        """Tokens of the prompt and of the longest answer, counted only when they may not fit."""
        answer = request.limit or ANSWER_TOKENS
        # A token has one byte at least.
        most = sum(len(text.encode()) + _MESSAGE_TOKENS for _, text in request.messages)
        if most + _TEMPLATE_TOKENS + answer <= self.server.context:
            return most + _TEMPLATE_TOKENS + answer
        messages = [{"role": role, "content": text} for role, text in request.messages]

        return await self._client.count(messages) + answer


def runtime() -> str:
    """The version of the runtime.

    Raises:
        ParameterError: when it is not installed.
    """
    try:
        if find_spec(RUNTIME) is not None:
            return version(RUNTIME)
    except (PackageNotFoundError, ValueError):
        pass
    raise ParameterError(
        "Local models are run by llama.cpp, which is not installed: pip install "
        "'sabm-mesa[local]' (for Linux, macOS and Windows), or use a server (--minds "
        "llm:MODEL@URL)."
    )


def free_cores() -> int:
    """Cores of the processor that are free, at least one.

    Two threads on one core do not help, and one thread that has to wait for its core delays all
    others: on two busy cores two threads took more than three times as long as one.
    """
    import psutil

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    cores = min(cores, allowed or cores)
    idle = 1 - psutil.cpu_percent(interval=_LOOK_S) / 100
    return int(max(1, min(cores, round(idle * (os.cpu_count() or 1)))))


def available_memory() -> int:
    """Bytes of memory that are free for a new process."""
    import psutil

    return int(psutil.virtual_memory().available)
