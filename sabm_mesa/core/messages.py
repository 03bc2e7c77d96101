"""Messages between agents, and the conversation of a run."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
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
        name: the name of the sender, if agents have names.
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


_round = attrgetter("round")
_order = attrgetter("round", "stage", "position")


class Conversation:
    """All messages of a run, and their senders and hearers.

    With a reach they are added in the order in which answers arrive. Its methods return them in the
    order of the turns, whatever the latencies were.
    """

    def __init__(self) -> None:
        self._to_all: list[Message] = []
        self._same_for_all: tuple[Message, ...] = ()
        self._private: defaultdict[int, list[Message]] = defaultdict(list)
        self._on_the_way: list[Message] = []  # private ones that are not in them yet
        self._all: list[Message] = []
        self._newest = self._begins = -1  # the newest round, and where its messages to all begin
        self._in_order = True  # so far the order of arrival is that of the turns
        self._latest = (-1, -1, -1)  # the turn of the message that came last

    def __len__(self) -> int:
        """The number of messages."""
        return len(self._all)

    @property
    def n_to_all(self) -> int:
        """The number of messages to all."""
        return len(self._to_all)

    def add(self, message: Message) -> None:
        """Add a message.

        Args:
            message: the message.
        """
        if self._newest != message.round:
            self._newest, self._begins = message.round, len(self._to_all)
        position = _order(message)
        self._in_order = self._in_order and self._latest <= position
        self._latest = position
        self._all.append(message)
        (self._to_all if message.to is None else self._on_the_way).append(message)

    def since(self, first: int) -> list[Message]:
        """The messages from a round on.

        Args:
            first: the round.
        """
        messages = _from(self._all, first)
        return messages if self._in_order else sorted(messages, key=_order)

    def of(self, agent: int, first: int, joined: int = 0) -> Sequence[Message]:
        """The messages from a round on that an agent sent or heard.

        Args:
            agent: its id.
            first: the round.
            joined: the number of messages to all before it joined.
        """
        if self._on_the_way:
            self._deliver()
        if first <= 0 and not joined and self._in_order and agent not in self._private:
            if len(self._same_for_all) != len(self._to_all):  # one copy for all that hear the same
                self._same_for_all = tuple(self._to_all)
            return self._same_for_all
        if first < self._newest:
            public = _from(self._to_all, first, joined)
        else:
            begins = self._begins if first == self._newest else len(self._to_all)
            public = self._to_all[max(begins, joined) :]
        if agent in self._private:
            private = _from(self._private[agent], first)
            if public and private:
                return sorted(public + private, key=_order)
            public = public or private
        return public if self._in_order else sorted(public, key=_order)

    def _deliver(self) -> None:
        """Sort private messages by agent; only on demand, since in many runs no agent asks."""
        for message in self._on_the_way:
            for agent in {message.sender, *(message.to or ())}:
                self._private[agent].append(message)
        self._on_the_way.clear()


def _from(messages: list[Message], first: int, joined: int = 0) -> list[Message]:
    """The messages from a round on, of a list in the order of the rounds."""
    if first > 0:
        joined = max(joined, bisect_left(messages, first, key=_round))
    return messages[joined:]
