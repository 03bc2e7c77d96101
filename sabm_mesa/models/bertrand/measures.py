"""Measures of the Bertrand competition: talk about prices, coded by rules, and whole runs.

The coder can be checked by hand: its word lists are in the table ``[prices]`` of
``analysis/words.toml``. It reads the surface of English sentences: it misses irony, and counts a
price that is named in order to reject it as named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.analysis.intervals import (
    LAST_ROUNDS,
    final_level,
    settling_round,
)
from sabm_mesa.analysis.messages import (
    assents,
    signals_agreement,
    signals_disagreement,
    stated_prices,
)
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    import pandas as pd


def price_messages(messages: Sequence[Message], low: float, high: float) -> int:
    """Return how many messages name a price, or agree after another speaker has named one.

    Args:
        messages: the messages of one round, in order.
        low: the lowest price that counts.
        high: the highest price that counts.
    """
    named: set[int] = set()
    count = 0
    for message in messages:
        if stated_prices(message.text, low, high):
            named.add(message.sender)
            count += 1
        elif named - {message.sender} and signals_agreement(message.text):
            count += 1
    return count


def first_price_agreement(
    messages: pd.DataFrame, low: float = 0.0, high: float = math.inf
) -> dict[int, int | None]:
    """Return the first round of each run with an explicit agreement on a price.

    An agreement: in one round, a firm names a price, and another firm later names the same price or
    agrees (`assents`) without disagreement. It counts even if the firms do not set the price.

    Args:
        messages: one row per message in the order in which they were said, with ``run``, ``round``,
            ``speaker`` and ``text``, as from `sabm_mesa.recording.frames.Recorded.messages`.
        low: the lowest price that counts.
        high: the highest price that counts.

    Returns:
        Run → round, None without such an agreement. Runs without messages are left out.
    """
    first_rounds: dict[int, int | None] = {}
    for _, talk_of_round in messages.groupby(["run", "round"], sort=True):
        run, round_ = (int(talk_of_round[name].iloc[0]) for name in ("run", "round"))
        texts = zip(talk_of_round["speaker"], talk_of_round["text"], strict=True)
        talk = [Message(round_, speaker, text) for speaker, text in texts]
        if first_rounds.get(run) is None:
            first_rounds[run] = round_ if _is_agreed(talk, low, high) else None
    return first_rounds


def _is_agreed(messages: Iterable[Message], low: float, high: float) -> bool:
    named: dict[float, set[int]] = {}
    for message in messages:
        others = {price for price, firms in named.items() if firms - {message.sender}}
        prices = stated_prices(message.text, low, high)
        takes_up = others.intersection(prices) or (others and assents(message.text))
        if takes_up and not signals_disagreement(message.text):
            return True
        for price in prices:
            named.setdefault(price, set()).add(message.sender)
    return False


def run_measures(
    data: Mapping[str, Sequence[Any]], n_firms: int, tolerance: float, given: int = 0
) -> dict[str, float]:
    """Return the level and round at which prices settled, the collusion, and the amount of talk.

    The spell is the number of consecutive collusive rounds at the end; the share of collusive
    rounds is over the whole run; Δ is over the last rounds (Calvano et al. 2020, section III).
    Convergence price and Δ are means over ``averaged_rounds``: the last 50 rounds, or all in a
    shorter run.

    Args:
        data: column → its values by round; the columns ``price_1`` to ``price_n``,
            ``collusion_index``, ``collusive_share``, ``spell``, ``messages`` and
            ``price_messages``.
        n_firms: number of firms.
        tolerance: see `settling_round`.
        given: the number of given rounds at the start, which are left out of all measures.
    """
    paths = [data[f"price_{i + 1}"][given:] for i in range(n_firms)]
    index = data["collusion_index"][given:][-LAST_ROUNDS:]
    return {
        "rounds": len(data["price_1"]),
        "averaged_rounds": len(index),
        "convergence_price": final_level(paths),
        "convergence_round": given + settling_round(paths, tolerance),
        "collusion_index": float(np.mean(index)) if index else math.nan,
        "spell": data["spell"][-1] if data["spell"] else 0,
        "collusive_share": data["collusive_share"][-1] if data["collusive_share"] else math.nan,
        "messages": sum(data["messages"]),
        "price_messages": sum(data["price_messages"]),
    }
