"""Messages: what one agent says to others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """Message of one agent.

    Attributes:
        round: the round, from 0.
        sender: the id of the agent that said it.
        text: the words.
        to: the ids of the agents that hear it; None: all.
        name: the name of the sender, where agents know one another by names.
        position: the place of the sender in the order of the phase, from 0.
    """

    round: int
    sender: int
    text: str
    to: tuple[int, ...] | None = None
    name: str = ""
    position: int = 0
