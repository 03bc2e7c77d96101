"""The header of a GGUF file: the facts that determine the memory of its server.

Source: the specification of the format, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabm_mesa.errors import ParameterError

MAGIC = b"GGUF"
NO_TEMPLATE = (
    "no chat template: it is probably a base model, which answers no questions. Choose a model "
    "for chats (its name often ends in -Instruct)."
)
_STRING, _ARRAY = 8, 9
_ALIGNMENT = 32
"""The default alignment of tensors, in bytes."""
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
"""Types of values, as `struct` reads them."""
_CACHE_BYTES = 2
"""Bytes of a number in the cache of keys and values: llama.cpp keeps 16-bit floats."""


@dataclass(frozen=True)
class GGUFHeader:
    """Facts about a model that its file states.

    Attributes:
        architecture: the name of the architecture, such as ``"llama"``.
        context: the maximum number of tokens of prompt and answer in its training; 0 when not
            stated.
        cache_bytes: bytes of memory for each token that its server keeps.
        template: its chat template, ``""`` without one.
        licence: its licence, ``""`` when not stated.
    """

    architecture: str
    context: int
    cache_bytes: int
    template: str
    licence: str = ""

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

    Args:
        path: the file.

    Raises:
        ParameterError: when there is no such file, or it is not a GGUF file, or is cut short.
    """
    try:
        _check_regular(path)
        with path.open("rb") as file:
            if is_gguf := file.read(len(MAGIC)) == MAGIC:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    reader = _Reader(content)
                    values = reader.values()
                    reader.check_tensors(int(values.get("general.alignment", _ALIGNMENT)))
    except OSError as error:
        raise ParameterError(
            f"Cannot read the model {path} ({error.strerror}): give the path of a GGUF file, as in "
            "--minds gguf:models/small.gguf."
        ) from None
    except (struct.error, ValueError, KeyError, OverflowError, ZeroDivisionError):
        raise ParameterError(
            f"The model {path} cannot be read: the file is cut short, damaged, or of a version of "
            "GGUF before 2. Download it again."
        ) from None
    if not is_gguf:
        raise ParameterError(
            f"{path} is not a GGUF file: download the model in the format GGUF (*.gguf)."
        )
    architecture = str(values.get("general.architecture", ""))

    def number(name: str, default: int = 0) -> int:
        value = values.get(f"{architecture}.{name}", default)
        return max(value, default=default) if isinstance(value, list) else int(value)

    heads = max(number("attention.head_count"), 1)
    width = number("embedding_length") // heads
    keys, texts = number("attention.key_length", width), number("attention.value_length", width)
    kept = number("attention.head_count_kv", heads) * (keys + texts)
    return GGUFHeader(
        architecture,
        number("context_length"),
        number("block_count") * kept * _CACHE_BYTES,
        str(values.get("tokenizer.chat_template", "")),
        str(values.get("general.license", "")),
    )


def _check_regular(path: Path) -> None:
    """Refuse folders, devices and named pipes: nobody may ever write into one of those."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hexadecimal.

    Args:
        path: the file.

    Raises:
        OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Reader:
    """Reads the keys and values after the magic number of a file."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._at = content, len(MAGIC)
        self._n_tensors = 0

    def values(self) -> dict[str, Any]:
        """All values except the texts in lists, which are the vocabulary."""
        version, self._n_tensors, n = self._read("<IQQ")
        if not 2 <= version <= 3:
            raise ValueError
        values = {}
        for _ in range(n):
            name = self._text()
            (kind,) = self._read("<I")
            values[name] = self._value(kind)
        return values

    def check_tensors(self, alignment: int) -> None:
        """Check that the file reaches the last tensor, whose places follow the values.

        Args:
            alignment: the beginning of the tensors is a multiple of it, in bytes.

        Raises:
            ValueError: when the file ends before.
        """
        last = -1
        for _ in range(self._n_tensors):
            self._text()
            (dimensions,) = self._read("<I")
            *_, offset = self._read(f"<{dimensions}QIQ")
            last = max(last, offset)
        begin = -(-self._at // alignment) * alignment
        if last >= 0 and begin + last >= len(self._content):
            raise ValueError

    def _read(self, form: str) -> tuple[Any, ...]:
        read = struct.unpack_from(form, self._content, self._at)
        self._at += struct.calcsize(form)
        return read

    def _text(self) -> str:
        (length,) = self._read("<Q")
        start, self._at = self._at, self._at + length
        if self._at > len(self._content):
            raise ValueError
        return self._content[start : self._at].decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY:
            return self._read(f"<{_SCALARS[kind]}")[0]
        inner, n = self._read("<IQ")
        if inner == _STRING:
            for _ in range(n):
                (length,) = self._read("<Q")
                self._at += length
            return []
        if inner == _ARRAY:
            return [self._value(inner) for _ in range(n)]
        return list(self._read(f"<{n}{_SCALARS[inner]}"))
