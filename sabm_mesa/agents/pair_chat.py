"""Talks between two: invitations, the talk itself, and what is remembered of both.

A talk alternates between two agents until one of them leaves or its turns are used up. An agent
leaves by the word ``LEAVE`` at the end of a line; what stands before it is still said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sabm_mesa.decisions import Text

LEAVE = "LEAVE"
"""The word with which an agent leaves, in capital letters, so that "leave" can be talked about."""
_LEAVES = re.compile(rf"(?:^|(?<=[\W_])){LEAVE}[\W_]*$")

Pair = tuple[int, int]
"""The one who opens the talk, and the other."""
R = TypeVar("R", "Chat", "Invitation")


@dataclass(frozen=True, slots=True)
class Invitation:
    """One agent's wish to talk with another.

    Attributes:
        round: the round, from 0.
        sender: who invited.
        receiver: who was invited.
        accepted: whether the receiver accepted.
    """

    round: int
    sender: int
    receiver: int
    accepted: bool

    @property
    def agents(self) -> Pair:
        """Sender and receiver."""
        return self.sender, self.receiver


@dataclass(frozen=True, slots=True)
class Chat:
    """A talk between two.

    Attributes:
        round: the round, from 0.
        agents: the one who opened it, and the other.
        lines: (speaker, text) in the order in which they were said.
        words: how many words were said; counted once, since talks are often measured.
    """

    round: int
    agents: Pair
    lines: tuple[tuple[int, str], ...]
    words: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", sum(len(text.split()) for _, text in self.lines))

    def partner_of(self, agent: int) -> int:
        """The other one of the two.

        Args:
            agent: one of them.
        """
        first, second = self.agents
        return second if agent == first else first

    @property
    def text(self) -> str:
        """All that was said, as one text."""
        return " ".join(text for _, text in self.lines)


@dataclass(frozen=True, slots=True)
class Line(Text):
    """What is said in one turn of a talk: a long one is cut, but who leaves still leaves."""

    def with_end(self, text: str, whole: str) -> str:
        """Put the word for leaving back.

        Args:
            text: the line, cut.
            whole: the whole line.
        """
        leaves = _LEAVES.search(whole) and not _LEAVES.search(text)
        return f"{text} {LEAVE}" if leaves else text


@dataclass(slots=True)
class Dialogue:
    """A talk that is under way.

    Attributes:
        agents: the one who opens it, and the other.
        max_turns: turns after which it ends, whoever has them.
        lines: what was said so far.
        turns: how many turns were taken.
        left: whether somebody has left.
    """

    agents: Pair
    max_turns: int
    lines: list[tuple[int, str]] = field(default_factory=list)
    turns: int = 0
    left: bool = False

    @property
    def speaker(self) -> int | None:
        """Whose turn it is; None when the talk is over."""
        over = self.left or self.turns >= self.max_turns
        return None if over else self.agents[self.turns % 2]

    def take(self, answer: str | None) -> None:
        """Take what the speaker answered.

        Args:
            answer: the words; None when they could not be read: then the speaker leaves.
        """
        said, leaves = read_line(answer)
        speaker = self.agents[self.turns % 2]
        if said:
            self.lines.append((speaker, said))
        self.turns += 1
        self.left = leaves


def read_line(answer: str | None) -> tuple[str, bool]:
    """What is said in an answer, and whether the speaker leaves.

    Args:
        answer: the words; None when they could not be read.
    """
    if answer is None:
        return "", True
    found = _LEAVES.search(answer)
    if found is None:
        return answer, False
    said = answer[: found.start()].rstrip().rstrip("*_`\"'([{<").rstrip()
    return (said if any(sign.isalnum() for sign in said) else ""), True


def heard(answer: str) -> str:
    """What the other one hears of an answer; ``""`` when nothing is said in it.

    Args:
        answer: the words.
    """
    return read_line(answer)[0]


def pairs_of(invitations: Iterable[Invitation]) -> list[Pair]:
    """Who talks with whom after the invitations of a round, in the order of the senders.

    Two agents that invited each other have one talk; the first one in the order opens it.

    Args:
        invitations: those of one round.
    """
    pairs: dict[frozenset[int], Pair] = {}
    for each in sorted(invitations, key=lambda each: each.agents):
        if each.accepted:
            pairs.setdefault(frozenset(each.agents), each.agents)
    return list(pairs.values())


def within_window(chats: Sequence[Chat], words: int) -> tuple[Chat, ...]:
    """The newest talks that fit a window; the oldest ones are dropped whole.

    Args:
        chats: talks, oldest first.
        words: the size of the window; the newest talk is kept whatever its size.
    """
    kept: list[Chat] = []
    size = 0
    for chat in reversed(chats):
        size += chat.words
        if kept and size > words:
            break
        kept.append(chat)
    return tuple(reversed(kept))


def of_agent(records: Iterable[R], agent: int) -> tuple[R, ...]:
    """The records that an agent has a part in.

    Args:
        records: talks or invitations.
        agent: the agent.
    """
    return tuple(each for each in records if agent in each.agents)
