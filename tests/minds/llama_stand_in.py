"""A stand-in for llama-cpp-python, as far as the package uses it, where it is not installed.

It says what it is asked: answers follow from the seed, so that who got which answer can be told.
The same things are shown with the real library in tests/integration.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

THOUGHT = 1000
"""Tokens of a thought."""


class Llama:
    """A model that is loaded from a file that says ``GGUF`` and then what it is to do.

    After ``GGUF``: ``broken`` cannot be loaded, ``endless`` writes until it is told to end,
    ``thinks`` thinks for `THOUGHT` tokens, and anything else is written before each answer.
    """

    loaded: list[Llama]
    under_way: threading.Semaphore

    def __init__(self, path: str, *, n_ctx: int, verbose: bool, **_sizes: int) -> None:
        self.manner = Path(path).read_bytes()[4:].decode()
        if self.manner == "broken":
            raise ValueError(f"Failed to load model from file: {path}")
        assert not verbose
        self.n_ctx = n_ctx
        self.asked: list[dict[str, Any]] = []
        self.threads: set[str] = set()
        self.written = self.n_tokens = 0
        self.kept: list[int] = []
        self.writing = threading.Event()
        self.closed = False
        self._alone = threading.Lock()
        self.loaded.append(self)

    def reset(self) -> None:
        self.n_tokens = 0

    def generate(self, prompt: list[int], n: int) -> Iterator[int]:
        self.kept.append(self.n_tokens)
        self.n_tokens = len(prompt) + n
        while n > 0 or self.manner == "endless":
            n -= 1
            yield n

    def create_chat_completion(self, **asked: Any) -> dict[str, Any]:
        assert self._alone.acquire(blocking=False), "it is asked while it answers"
        self.asked.append(asked)
        self.threads.add(threading.current_thread().name)
        prompt = [ord(sign) for each in asked["messages"] for sign in each["content"]]
        if len(prompt) > self.n_ctx:
            self._alone.release()
            raise ValueError("Requested tokens exceed context window")
        for _ in self.generate(prompt, n=3):
            self.written += 1
            self.writing.set()
        seed = asked["seed"] % 101
        form = asked.get("response_format", {}).get("schema", {}).get("properties", {"answer": {}})
        said = {
            name: f"I think of {seed}." if field.get("type") == "string" else seed
            for name, field in form.items()
        }
        self._alone.release()
        text, reason = self.manner + json.dumps(said), "stop"
        if self.manner == "thinks":
            cut_off = asked["max_tokens"] < THOUGHT
            text = "<think>Well" if cut_off else f"<think>Well</think>{json.dumps(said)}"
            reason = "length" if cut_off else "stop"
        return {
            "model": asked["model"],
            "choices": [{"message": {"content": text}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 3},
        }

    def close(self) -> None:
        self.closed = True
