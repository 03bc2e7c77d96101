"""A rule-based coder of talk about prices: who names a price, and who agrees to one.

A process measure that can be checked by hand: the word lists are in ``words.toml``. It reads the
surface of English sentences and no more: irony is missed, and a price that is named in order to
reject it counts as named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from sabm_mesa.analysis.messages import (
    Message,
    assents,
    signals_agreement,
    signals_disagreement,
    word_lists,
)

if TYPE_CHECKING:
    import pandas as pd

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(
    r"(?<![\w#.-])[$€£]?(\d+(?:\.\d+)?)(?![\w-]|\.\d|\s*%)"  # 7, $7.50; not #3, 3rd, 6-8, 5 %
    r"|[a-z]+"
)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(word_lists()["prices"][name])


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
        while before >= 0 and tokens[before][0] in _words("links"):
            before -= 1
        labelled = before >= 0 and tokens[before][0] in _words("labels")
        counted = place + 1 < len(tokens) and tokens[place + 1][0] in _words("units")
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


def first_price_agreement(
    messages: pd.DataFrame, low: float = 0.0, high: float = math.inf
) -> dict[int, int | None]:
    """The first round of each run in which firms explicitly agreed on a price.

    They agreed when, within one round, one firm named a price and another one after it named the
    same price or said that it agrees (`assents`), without a word of disagreement. Whether the price
    was then set is another question.

    Args:
        messages: one row a message in the order in which they were said, with ``run``, ``round``,
            ``speaker`` and ``text``, as from `sabm_mesa.analysis.process.said.messages_of`.
        low: the lowest legal price.
        high: the highest legal price.

    Returns:
        Run → round, None when there was no such agreement. A run in which nothing was said is not
        in it.
    """
    found: dict[int, int | None] = {}
    for _, said in messages.groupby(["run", "round"], sort=True):
        run, round_ = (int(said[name].iloc[0]) for name in ("run", "round"))
        pairs = zip(said["speaker"], said["text"], strict=True)
        if found.get(run) is None:
            found[run] = round_ if _is_agreed(pairs, low, high) else None
    return found


def _is_agreed(said: Iterable[Message], low: float, high: float) -> bool:
    named: dict[float, set[Hashable]] = {}
    for speaker, text in said:
        others = {price for price, firms in named.items() if firms - {speaker}}
        prices = stated_prices(text, low, high)
        takes_up = others.intersection(prices) or (others and assents(text))
        if takes_up and not signals_disagreement(text):
            return True
        for price in prices:
            named.setdefault(price, set()).add(speaker)
    return False
