"""Messages between agents, and the conversation of a run."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, is_dataclass
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Message:
    """Message of one agent.

    Attributes:
        round: the round, from 0.
        sender: the id of the sending agent.
        text: the words.
        to: the ids of the agents that hear it, in ascending order; None: all.
        name: the name of the sender, such as ``Voter 3``.
        position: its turn in the phase, from 0.
        stage: the index of that phase in the round; the number of phases for messages after all of
            them.
    """

    round: int
    sender: int
    text: str
    to: tuple[int, ...] | None = None
    name: str = ""
    position: int = 0
    stage: int = 0


def is_said(value: object) -> bool:
    """Whether a value is a message or a memory: a frozen dataclass with a `text`."""
    return is_dataclass(value) and isinstance(getattr(value, "text", None), str)


_TURN = attrgetter("round", "stage", "position")


class Conversation:
    """All messages of a run, with their senders and hearers.

    With a reach, messages are added in the order in which answers arrive. The methods return them
    in the order of the turns, whatever the latencies were.
    """

    def __init__(self) -> None:
        self._all: list[Message] = []
        self._in_order = True

    def __len__(self) -> int:
        """The number of messages."""
        return len(self._all)

    def add(self, message: Message) -> None:
        """Add a message."""
        self._in_order &= not self._all or _TURN(self._all[-1]) <= _TURN(message)
        self._all.append(message)

    def since(self, first: int, joined: int = 0) -> list[Message]:
        """The messages from a round on, without the `joined` earliest ones."""
        begin = bisect_left(self._all, first, key=attrgetter("round")) if first > 0 else 0
        recent = self._all[max(begin, joined) :]
        return recent if self._in_order else sorted(recent, key=_TURN)

    def of(self, agent: int, first: int, joined: int = 0) -> tuple[Message, ...]:
        """The messages from a round on that an agent sent or heard.

        It has not heard the first `joined` ones, which were said before it joined.
        """
        return tuple(
            [
                message
                for message in self.since(first, joined)
                if message.to is None or agent == message.sender or agent in message.to
            ]
        )
