"""Small GGUF files, and servers for them that take no process."""

import struct
from typing import Any

import pytest

from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.local import LocalServer

KEYS = {
    "general.architecture": "llama",
    "llama.context_length": 4096,
    "llama.embedding_length": 64,
    "llama.block_count": 3,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 2,
    "tokenizer.chat_template": "{{ messages }}",
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.ggml.scores": [0.5, 1.5],
}


def in_gguf(value: Any) -> tuple[int, bytes]:
    """The type of a value and its bytes, as the format has them."""
    match value:
        case str():
            return 8, struct.pack("<Q", len(value.encode())) + value.encode()
        case int():
            return 4, struct.pack("<I", value)
        case float():
            return 6, struct.pack("<f", value)
        case _:
            parts = [in_gguf(each) for each in value]
            return 9, struct.pack("<IQ", parts[0][0], len(parts)) + b"".join(b for _, b in parts)


def gguf(values: dict[str, Any], version: int = 3) -> bytes:
    content = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    for name, value in values.items():
        kind, packed = in_gguf(value)
        content += in_gguf(name)[1] + struct.pack("<I", kind) + packed
    return content


def unstarted(monkeypatch: pytest.MonkeyPatch) -> list[LocalServer]:
    """The servers that run, where starting one takes no process."""
    running: list[LocalServer] = []

    class Unstarted(LocalServer):
        endpoint = Endpoint("http://127.0.0.1:9/v1")

        def _start(self, context: int) -> None:
            self.slots, self.context = self._plan(context), context
            running.append(self)

        def stop(self) -> None:
            if self in running:
                running.remove(self)

    monkeypatch.setattr("sabm_mesa.llm.local.LocalServer", Unstarted)
    monkeypatch.setattr("sabm_mesa.llm.local.runtime", lambda: "1")
    return running
