"""The client for a model in a GGUF file, which llama.cpp runs in this process.

Nothing is sent anywhere and nothing is paid. The file is loaded once; its answers are written one
after another, on a thread of their own, by half of the processors, since two often share a core.

An answer depends on its request and the seed in it alone, bit for bit, so that with the same file,
llama.cpp and machine a run repeats. (What repeats it anywhere is its recording.) For that, what a
prompt has in common with the one before is not read again only in whole batches: where else it is
cut into batches, sums come out otherwise in their last bits, and now and then another word does.

The defaults are those of llama-cpp-python: at present a temperature of 0.2. An answer
has as many tokens as a budget sets aside for it; `--timeout` and `--max-concurrency` are for
servers, and hold here for nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from sabm_mesa.errors import BadRequest, ParameterError, error_message
from sabm_mesa.llm.budget import ANSWER_TOKENS
from sabm_mesa.llm.client import Completion, Request
from sabm_mesa.llm.dialect import recorded
from sabm_mesa.llm.reading import read_completion

LIBRARY = "llama_cpp"
CONTEXT = 8192
"""Tokens of prompt and answer together at most: what they need of memory grows with them."""
BATCH = 128
"""Tokens of a prompt that are read at once."""
_MAGIC = b"GGUF"
_BROKEN = (ValueError, RuntimeError, OSError, TemplateError)
"""Errors that llama-cpp-python raises for a file, a prompt or a template that it cannot use."""


class GGUFClient:
    """Asks the model in a GGUF file.

    Args:
        path: the file.

    Attributes:
        file: name, size and SHA-256 of the file, as the recording of each answer has them.

    Raises:
        ParameterError: when there is no such file, when it is no GGUF file or cannot be loaded, or
            when llama-cpp-python is not installed.
    """

    def __init__(self, path: Path) -> None:
        _check(path)
        self._llama = _load(path)
        self.file = _identity(path)
        self._given_up = threading.Event()
        self._read: list[int] = []  # the prompt that llama.cpp has in memory
        # The library neither ends before an answer does nor cuts prompts as it is needed here;
        # this is where it asks for the tokens of an answer.
        self._generate, self._llama.generate = self._llama.generate, self._tokens
        self._thread = ThreadPoolExecutor(1, "sabm-gguf")

    async def complete(self, request: Request) -> Completion:
        """Complete a chat; when it is cancelled, so is the writing of the answer.

        Args:
            request: the request.

        Raises:
            BadRequest: when llama.cpp cannot answer it: it is longer than the context, say.
        """
        given_up = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._answer, request, given_up)
        finally:
            given_up.set()

    async def close(self) -> None:
        """Let go of the model, when the answer under way is written."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._llama.close()

    def _answer(self, request: Request, given_up: threading.Event) -> Completion:
        self._given_up = given_up
        optional: dict[str, Any] = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
        }
        if request.schema is not None:
            optional["response_format"] = {"type": "json_object", "schema": request.schema}
        started = time.perf_counter()
        try:
            body = self._llama.create_chat_completion(
                messages=[{"role": role, "content": said} for role, said in request.messages],
                max_tokens=request.limit or ANSWER_TOKENS,
                model=self.file,
                **{name: value for name, value in optional.items() if value is not None},
            )
        except _BROKEN as error:
            raise BadRequest(
                f"llama.cpp cannot answer from {self.file.partition(',')[0]} "
                f"({error_message(error)}): the prompt and its answer may have {CONTEXT} tokens, "
                "and the file needs a chat template that takes a system message."
            ) from None
        done = read_completion(body, request, time.perf_counter() - started)
        given = {name: value for name, value in optional.items() if value is not None}
        sent = {**given, "max_tokens": request.limit or ANSWER_TOKENS}
        asked = {**given, "max_tokens": request.max_tokens or ANSWER_TOKENS}
        if request.max_thought_tokens is not None:
            asked["max_thought_tokens"] = request.max_thought_tokens
        return done._replace(cost_usd=0.0, provider="llama.cpp", parameters=recorded(asked, sent))

    def _tokens(self, prompt: Sequence[int], **options: Any) -> Iterator[int]:
        """The tokens of an answer, until it is given up."""
        before, self._read = self._read, []
        kept = _in_common(before, prompt) // BATCH * BATCH
        if kept:
            self._llama.n_tokens = kept
        else:
            self._llama.reset()
        for token in self._generate(prompt, **options):
            self._read = list(prompt)
            if self._given_up.is_set():
                return
            yield token


def _in_common(before: Sequence[int], now: Sequence[int]) -> int:
    """Tokens with which two prompts begin alike; the last one is always read anew."""
    pairs = enumerate(zip(before, now[:-1], strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(before), len(now) - 1))


def _check(path: Path) -> None:
    """Check that there is a GGUF file."""
    try:
        with path.open("rb") as file:
            found = file.read(len(_MAGIC))
    except OSError as error:
        raise ParameterError(
            f"Cannot read the model {path} ({error.strerror}): give the path of a GGUF file, as in "
            "--minds gguf:models/small.gguf."
        ) from None
    if found != _MAGIC:
        raise ParameterError(
            f"{path} is no GGUF file: download the model in the format GGUF (*.gguf)."
        )


def _load(path: Path) -> Any:
    """The model, loaded by llama.cpp."""
    try:
        library = import_module(LIBRARY)
    except ImportError:
        raise ParameterError(
            "A model in a GGUF file is run by llama.cpp, which is not installed: "
            "pip install 'sabm-mesa[local]', or use a server (--minds llm:MODEL@URL)."
        ) from None
    except (OSError, RuntimeError) as error:  # its own library, or one that this needs
        raise ParameterError(
            f"llama-cpp-python is installed and cannot be loaded ({error_message(error)}): install "
            "it anew, or use a server (--minds llm:MODEL@URL)."
        ) from None
    threads = max(1, (os.cpu_count() or 1) // 2)
    try:
        return library.Llama(
            str(path), n_ctx=CONTEXT, n_batch=BATCH, n_ubatch=BATCH,
            n_threads=threads, n_threads_batch=threads, verbose=False,
        )  # fmt: skip
    except _BROKEN as error:
        raise ParameterError(
            f"llama.cpp cannot load {path} ({error_message(error)}): is the file complete, is "
            "there enough memory, and is llama-cpp-python new enough for this model?"
        ) from None


def _identity(path: Path) -> str:
    """Name, size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{path.name}, {path.stat().st_size} bytes, sha256 {digest}"
