"""A rule-based coder of evacuees' messages: which share information, encourage, or guide.

A process measure that can be checked by hand: the word lists are in ``words.toml``, the rules are
in the docstrings below. It reads the surface of English sentences and no more. The codes of all
scenarios are in `sabm_mesa.analysis.process`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache, lru_cache

from sabm_mesa.analysis.messages import word_lists

CODES = ("informing", "encouraging", "guiding")

_CLAUSE_END = re.compile(r"[.,:;!?\n]|\s(?:but|so|and then|instead of|rather than)\s")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


@cache
def _phrases(table: str) -> tuple[str, ...]:
    return tuple(word_lists()[table]["phrases"])


@lru_cache(maxsize=4096)
def recommended(text: str, exits: tuple[str, ...]) -> tuple[str, ...]:
    """The exits that a message speaks for, in the order in which they are named.

    An exit counts when a clause names it without a word against it ("avoid the left exit", "the
    left exit is crowded").

    Args:
        text: one message.
        exits: the names of the exits.
    """
    found: dict[str, None] = {}
    for clause in _clauses(text):
        if not _holds(clause, "against"):
            found |= {name: None for name in exits if _stands_in(name.lower(), clause)}
    return tuple(found)


@lru_cache(maxsize=4096)
def codes(text: str, exits: tuple[str, ...]) -> frozenset[str]:
    """What a message does.

    ``informing``: it names an exit or the way there together with a word on distance or crowd.
    ``encouraging``: it holds a phrase that calms or heartens. ``guiding``: it speaks for an exit
    in a clause with a word of direction ("let's take the left exit").

    Args:
        text: one message.
        exits: the names of the exits.
    """
    found = set()
    for clause in _clauses(text):
        named = any(_stands_in(name.lower(), clause) for name in exits)
        if (named or _stands_in("exit", clause) or _stands_in("exits", clause)) and _holds(
            clause, "situation"
        ):
            found.add("informing")
        if _holds(clause, "heartening"):
            found.add("encouraging")
        if named and _holds(clause, "direction") and not _holds(clause, "against"):
            found.add("guiding")
    return frozenset(found)


def shares(messages: Iterable[str], exits: tuple[str, ...]) -> dict[str, float]:
    """Code → share of the messages that carry it; NaN when nothing was said.

    Args:
        messages: the messages; blank ones are no messages.
        exits: the names of the exits.
    """
    found = [codes(text, exits) for text in messages if text.strip()]
    if not found:
        return dict.fromkeys(CODES, math.nan)
    return {code: sum(code in each for each in found) / len(found) for code in CODES}


def _clauses(text: str) -> list[str]:
    """The clauses as words between single blanks, with a blank at either end."""
    plain = text.lower().replace("\u2019", "'")
    for phrase in _phrases("favour"):
        plain = plain.replace(phrase, "clear")
    return [f" {' '.join(_WORD.findall(part))} " for part in _CLAUSE_END.split(plain)]


def _stands_in(phrase: str, clause: str) -> bool:
    return f" {phrase} " in clause


def _holds(clause: str, table: str) -> bool:
    return any(_stands_in(phrase, clause) for phrase in _phrases(table))
