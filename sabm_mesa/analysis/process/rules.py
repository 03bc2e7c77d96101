"""The rules of the coder: one function a code, from a message to whether it carries the code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from sabm_mesa.analysis.messages import (
    Clause,
    assents,
    clauses,
    holds,
    signals_disagreement,
    stated_numbers,
    word_lists,
)
from sabm_mesa.analysis.price_talk import stated_prices

Rule = Callable[[str, tuple[str, ...]], bool]

EXITS = ("left", "right", "top", "bottom")
"""The names of exits that a room may have when nothing else is said."""

_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_NO_CURRENCY = str.maketrans("", "", "$€£")
_HIGHEST = 100.0


def states_number(text: str, _exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a number from 0 to 100 is stated that neither coder takes for something else.

    `stated_numbers` and `stated_prices` each know numbers that are none of the game: counts,
    changes, costs, percentages. Numbers in words are known to the first alone.
    """
    digits = {float(number) for number in _DIGITS.findall(text)}
    prices = stated_prices(text, 0, _HIGHEST)
    named = stated_numbers(text.translate(_NO_CURRENCY))
    return any(number in prices or number not in digits for number in named)


def proposes(text: str, exits: tuple[str, ...] = EXITS) -> bool:
    """Whether something is put forward.

    By a phrase ("let's", "how about"), by a clause in the imperative ("choose 20", "please keep
    your price") that is no mere direction where to go, or by a conditional offer ("if you stay at
    7, I will too").
    """
    lists = _lists("proposal")
    parts = clauses(text)
    if any(_is_proposed(part, lists, exits) for part in parts):
        return True
    asked = {part.sentence for part in parts if holds(part.tokens, lists["if_others"])}
    return any(
        part.sentence in asked and holds(part.tokens, lists["own_part"])
        for part in parts
        if not part.asked
    )


def informs(text: str, exits: tuple[str, ...] = EXITS) -> bool:
    """Whether something of the situation is told.

    By a phrase ("last round"), by a topic with a word that reports it ("the average was"), or by
    a place with a word on distance or crowd ("the left exit is packed"); not in a question, nor
    as a wish, a plan or a proposal.
    """
    lists = _lists("information")
    return any(
        holds(part.tokens, lists["phrases"])
        or (_names_place(part, exits) and holds(part.tokens, _lists("situation")["phrases"]))
        or (holds(part.tokens, lists["topics"]) and holds(part.tokens, lists["reports"]))
        for part in clauses(text)
        if not part.asked and not holds(part.tokens, lists["moods"])
    )


def encourages(text: str, _exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a phrase of the lists calms, heartens or praises."""
    phrases = (*_lists("heartening")["phrases"], *_lists("encouragement")["phrases"])
    return any(holds(part.tokens, phrases) for part in clauses(text))


def guides(text: str, exits: tuple[str, ...] = EXITS) -> bool:
    """Whether others are told which way to go, or not to go.

    By a place with a word of direction or a warning ("take the left exit", "avoid the door"), by a
    verb of motion before a side ("head to the right"), or by a phrase ("follow me"); not in a
    question, and not in a clause that only tells what the speaker does.
    """
    return any(_directs(part, exits) for part in clauses(text))


RULES: Mapping[str, Rule] = {
    "number": states_number,
    "proposal": proposes,
    "agreement": lambda text, _exits: assents(text),
    "disagreement": lambda text, _exits: signals_disagreement(text),
    "information": informs,
    "encouragement": encourages,
    "guidance": guides,
}
"""Code → whether a message, in a room with exits of these names, carries it."""


@cache
def _lists(table: str) -> Mapping[str, Any]:
    lists: Mapping[str, Any] = word_lists()[table]
    return lists


def _is_proposed(part: Clause, lists: Mapping[str, Any], exits: tuple[str, ...]) -> bool:
    line = f" {' '.join(part.tokens)} "
    places = [line.index(f" {each} ") for each in lists["phrases"] if f" {each} " in line]
    if places:
        return not holds(line[: min(places)].split(), lists["off"])
    line = line.lstrip()
    while opener := _first(line, lists["openers"]):
        line = line.removeprefix(opener)
    verb = _first(line, lists["imperatives"])
    followed = _first(line.removeprefix(verb), lists["followers"])
    return bool(verb) and not followed and not part.asked and not _directs(part, exits)


def _first(line: str, phrases: Iterable[str]) -> str:
    """The phrase with which a line begins, with the blank behind it; ``""`` without one."""
    return next((f"{phrase} " for phrase in phrases if line.startswith(f"{phrase} ")), "")


def _directs(part: Clause, exits: tuple[str, ...]) -> bool:
    """Whether a clause tells others which way to go, or not to go."""
    lists = _lists("guidance")
    if part.asked or part.tokens[0] in lists["own"]:
        return False
    words = (*_lists("direction")["phrases"], *lists["warnings"])
    return (
        holds(part.tokens, lists["phrases"])
        or _moves_to(part.tokens, {*exits, *lists["sides"]}, lists)
        or (_names_place(part, exits) and holds(part.tokens, words))
    )


def _names_place(part: Clause, exits: tuple[str, ...]) -> bool:
    """Whether a clause names an exit or another place of a room."""
    lists = _lists("guidance")
    sides = {*exits, *lists["sides"]}
    tokens = part.tokens
    return any(
        (a in sides and b in lists["places"]) or (a in lists["places"] and b in sides)
        for a, b in pairwise(tokens)
    ) or any(token in lists["rooms"] for token in tokens)


def _moves_to(tokens: Sequence[str], sides: set[str], lists: Mapping[str, Any]) -> bool:
    """Whether a verb of motion stands before a side, with nothing but links between them."""
    for place, token in enumerate(tokens):
        if token in lists["motions"]:
            after = next((each for each in tokens[place + 1 :] if each not in lists["links"]), "")
            if after in sides:
                return True
    return False
