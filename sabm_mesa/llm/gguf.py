"""Facts in the header of a GGUF file: the memory of its server, its chat template.

They are found by their names. Only llama.cpp knows whether a file is whole, when it loads it.

Source: the specification of the format, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import errno
import hashlib
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from sabm_mesa.errors import ParameterError

NO_TEMPLATE = (
    "no chat template: it is probably a base model, which answers no questions. Choose a model "
    "for chats (its name often ends in -Instruct)."
)
_MAGIC = re.compile(rb"GGUF[\x02\x03]\0\0\0")
_HEADER = 2**25
"""More bytes than any header takes, with its vocabulary."""
_CACHE_BYTES = 2
"""Bytes of a number in the cache of keys and values: llama.cpp keeps 16-bit floats."""


@dataclass(frozen=True)
class GGUFHeader:
    """Facts about a model that its file states.

    Attributes:
        context: the maximum number of tokens of prompt and answer in its training; 0 when not
            stated.
        cache_bytes: bytes of memory for each token that its server keeps.
        template: its chat template, ``""`` without one.
    """

    context: int
    cache_bytes: int
    template: str

    @property
    def remark(self) -> str:
        """The remark on a file without a chat template; ``""`` with one."""
        return "" if self.template else NO_TEMPLATE

    @property
    def may_think(self) -> bool:
        """Whether its chat template has a place for thoughts."""
        return "think" in self.template or "reason" in self.template


def read_header(path: Path) -> GGUFHeader:
    """Read the header of a GGUF file.

    Raises:
        ParameterError: when there is no such file, or it is not a GGUF file.
    """
    try:
        _check_regular(path)
        with path.open("rb") as file:
            head = file.read(_HEADER)
    except OSError as error:
        raise ParameterError(
            f"Cannot read the model {path} ({error.strerror}): give the path of a GGUF file, as in "
            "--minds gguf:models/small.gguf."
        ) from None
    if not _MAGIC.match(head):
        raise ParameterError(
            f"{path} is not a GGUF file: download the model in the format GGUF, version 2 or 3 "
            "(*.gguf)."
        )

    def number(name: bytes, default: int = 0) -> int:
        stated = re.search(rb"\.%s[\x04\x05]\0\0\0(.{4})" % re.escape(name), head, re.DOTALL)
        return int.from_bytes(stated[1], "little") if stated else default

    def text(name: bytes) -> str:
        stated = re.search(rb"%s\x08\0\0\0(.{8})" % re.escape(name), head, re.DOTALL)
        if stated is None:
            return ""
        length = int.from_bytes(stated[1], "little")
        return head[stated.end() : stated.end() + length].decode("utf-8", "replace")

    heads = max(number(b"attention.head_count"), 1)
    width = number(b"embedding_length") // heads
    keys, values = number(b"attention.key_length", width), number(b"attention.value_length", width)
    kept = number(b"attention.head_count_kv", heads) * (keys + values)
    return GGUFHeader(
        number(b"context_length"),
        number(b"block_count") * kept * _CACHE_BYTES,
        text(b"tokenizer.chat_template"),
    )


def _check_regular(path: Path) -> None:
    """Refuse folders, devices and named pipes: nobody may ever write into one of those."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hexadecimal.

    Raises:
        OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
