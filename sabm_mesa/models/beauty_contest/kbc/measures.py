"""The measure of the discussion: the share of agreeing messages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sabm_mesa.analysis.messages import signals_agreement, stated_numbers
from sabm_mesa.core.messages import Message

_SEVERAL = -1
"""Represents several speakers instead of the id of one."""


class Agreement:
    """The agreement of the messages of a discussion, by round.

    Only equal numbers count as the same: 33 and 33.3 differ.
    """

    def __init__(self) -> None:
        self._named: dict[float, int] = {}  # number → its only speaker, or `_SEVERAL`

    def share(self, messages: Sequence[Message]) -> float:
        """Return the share of messages that agree or repeat a number of another player.

        Args:
            messages: the messages of the next round in their order; blank ones do not count.
                Numbers of earlier rounds count too.

        Returns:
            A share from 0 to 1; NaN without messages.
        """
        signs = []
        for message in messages:
            if message.text.strip():
                sender, taken_up = message.sender, False
                for number in stated_numbers(message.text):
                    if self._named.setdefault(number, sender) != sender:
                        self._named[number], taken_up = _SEVERAL, True
                signs.append(taken_up or signals_agreement(message.text))
        return sum(signs) / len(signs) if signs else math.nan
