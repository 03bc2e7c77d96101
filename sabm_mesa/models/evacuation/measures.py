"""Measures of the evacuation: codes of messages by rules, and the evenness of counts.

The coder can be checked by hand: its word lists are in ``words.toml`` of this folder, its rules
in the docstrings below. It reads only the surface of English sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from sabm_mesa.analysis.messages import read_words

CODES = ("informing", "encouraging", "guiding")
WORDS = Path(__file__).with_name("words.toml")
"""The word lists; some of them are shared with the common coder."""
_CLAUSE_END = re.compile(r"[.,:;!?\n]|\s(?:but|so|and then|instead of|rather than)\s")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


def evenness(counts: Iterable[float]) -> float:
    """Return Pielou's evenness: the entropy of the shares over its largest possible value.

    Source: Pielou 1966, "The measurement of diversity in different types of biological
    collections", Journal of Theoretical Biology 13.

    Returns:
        1 if all kinds are equally frequent, 0 if only one kind occurs; NaN without counts or with
        fewer than two kinds.
    """
    numbers = list(counts)
    total = sum(numbers)
    if total <= 0 or len(numbers) < 2:
        return math.nan
    shares = [number / total for number in numbers if number > 0]
    entropy = math.fsum(share * math.log(1 / share) for share in shares)
    return entropy / math.log(len(numbers))


@lru_cache(maxsize=4096)
def codes(text: str, exits: tuple[str, ...]) -> frozenset[str]:
    """Return the codes of a message.

    ``informing``: it names an exit or the way to it together with a word about distance or crowd.
    ``encouraging``: it contains a calming or heartening phrase. ``guiding``: it recommends an exit
    in a clause with a word of direction ("let's take the left exit").
    """
    present = set()
    for clause in _clauses(text):
        named = any(_stands_in(name.lower(), clause) for name in exits)
        if (named or _stands_in("exit", clause) or _stands_in("exits", clause)) and _holds(
            clause, "situation"
        ):
            present.add("informing")
        if _holds(clause, "heartening"):
            present.add("encouraging")
        if named and _holds(clause, "direction") and not _holds(clause, "against"):
            present.add("guiding")
    return frozenset(present)


def shares(messages: Iterable[str], exits: tuple[str, ...]) -> dict[str, float]:
    """Return code → share of the messages with it; NaN without messages."""
    coded = [codes(text, exits) for text in messages if text.strip()]
    if not coded:
        return dict.fromkeys(CODES, math.nan)
    return {code: sum(code in of_message for of_message in coded) / len(coded) for code in CODES}


def recommended(text: str, exits: tuple[str, ...]) -> tuple[str, ...]:
    """Return the exits that a message recommends, in the order in which it names them.

    An exit counts when a clause names it without a word against it ("avoid the left exit", "the
    left exit is crowded").
    """
    named: dict[str, None] = {}
    for clause in _clauses(text):
        if not _holds(clause, "against"):
            named |= {name: None for name in exits if _stands_in(name.lower(), clause)}
    return tuple(named)


@cache
def _words() -> dict[str, tuple[str, ...]]:
    """Name in the rules → its words."""
    words = read_words(WORDS)
    return {
        "situation": tuple(words["information"]["states"]),
        "heartening": tuple(words["encouragement"]["phrases"]),
        "direction": tuple(words["guidance"]["directions"]),
        "against": tuple(words["recommendation"]["against"]),
        "favour": tuple(words["recommendation"]["favour"]),
    }


def _clauses(text: str) -> list[str]:
    """The clauses as words separated by single spaces, with a space at both ends."""
    plain = text.lower().replace("\u2019", "'")
    for phrase in _words()["favour"]:
        plain = plain.replace(phrase, "clear")
    return [f" {' '.join(_WORD.findall(part))} " for part in _CLAUSE_END.split(plain)]


def _stands_in(phrase: str, clause: str) -> bool:
    return f" {phrase} " in clause


def _holds(clause: str, name: str) -> bool:
    return any(_stands_in(phrase, clause) for phrase in _words()[name])
