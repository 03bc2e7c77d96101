"""Vectors that the server gives for texts."""

from __future__ import annotations

import hashlib
import re

DIMENSIONS = 16
_WORD = re.compile(r"\w+")


def words(text: str) -> list[float]:
    """A vector with a count of the words of the text at places that their digests give.

    The same text always has the same vector, and texts that share words are near each other.
    """
    vector = [0.0] * DIMENSIONS
    for word in [*_WORD.findall(text.casefold()), "any text"]:
        digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
        vector[digest[0] % DIMENSIONS] += 1.0
    return vector
