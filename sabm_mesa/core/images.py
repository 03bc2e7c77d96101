"""Pictures as observations: `Picture`, for models that see.

A field of an observation may be a picture. In a prompt its placeholder becomes a mark with the
SHA-256 of the picture and its text; the recording has this mark. Language models with vision get
the picture at the mark; all other minds read the text.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sabm_mesa.errors import ParameterError

MOST_BYTES = 3 * 2**20
"""Anthropic accepts 5 MB in base64, which is a third longer; others accept more."""
MOST_PIXELS = 8000
"""The maximum length of a side in pixels, at Anthropic."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK = 12
"""Bytes of a chunk without data: its length, its type and its checksum."""


@dataclass(frozen=True)
class Picture:
    """A picture in PNG format, as a field of an observation.

    Attributes:
        png: the file, at most 3 MiB, with at most 8,000 pixels a side.
        text: a one-line description for minds that cannot see.

    Raises:
        ParameterError: for anything but a PNG file, one that is too large, and an empty text.
    """

    png: bytes
    text: str

    def __post_init__(self) -> None:
        """Refuse pictures that no server accepts."""
        png: object = self.png
        text: object = self.text
        if not isinstance(png, bytes) or not png.startswith(_SIGNATURE):
            raise ParameterError(
                "A Picture is the content of a PNG file, such as Path('map.png').read_bytes(), or "
                "what figure.savefig(buffer, format='png') writes."
            )
        if not _is_whole(png):
            raise ParameterError("The PNG file of a Picture is cut off or damaged.")
        if len(self.png) > MOST_BYTES or max(self.size) > MOST_PIXELS:
            raise ParameterError(
                f"A Picture has at most {MOST_BYTES // 2**20} MiB, and {MOST_PIXELS:,} pixels a "
                f"side (got {len(self.png) / 2**20:.1f} MiB, {self.size[0]} x {self.size[1]})."
            )
        if not isinstance(text, str) or not text.strip():
            raise ParameterError("A Picture needs a text for minds that cannot see.")

    @cached_property
    def sha256(self) -> str:
        """The hash of the file, hexadecimal."""
        return hashlib.sha256(self.png).hexdigest()

    @cached_property
    def base64(self) -> str:
        """The file in base64."""
        return base64.b64encode(self.png).decode()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        width, height = struct.unpack_from(">II", self.png, 16)
        return width, height

    @property
    def mark(self) -> str:
        """Its mark in a recorded prompt."""
        return f"⟦picture {self.sha256}: {self._line}⟧"

    @property
    def _line(self) -> str:
        return " ".join(self.text.split())

    def described(self, text: str) -> str:
        """A prompt with the text of the picture at its mark.

        Args:
            text: the prompt.
        """
        return text.replace(self.mark, self._line)


def _is_whole(png: bytes) -> bool:
    """Whether a file has the chunks of a PNG, each with its checksum, and ends with the last one.

    Source: Portable Network Graphics (W3C 2003), section 5.
    """
    start, kind = len(_SIGNATURE), b""
    while kind != b"IEND":
        if len(png) < start + _CHUNK:
            return False
        length = int.from_bytes(png[start : start + 4])
        kind, end = png[start + 4 : start + 8], start + 8 + length
        if zlib.crc32(png[start + 4 : end]) != int.from_bytes(png[end : end + 4]):
            return False
        if (start == len(_SIGNATURE)) != (kind == b"IHDR"):
            return False
        start = end + 4
    return True


def described(text: str, pictures: Iterable[Picture]) -> str:
    """A prompt for minds that cannot see.

    Args:
        text: the prompt, with marks.
        pictures: its pictures.
    """
    for picture in pictures:
        text = picture.described(text)
    return text


def split(text: str, pictures: Iterable[Picture]) -> list[str | Picture]:
    """A prompt as texts and pictures, in order.

    Args:
        text: the prompt, with marks.
        pictures: its pictures.
    """
    parts: list[str | Picture] = [text]
    for picture in pictures:
        parts = [
            new
            for part in parts
            for new in (_around(part, picture) if isinstance(part, str) else [part])
        ]
    return [part for part in parts if not isinstance(part, str) or part.strip()]


def _around(text: str, picture: Picture) -> list[str | Picture]:
    """A text with the picture at each of its marks."""
    first, *others = text.split(picture.mark)
    return [first, *(part for other in others for part in (picture, other))]
