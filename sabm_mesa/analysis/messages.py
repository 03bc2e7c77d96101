"""A rule-based coder of messages: agreement, disagreement, and the numbers they name.

It can be checked by hand: the word lists are in ``words.toml``, the rules in the docstrings below.
It reads the surface of English sentences: it misses irony, and counts a number that is named in
order to reject it as named. `sabm_mesa.studies.judging` builds on it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple


class Clause(NamedTuple):
    """A part of a sentence.

    Attributes:
        tokens: its words and numbers, in lower case.
        sentence: the number of its sentence in the message.
        asked: whether the sentence is a question.
    """

    tokens: tuple[str, ...]
    sentence: int
    asked: bool


_NO_PICK = re.compile(r"\d+\s*/\s*\d+|\d{1,3}(?:,\d{3})+")  # fractions, thousands
_SENTENCE = re.compile(r"[^.!?\n;]*(?:\.(?=\d)[^.!?\n;]*)*[.!?\n;]?")
_CLAUSE_END = re.compile(r"[.:](?!\d)|[,!?;\n]")
_TOKEN = re.compile(
    r"(?<![\w#$€£+.-])(?<!\d:)\d+(?:\.\d+)?(?![\w-]|[.:]\d|\s*%)"  # 20, 33.3; not #3, 3rd, 20-30
    r"|(?<![\w-])[a-z]+(?:['-][a-z]+)*(?![\w-])"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PRICE_TOKEN = re.compile(
    r"(?<![\w#.-])[$€£]?(\d+(?:\.\d+)?)(?![\w-]|\.\d|\s*%)"  # 7, $7.50; not #3, 3rd, 6-8, 5 %
    r"|[a-z]+"
)
_ALIKE = str.maketrans("\u2018\u2019\u2013\u2212\u2014\u2026\r", "''--,\n\n")
"""Typographic apostrophes, dashes (the long one ends a clause) and dots, in plain ASCII."""


@cache
def word_lists() -> MappingProxyType[str, Any]:
    """The word lists of ``words.toml``, by table."""
    text = files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


@lru_cache(maxsize=4096)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a message, in order.

    Args:
        text: one message.
    """
    breaks = word_lists()["agreement"]["breaks"]
    sentences = [sentence for sentence in _SENTENCE.findall(_plain(text)) if sentence.strip()]
    return tuple(
        Clause(tuple(tokens), number, sentence.endswith("?"))
        for number, sentence in enumerate(sentences)
        for whole in _clauses(sentence)
        for tokens in _split_at(whole, breaks)
        if tokens
    )


def signals_agreement(text: str) -> bool:
    """Return whether a message expresses agreement.

    A phrase of the list counts unless it is part of a question, or a negation ("don't agree")
    or a conditional ("if we all agree") stands a few words before it in the same clause.

    Args:
        text: one message.
    """
    return any(_agrees(clause) for clause in clauses(text) if not clause.asked)


def assents(text: str) -> bool:
    """Return whether a message expresses agreement, by a longer list than `signals_agreement`.

    That list decides about results of models; this one does not, so it may grow.

    Args:
        text: one message.
    """
    phrases = word_lists()["assent"]["phrases"]
    return signals_agreement(text) or any(
        _stands_free(clause.tokens, phrases) for clause in clauses(text) if not clause.asked
    )


def signals_disagreement(text: str) -> bool:
    """Return whether a message expresses disagreement or doubt.

    A phrase of the list of disagreement counts, a phrase of agreement a few words after a negation
    ("not a good idea"), and a bare "no" in a message that does not agree; none of them does in a
    question, or after a conditional.

    Args:
        text: one message.
    """
    lists = word_lists()
    return any(
        _stands_free(clause.tokens, lists["disagreement"]["phrases"])
        or (" ".join(clause.tokens) in lists["disagreement"]["alone"] and not assents(text))
        or (
            _stands_free(clause.tokens, lists["agreement"]["phrases"], also_negated=True)
            and not _agrees(clause)
        )
        for clause in clauses(text)
        if not clause.asked
    )


def holds(tokens: Sequence[str], phrases: Iterable[str]) -> bool:
    """Return whether a clause holds any of the phrases, as whole words.

    Args:
        tokens: the words of the clause.
        phrases: the phrases.
    """
    line = f" {' '.join(tokens)} "
    return any(f" {phrase} " in line for phrase in phrases)


