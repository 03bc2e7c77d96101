"""Embeddings as questions: a question has only texts, and its answer is their vectors.

So they are asked, recorded, counted and repeated like every other question.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.core.answers import AnswerSpec, InvalidAnswer
from sabm_mesa.core.asks import Ask, Chat, Observation

Vector = npt.NDArray[np.float64]

TEXT = "input"
"""The role of messages with texts to embed."""
_BYTES = 4


@dataclass(frozen=True, slots=True)
class Texts(Observation):
    """Texts to embed.

    Attributes:
        texts: the texts, none of them empty.
    """

    texts: tuple[str, ...]


class TextsAsk(Ask):
    """A question with only texts.

    A second attempt sends the same texts: an embedding model does not read the reason.
    """

    def chat(self) -> Chat:
        """The texts of the observation, one message each."""
        assert isinstance(self.observation, Texts)
        return tuple((TEXT, text) for text in self.observation.texts)


@dataclass(frozen=True, slots=True)
class Vectors(AnswerSpec):
    """A vector for each text, all of the same length and none of them zero.

    Each is recorded as one word: 32-bit floats, little-endian, in base64.

    Attributes:
        n: number of texts.
        length: the length of the known vectors; None without any.
    """

    n: int
    length: int | None = None

    kind = "vectors"
    json_type = list

    def check(self, value: Any) -> tuple[str, ...]:
        """Return the vectors, each as one word."""
        words = tuple(value) if isinstance(value, Sequence) else ()
        vectors = [_decoded(word) for word in words if isinstance(word, str)]
        lengths = (
            {self.length or vectors[0].size, *(vector.size for vector in vectors)}
            if vectors
            else {0}
        )
        whole = all(np.isfinite(vector).all() and vector.any() for vector in vectors)
        if not len(vectors) == len(words) == self.n or len(lengths) > 1 or not whole:
            raise InvalidAnswer("not_vectors", n=self.n)
        return words

    def example(self, rng: np.random.Generator) -> tuple[str, ...]:
        """Return vectors in random directions."""
        drawn = rng.normal(size=(self.n, self.length or 2)).astype("<f4")
        return tuple(base64.b64encode(vector.tobytes()).decode() for vector in drawn)

    def schema(self) -> dict[str, Any]:
        """A list of words."""
        return {"type": "array", "items": {"type": "string"}}

    def read_text(self, text: str) -> tuple[str, ...]:
        """Read one vector per line."""
        return self.check(text.split("\n"))

    def as_text(self, value: Any) -> str:
        """Return one vector per line."""
        return "\n".join(value)


def unit(word: str) -> Vector:
    """The direction of a vector: it has the length 1.

    Args:
        word: the vector in the form of `Vectors`.
    """
    vector = _decoded(word)
    return vector / np.linalg.norm(vector)


def _decoded(word: str) -> Vector:
    """The numbers of a vector; none when it cannot be read."""
    try:
        raw = base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    return np.frombuffer(raw[: len(raw) // _BYTES * _BYTES], dtype="<f4").astype(np.float64)
