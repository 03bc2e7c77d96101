"""What a classical firm of the Bertrand competition reads from its past and from the talk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis.price_talk import stated_prices

if TYPE_CHECKING:
    from sabm_mesa.agents.bertrand_competition import FirmView


def proposals(view: FirmView) -> dict[int, float]:
    """The price that each firm named last in this round, in the order of their last words."""
    found: dict[int, float] = {}
    for message in view.said:
        if named := stated_prices(message.text, view.low, view.high):
            found.pop(message.speaker, None)
            found[message.speaker] = named[-1]
    return found


def last_success(view: FirmView) -> int:
    """The direction in which the own price should go: 1, −1, or 0 when the past does not say."""
    if len(view.recent) < 2:
        return 0
    before, last = view.recent[-2:]
    return _sign(last.price - before.price) * _sign(last.profit - before.profit)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