@lru_cache(maxsize=4096)
def stated_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers from 0 to 100 that a message names, in order, each once.

    Digits count as tokens of their own: not inside a word or compound ("3rd", "GPT-4",
    "20-30"), and not as a fraction, a percentage, money, the number of a player or a count of
    something ("24 players", "100 credits"). Zero, ten and up also count in words. The range
    itself ("0 to 100") does not count.

    Args:
        text: one message.
    """
    lists = word_lists()["numbers"]
    plain = _NO_PICK.sub(" , ", _plain(text))
    for phrase in lists["ignored"]:
        plain = re.sub(rf"\b{re.escape(phrase)}\b", " , ", plain)
    found: dict[float, None] = {}
    for clause in _clauses(plain):
        for value, start, end in _numbers(clause, lists):
            labelled = start > 0 and clause[start - 1] in lists["labels"]
            counted = any(_stands_at(unit.split(), clause, end) for unit in lists["units"])
            if 0 <= value <= 100 and not labelled and not counted:
                found[value] = None
    return tuple(found)


@lru_cache(maxsize=4096)
def stated_prices(text: str, low: float, high: float) -> tuple[float, ...]:
    """Return the prices that a message names, in order, each once.

    A price is a number in digits within the legal range, with or without a currency sign. The
    number of a round or player, a count ("20 rounds", "10 units"), a change ("by 2", "2 more"),
    a percentage, a range ("6-8") and the cost ("a cost of 2") are no prices.

    Args:
        text: one message.
        low: the lowest legal price.
        high: the highest legal price.
    """
    tokens = list(_PRICE_TOKEN.finditer(_THOUSANDS.sub("", text.lower())))
    found: dict[float, None] = {}
    for place, token in enumerate(tokens):
        if token[1] is None or not low <= float(token[1]) <= high:
            continue
        before = place - 1
        while before >= 0 and tokens[before][0] in _price_words("links"):
            before -= 1
        labelled = before >= 0 and tokens[before][0] in _price_words("labels")
        counted = place + 1 < len(tokens) and tokens[place + 1][0] in _price_words("units")
        if not labelled and not counted:
            found[float(token[1])] = None
    return tuple(found)


@cache
def _price_words(name: str) -> frozenset[str]:
    return frozenset(word_lists()["prices"][name])


def _plain(text: str) -> str:
    """Lower case, with one kind of apostrophe and dash, and dots that only end sentences."""
    return re.sub(r"\.{2,}", "\n", text.translate(_ALIKE).lower())


def _clauses(text: str) -> list[list[str]]:
    """The tokens of each clause."""
    return [_TOKEN.findall(part) for part in _CLAUSE_END.split(text)]


def _split_at(tokens: list[str], breaks: list[str]) -> list[list[str]]:
    """A clause cut before each of the words that begin a new one."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in breaks:
            parts.append([])
        parts[-1].append(token)
    return parts


def _stands_at(phrase: Sequence[str], tokens: Sequence[str], start: int) -> bool:
    return list(tokens[start : start + len(phrase)]) == list(phrase)


def _agrees(clause: Clause) -> bool:
    lists = word_lists()["agreement"]
    always = holds(clause.tokens, lists["always"])
    return always or _stands_free(clause.tokens, lists["phrases"])


def _stands_free(
    tokens: Sequence[str], phrases: Iterable[str], *, also_negated: bool = False
) -> bool:
    """Whether a clause holds a phrase that no word shortly before it turns off."""
    lists = word_lists()["agreement"]
    off = {*lists["conditionals"], *([] if also_negated else lists["negations"])}
    for phrase in phrases:
        if not holds(tokens, [phrase]):
            continue
        for start in range(len(tokens)):
            before = tokens[max(0, start - lists["window"]) : start]
            negated = not also_negated and any(word.endswith("n't") for word in before)
            if _stands_at(phrase.split(), tokens, start) and not negated and not off & {*before}:
                return True
    return False


def _numbers(tokens: list[str], lists: dict[str, Any]) -> list[tuple[float, int, int]]:
    """Each number of a clause with the places of its first token and of the next one after."""
    tens, ones, words = lists["tens"], lists["ones"], lists["words"]
    found = []
    place = 0
    while place < len(tokens):
        token, width, value = tokens[place], 1, None
        first, _, second = token.partition("-")
        if token[0].isdigit():
            value = float(token)
        elif token in words:
            value = float(words[token])
        elif first in tens and second in ones:
            value = float(tens[first] + ones[second])
        elif token in tens:
            value = float(tens[token])
            if place + 1 < len(tokens) and tokens[place + 1] in ones:
                value, width = value + ones[tokens[place + 1]], 2
        if value is not None:
            found.append((value, place, place + width))
        place += width
    return found
