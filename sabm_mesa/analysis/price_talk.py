"""A rule-based coder of talk about prices: who names a price, and who agrees to one.

A process measure that can be checked by hand. It reads the surface of English sentences and no
more: irony is missed, and a price that is named in order to reject it counts as named.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import lru_cache

from sabm_mesa.analysis.messages import Message, signals_agreement

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(
    r"(?<![\w#.-])[$€£]?(\d+(?:\.\d+)?)(?![\w-]|\.\d|\s*%)"  # 7, $7.50; not #3, 3rd, 6-8, 5 %
    r"|[a-z]+"
)
_LABELS = {"round", "rounds", "player", "firm", "by", "step", "steps", "cost", "costs"}
"""Words that make the number right after them something else than a price."""
_LINKS = {"is", "are", "of", "at", "a", "an", "about", "another"}
"""Words that may stand between a label and its number: "our cost of 2"."""
_UNITS = {
    "round", "rounds", "unit", "units", "time", "times", "turn", "turns", "player", "players",
    "firm", "firms", "percent", "per", "people", "parts", "more", "less", "higher", "lower",
}  # fmt: skip
"""Words that make the number right before them something else than a price."""


@lru_cache(maxsize=4096)
def stated_prices(text: str, low: float, high: float) -> tuple[float, ...]:
    """Prices that a message names, in order, each once.

    A price is a number in digits within the legal range, with or without a currency sign. The
    number of a round or player, a count ("20 rounds", "10 units"), a change ("by 2", "2 more"),
    a percentage, a range ("6-8") and the cost ("a cost of 2") are no prices.

    Args:
        text: one message.
        low: the lowest legal price.
        high: the highest legal price.
    """
    tokens = list(_TOKEN.finditer(_THOUSANDS.sub("", text.lower())))
    found: dict[float, None] = {}
    for place, token in enumerate(tokens):
        if token[1] is None or not low <= float(token[1]) <= high:
            continue
        before = place - 1
        while before >= 0 and tokens[before][0] in _LINKS:
            before -= 1
        labelled = before >= 0 and tokens[before][0] in _LABELS
        counted = place + 1 < len(tokens) and tokens[place + 1][0] in _UNITS
        if not labelled and not counted:
            found[float(token[1])] = None
    return tuple(found)


def price_messages(messages: Sequence[Message], low: float, high: float) -> int:
    """Number of messages that name a price, or agree after another speaker has named one.

    Args:
        messages: (speaker, text) of one round, in the order in which they were said.
        low: the lowest legal price.
        high: the highest legal price.
    """
    named: set[Hashable] = set()
    count = 0
    for speaker, text in messages:
        if stated_prices(text, low, high):
            named.add(speaker)
            count += 1
        elif named - {speaker} and signals_agreement(text):
            count += 1
    return count
