"""Agents that invite each other, talk in pairs, and remember their talks.

Two agents take turns in a talk until one of them leaves or all turns are used. An agent leaves with
the word ``LEAVE`` at the end of a line; the text before it is still sent.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory import newest
from sabm_mesa.core.answers import Choice, Decision, Text
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.models.pairs.model import PairModel


LEAVE = "LEAVE"
"""The word with which an agent leaves, in capital letters, so that agents can say "leave" in a
sentence.
"""
_LEAVES = re.compile(rf"(?:^|(?<=[\W_])){LEAVE}[\W_]*$")

Pair = tuple[int, int]
"""The agent that opens the talk, and its partner."""
R = TypeVar("R", "Chat", "Invitation")


@dataclass(frozen=True, slots=True)
class Invitation:
    """An agent's invitation of another to talk.

    Attributes:
        round: the round, from 0.
        sender: the id of the agent that invited.
        receiver: the id of the invited agent.
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
        agents: the agent that opened it, and its partner.
        messages: all messages, in order.
        words: number of words in all messages, counted once.
    """

    round: int
    agents: Pair
    messages: tuple[Message, ...]
    words: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "words", sum(len(message.text.split()) for message in self.messages)
        )

    def partner_of(self, agent: int) -> int:
        """The partner of one agent of the talk."""
        first, second = self.agents
        return second if agent == first else first

    @property
    def text(self) -> str:
        """All messages as one text."""
        return " ".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True)
class Utterance(Text):
    """The text of one turn of a talk. A long answer is shortened but keeps the word for leaving."""

    def with_end(self, text: str, whole: str) -> str:
        """Restore the word for leaving in a shortened answer."""
        leaves = _LEAVES.search(whole) and not _LEAVES.search(text)
        return f"{text} {LEAVE}" if leaves else text


@dataclass(slots=True)
class Dialogue:
    """A talk in progress.

    Attributes:
        round: the round, from 0.
        agents: the agent that opens it, and its partner.
        max_turns: maximum number of turns, of both agents together.
        messages: all messages so far.
        turns: number of turns taken.
        left: whether an agent has left.
    """

    round: int
    agents: Pair
    max_turns: int
    messages: list[Message] = field(default_factory=list)
    turns: int = 0
    left: bool = False

    @property
    def speaker(self) -> int | None:
        """The agent whose turn it is; None when the talk is over."""
        over = self.left or self.turns >= self.max_turns
        return None if over else self.agents[self.turns % 2]

    def take(self, answer: str | None) -> None:
        """Add the answer of the speaker."""
        words, leaves = read_line(answer)
        speaker, hearer = self.agents[self.turns % 2], self.agents[1 - self.turns % 2]
        if words:
            self.messages.append(Message(self.round, speaker, words, to=(hearer,)))
        self.turns += 1
        self.left = leaves

    def chat(self) -> Chat:
        """The talk as the agents remember it."""
        return Chat(self.round, self.agents, tuple(self.messages))


def read_line(answer: str | None) -> tuple[str, bool]:
    """The message in an answer, and whether the speaker leaves."""
    if answer is None:
        return "", True
    match = _LEAVES.search(answer)
    if match is None:
        return answer, False
    words = answer[: match.start()].rstrip().rstrip("*_`\"'([{<").rstrip()
    return (words if any(sign.isalnum() for sign in words) else ""), True


def pairs_of(invitations: Iterable[Invitation]) -> list[Pair]:
    """The pairs that talk after the invitations of a round, in the order of their senders.

    Two agents that invited each other have one talk, which the first sender opens.
    """
    pairs: dict[frozenset[int], Pair] = {}
    for invitation in sorted(invitations, key=lambda invitation: invitation.agents):
        if invitation.accepted:
            pairs.setdefault(frozenset(invitation.agents), invitation.agents)
    return list(pairs.values())


def of_agent(records: Iterable[R], agent: int) -> tuple[R, ...]:
    """The talks or invitations of one agent."""
    return tuple(record for record in records if agent in record.agents)


def since(first: int, records: Sequence[R]) -> Sequence[R]:
    """The talks or invitations of a round and later rounds."""
    return records[bisect_left(records, first, key=attrgetter("round")) :]


UTTERANCE = Utterance(max_words=100)
"""The spec of an answer to `say` (the number of words is our choice)."""


class PairAgent(SmartAgent):
    """An agent that invites others, accepts or declines, and talks in pairs.

    Attributes:
        invited: the agent it invited in this round; None without one.
        accepted: whether that invitation was accepted; None without one.
        inviters: the agents that invited it in this round.
        chats: all talks of the agent, oldest first.
        invitations: the invitations of earlier rounds that it sent or received.
        partners: the ids of its partners in this round, separated by spaces.
    """

    model: PairModel

    def __init__(self, model: PairModel) -> None:
        super().__init__(model)
        self.invited: int | None = None
        self.accepted: bool | None = None
        self.inviters: tuple[int, ...] = ()
        self.chats: tuple[Chat, ...] = ()
        self.invitations: tuple[Invitation, ...] = ()
        self.partners = ""

    async def invite(self) -> Decision:
        """Choose another agent to talk with; the value is its number, 0 for nobody."""
        facts, nobody = self.facts(), self.model.book.render("nobody", {})
        options = Choice((*facts["others"], nobody), label="invitation")
        decision = await self.ask("invite", options, **facts)
        if not decision.valid:
            return decision
        numbers = {name: number for number, name in enumerate(self.model.names, 1)}
        invited = numbers.get(decision.value, 0)
        return Decision(invited, decision.reasoning, attempts=decision.attempts)

    async def accept(self) -> Decision:
        """Accept or decline each invitation; the value holds the accepted inviters."""
        book, names = self.model.book, self.model.names
        yes = book.render("accepts", {})
        options = Choice((yes, book.render("declines", {})), label="decision")
        welcomed: list[int] = []
        for inviter in self.inviters:
            decision = await self.ask(
                "accept", options, **self.facts(), inviter=names[inviter - 1],
                welcomed=[names[agent - 1] for agent in welcomed],
            )  # fmt: skip
            if decision.value == yes:
                welcomed.append(inviter)
        return Decision(tuple(welcomed))

    async def chat(self) -> Decision:
        """Hold the talk that the agent opens; the value is the whole talk."""
        partner = self.model.participant(self.model.pairs[self.unique_id])
        partner.begin("chat", self.turn)
        before = self.turn * self.model.max_turns  # maximum number of turns in earlier talks
        speakers = {self.unique_id: self, partner.unique_id: partner}
        pair = self.unique_id, partner.unique_id
        dialogue = Dialogue(self.model.round, pair, self.model.max_turns)
        while (speaker := dialogue.speaker) is not None:
            speakers[speaker].turn = before + dialogue.turns
            line = await speakers[speaker].say(dialogue)
            dialogue.take(line.value)
        self.attempts += partner.attempts
        return Decision(dialogue.chat())

    async def say(self, dialogue: Dialogue) -> Decision:
        """Take the next turn of a talk: say something, or leave."""
        first, second = dialogue.agents
        partner = second if first == self.unique_id else first
        return await self.ask(
            "say",
            UTTERANCE,
            **self.facts(),
            partner=self.model.names[partner - 1],
            messages=dialogue.messages,
            turns_left=dialogue.max_turns - dialogue.turns,
            leave=LEAVE,
        )

    def facts(self) -> dict[str, Any]:
        """The facts that the agent knows: the others, and what it remembers of each round.

        It remembers the talks that fit the window of its memory, and the invitations of these
        rounds.
        """
        model, names, own = self.model, self.model.names, self.unique_id
        chats = newest(self.chats, words=model.window)
        answered = self.invitations + of_agent(model.answered, own)
        if len(chats) < len(self.chats):
            answered = tuple(since(chats[0].round, answered))
        rounds = sorted({i.round for i in answered} | {chat.round for chat in chats})
        return {
            "agent": own,
            "name": names[own - 1],
            "n_agents": len(model.participants),
            "others": [*names[: own - 1], *names[own:]],
            "number": model.round + 1,
            "n_rounds": model.n_rounds,
            "invited": names[self.invited - 1] if self.invited else None,
            "inviters": [names[agent - 1] for agent in self.inviters],
            "rounds": [
                {
                    "number": round_ + 1,
                    "now": round_ == model.round,
                    "invitations": [self._told(i, names) for i in answered if i.round == round_],
                    "chats": [
                        {"other": names[chat.partner_of(own) - 1], "messages": chat.messages}
                        for chat in chats
                        if chat.round == round_
                    ],
                }
                for round_ in rounds
            ],
        }

    def _told(self, invitation: Invitation, names: Sequence[str]) -> dict[str, Any]:
        sent = invitation.sender == self.unique_id
        other = invitation.receiver if sent else invitation.sender
        return {
            "sent": sent,
            "other": names[other - 1],
            "accepted": invitation.accepted,
        }
