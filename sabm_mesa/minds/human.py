"""The mind that is a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.asks import Ask, Reply
from sabm_mesa.decisions import Format

if TYPE_CHECKING:
    from sabm_mesa.seats import Seat

HUMAN = "human"


class HumanMind:
    """The people who play a game, each of them at the seat of one agent.

    Attributes:
        seats: agent → its seat; the game sets it (see `sabm_mesa.game.Game`).
    """

    spec = HUMAN
    instant = False
    paid = True
    answer_format: Format = "paper"
    """A person writes plain text, whatever format language models are asked for."""

    def __init__(self) -> None:
        self.seats: dict[int, Seat] = {}

    async def answer(self, ask: Ask) -> Reply:
        """Ask the person at the seat of the agent.

        Args:
            ask: the question.
        """
        return await self.seats[ask.key.agent].put(ask)
