"""Distances between texts by their common words, without a language model.

Texts become unit vectors of term frequency times inverse document frequency (Salton & Buckley
1988). Lai et al. 2024 use the embedding model text-embedding-3-large instead, which also knows
synonyms: signs and trends may be compared with theirs, values may not.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
K = TypeVar("K", bound=Hashable)
Split = Callable[[str], Sequence[str]]

PIECE = 4
"""Number of characters of a piece of a word."""

_TERM = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_WORD = re.compile(r"\w+")


# Cached, since the texts in the window are split again in every round.
@lru_cache(maxsize=1024)
def terms(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without numbers."""
    return tuple(_TERM.findall(text.lower()))


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str, ...]:
    """The pieces of four characters of the words and numbers of a text, padded with spaces.

    Forms of a word have most pieces in common. Source: McNamee & Mayfield 2004,
    Information Retrieval 7.
    """
    padded = (f" {word} " for word in _WORD.findall(text.casefold()))
    return tuple(
        word[i : i + PIECE] for word in padded for i in range(max(1, len(word) - PIECE + 1))
    )


class SparseText:
    """The vocabulary of some documents, and texts as vectors over it.

    Args:
        documents: the texts that determine the terms and their weights; a term in df of n documents
            has the weight ln((1 + n) / (1 + df)) + 1.
        split: the function that splits a text into terms: `terms` or `pieces`.
    """

    def __init__(self, documents: Sequence[str], split: Split = terms) -> None:
        self._split = split
        documents_with = Counter(term for document in documents for term in set(split(document)))
        self._place = {term: i for i, term in enumerate(sorted(documents_with))}
        n = len(documents)
        self._weight = np.array(
            [math.log((1 + n) / (1 + documents_with[term])) + 1 for term in self._place],
            dtype=np.float64,
        )

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Unit vectors of texts, one row each; zeros for a text without any known term."""
        counts = np.zeros((len(texts), len(self._place)))
        for row, text in enumerate(texts):
            for term, n in Counter(self._split(text)).items():
                if (column := self._place.get(term)) is not None:
                    counts[row, column] = n
        rows = counts * self._weight
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1.0)


def distances_from_centre(groups: Mapping[K, Sequence[str]]) -> dict[K, float]:
    """Distance of the texts of each group from the texts of all groups.

    Source: Lai et al. 2024, section 2 (there with embeddings; the cosine distance is our
    choice).

    Args:
        groups: group → its texts, such as a pair's talks.

    Returns:
        Group → 1 − cosine between the vector of its joined texts and the mean vector of all texts,
        from 0 (all texts are alike) to 1; groups without words are left out.
    """
    texts = [text for texts_of in groups.values() for text in texts_of]
    space = SparseText(texts)
    centre = space.vectors(texts).mean(axis=0) if texts else np.zeros(0)
    length = float(np.linalg.norm(centre))
    if length == 0:
        return {}
    together = space.vectors([" ".join(texts_of) for texts_of in groups.values()])
    cosines = together @ centre / length
    return {
        group: float(np.clip(1 - cosine, 0, 1))
        for group, vector, cosine in zip(groups, together, cosines, strict=True)
        if vector.any()
    }


def variance(texts: Sequence[str]) -> float:
    """Variance of texts: the mean squared distance of their vectors to their mean.

    Source: Lai et al. 2024, section 3 (there of embeddings; the estimator is our choice).

    Returns:
        ``1 − |mean|²``, from 0 (all use the same words) to below 1; NaN without texts.
    """
    vectors = SparseText(texts).vectors(texts)
    if not len(vectors):
        return math.nan
    return float(((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1).mean())
