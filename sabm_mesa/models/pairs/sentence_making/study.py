"""Validity of a sentence with given words, by rules that can be checked by hand.

Lai et al. 2024, section 3, count a sentence as valid when it is coherent, unique, has all the
words and at most 40 in all; they do not say how coherence was judged, nor whether inflected forms
count. Both are our choice here: see `is_well_formed` and `stem`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sabm_mesa.models.declarations import Study
from sabm_mesa.models.pairs.party import builds_on_party

MAX_WORDS = 40
"""Maximum number of words of a sentence (Lai et al. 2024, appendix B)."""
OTHER_WORDS = 5
"""Minimum number of other words; with fewer, the text is a list (our choice)."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_END = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)]*(?=\s|$)")
_SUFFIXES = ("ing", "edly", "ed", "es", "s", "ly", "e")
_SHORTEST = 3


def words_of(sentence: str) -> list[str]:
    """The words of a sentence in lower case; compounds with a hyphen are one."""
    return _WORD.findall(sentence.lower())


def n_words(sentence: str) -> int:
    """The number of words of a sentence, separated by spaces."""
    return len(sentence.split())


def stem(word: str) -> str:
    """The common stem of inflected forms of an English word.

    One regular ending is removed, then a doubled consonant is reduced to one, and y becomes i:
    "murmured" and "murmurs", "hummed" and "humming", "valley" and "valleys", "buried" and "buries"
    are the same. Irregular forms are not.

    Args:
        word: a word in lower case.
    """
    word = _POSSESSIVE.sub("", word)
    for suffix in _SUFFIXES:
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= _SHORTEST and not word.endswith("ss"):
            word = rest
            break
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word


def missing_words(sentence: str, given: Sequence[str]) -> list[str]:
    """The given words that a sentence lacks in every form, in order.

    Args:
        given: the required words.
    """
    forms = {stem(part) for word in words_of(sentence) for part in (word, *word.split("-"))}
    return [word for word in given if stem(word.lower()) not in forms]


def is_well_formed(sentence: str, given: Sequence[str]) -> bool:
    """Whether a text is a single sentence and more than a list of words, as a proxy for coherence.

    It begins with a capital letter, has a sentence mark only at its end, and has at least five
    words other than the given ones. Its meaning is not checked.

    Args:
        given: the required words.
    """
    text = sentence.strip().lstrip("\"'\u201c\u2018(")
    ends = [match.end() for match in _END.finditer(text)]
    whole = bool(text) and text[0].isupper() and ends == [len(text)]
    stems = {stem(word.lower()) for word in given}
    others = [word for word in words_of(text) if stem(word) not in stems]
    return whole and len(others) >= OTHER_WORDS


def same_sentence(sentence: str) -> tuple[str, ...]:
    """A key that is equal for sentences that differ only in capitals, marks and spaces."""
    return tuple(words_of(sentence))


def is_valid(sentence: str, given: Sequence[str], earlier: Iterable[str] = ()) -> bool:
    """Whether a sentence meets the four criteria.

    Args:
        given: the required words.
        earlier: earlier sentences with the same words.
    """
    return (
        n_words(sentence) <= MAX_WORDS
        and not missing_words(sentence, given)
        and is_well_formed(sentence, given)
        and same_sentence(sentence) not in set(map(same_sentence, earlier))
    )


def valid_sentences(sentences: Iterable[str], given: Sequence[str]) -> list[str]:
    """The valid sentences of a word set; only the first of duplicates counts.

    Args:
        sentences: all sentences handed in, in order.
        given: the words.
    """
    kept: list[str] = []
    for sentence in sentences:
        if is_valid(sentence, given, kept):
            kept.append(sentence)
    return kept


STUDY = Study(
    column_bounds={"valid_ratio": (0.0, 1.0)}, builds_on=builds_on_party("cocktail-party")
)
