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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sabm_mesa.agents.base import AskingModel, SmartAgent
from sabm_mesa.agents.memory import newest
from sabm_mesa.core.answers import Choice, Decision, Text
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook


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
        """The partner of one agent of the talk.

        Args:
            agent: the id of the agent.
        """
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
        """Restore the word for leaving in a shortened answer.

        Args:
            text: the shortened answer.
            whole: the whole answer.
        """
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
        """Add the answer of the speaker.

        Args:
            answer: its text; None: it could not be read, and the speaker leaves.
        """
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
    """The message in an answer, and whether the speaker leaves.

    Args:
        answer: the answer; None when it could not be read.
    """
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

    Args:
        invitations: all invitations of one round.
    """
    pairs: dict[frozenset[int], Pair] = {}
    for invitation in sorted(invitations, key=lambda invitation: invitation.agents):
        if invitation.accepted:
            pairs.setdefault(frozenset(invitation.agents), invitation.agents)
    return list(pairs.values())


def of_agent(records: Iterable[R], agent: int) -> tuple[R, ...]:
    """The talks or invitations of one agent.

    Args:
        records: talks or invitations of all agents.
        agent: the id of the agent.
    """
    return tuple(record for record in records if agent in record.agents)


def since(first: int, records: Sequence[R]) -> Sequence[R]:
    """The talks or invitations of a round and later rounds.

    Args:
        first: the round.
        records: talks or invitations in the order of their rounds.
    """
    return records[bisect_left(records, first, key=attrgetter("round")) :]


@dataclass(frozen=True, slots=True)
class PairView(Observation):
    """An agent's observation: the other agents, and its remembered invitations and talks.

    Attributes:
        agent: its own number, from 1.
        n_agents: number of agents.
        round: the round, from 0.
        n_rounds: number of rounds.
        invitations: its answered invitations, sent and received, of the remembered rounds.
        chats: the remembered talks, oldest first.
        invited: the agent it invited in this round; None without one.
        inviters: the agents that invited it in this round.
        inviter: the agent whose invitation the question is about; None in other questions.
        welcomed: the inviters of this round whose invitations it has accepted so far.
        partner: its partner in the current talk; None in other questions.
        messages: the messages of the current talk.
        turns_left: turns left in the current talk, including this one.
        rounds_before: number of rounds before round 0; prompts add it to each round number.
    """

    agent: int
    n_agents: int
    round: int
    n_rounds: int
    invitations: tuple[Invitation, ...] = ()
    chats: tuple[Chat, ...] = ()
    invited: int | None = None
    inviters: tuple[int, ...] = ()
    inviter: int | None = None
    welcomed: tuple[int, ...] = ()
    partner: int | None = None
    messages: tuple[Message, ...] = ()
    turns_left: int = 0
    rounds_before: int = 0

    @property
    def others(self) -> tuple[int, ...]:
        """The other agents."""
        return tuple(n for n in range(1, self.n_agents + 1) if n != self.agent)

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """

        def names(*agents: int | None) -> str:
            return ", ".join(name_of(book, agent) for agent in agents if agent)

        return {
            "name": name_of(book, self.agent),
            "others": names(*self.others),
            "n_others": self.n_agents - 1,
            "n_agents": self.n_agents,
            "number": self.round + 1,
            "n_rounds": self.n_rounds,
            "persona": book.persona(self.persona),
            "memory": "\n\n".join(self._memory(book)) or book.render("memory_empty", {}),
            "invited": _so_far(book, "invited", names(self.invited)),
            "inviters": names(*self.inviters),
            "inviter": names(self.inviter),
            "welcomed": _so_far(book, "welcomed", names(*self.welcomed)),
            "nobody": book.render("nobody", {}),
            "accepts": book.render("accepts", {}),
            "declines": book.render("declines", {}),
            "partner": names(self.partner),
            "lines": _conversation(book, self.agent, self.messages)
            or book.render("lines_none", {}),
            "turns_left": self.turns_left,
            "leave": LEAVE,
        }

    def _memory(self, book: PromptBook) -> Iterable[str]:
        """One paragraph for each round: the invitations, then the talks."""
        rounds = {invitation.round for invitation in self.invitations} | {
            chat.round for chat in self.chats
        }
        for turn in sorted(rounds):
            number = turn + 1 + self.rounds_before
            entry = "memory_now" if turn == self.round else "memory_round"
            parts = [book.render(entry, {"number": number})]
            parts += [
                self._invitation(book, invitation)
                for invitation in self.invitations
                if invitation.round == turn
            ]
            for chat in (chat for chat in self.chats if chat.round == turn):
                partner = name_of(book, chat.partner_of(self.agent))
                parts.append(book.render("memory_chat", {"other": partner}))
                parts.append(_conversation(book, self.agent, chat.messages))
            yield "\n".join(parts)

    def _invitation(self, book: PromptBook, invitation: Invitation) -> str:
        sent = invitation.sender == self.agent
        entry = "memory_sent" if sent else "memory_received"
        outcome = "accepted" if invitation.accepted else "declined"
        other = invitation.receiver if sent else invitation.sender
        return book.render(f"{entry}_{outcome}", {"other": name_of(book, other)})


def _so_far(book: PromptBook, entry: str, names: str) -> str:
    return book.render(f"{entry}_{'some' if names else 'none'}", {entry: names})


def _conversation(book: PromptBook, agent: int, messages: tuple[Message, ...]) -> str:
    return "\n".join(
        book.render(
            "said_own" if message.sender == agent else "said_other",
            {"number": message.sender, "text": book.quote(message.text)},
        )
        for message in book.quoted_in_order(messages)
    )


def name_of(book: PromptBook, agent: int) -> str:
    """The name of an agent in the prompts.

    Args:
        book: the prompts of the run.
        agent: its number.
    """
    return book.render("name", {"number": agent})


UTTERANCE = Utterance(max_words=100)
"""The spec of an answer to `say` (the number of words is our choice)."""


class TalkingModel(AskingModel, Protocol):
    """Interface of a model that an agent needs to talk in pairs; `sabm_mesa.models.pairs` has it.

    Attributes:
        n_rounds: maximum number of rounds of the run.
        max_turns: maximum number of turns of a talk.
        window: number of words of talks that an agent remembers.
        answered: the invitations of this round that have been answered.
        participants: the agents by number.
    """

    n_rounds: int
    max_turns: int
    window: int
    answered: list[Invitation]
    participants: list[PairAgent]

    @property
    def pairs(self) -> dict[int, int]:
        """The talks of this round: agent that opens → partner."""

    def participant(self, number: int) -> PairAgent:
        """The agent with a number, from 1."""


class PairAgent(SmartAgent):
    """An agent that invites others, accepts or declines, and talks in pairs.

    Args:
        model: the model.

    Attributes:
        invited: the agent it invited in this round; None without one.
        accepted: whether that invitation was accepted; None without one.
        inviters: the agents that invited it in this round.
        chats: all talks of the agent, oldest first.
        invitations: the invitations of earlier rounds that it sent or received.
        partners: the ids of its partners in this round, separated by spaces.
    """

    model: TalkingModel

    def __init__(self, model: TalkingModel) -> None:
        super().__init__(model)
        self.invited: int | None = None
        self.accepted: bool | None = None
        self.inviters: tuple[int, ...] = ()
        self.chats: tuple[Chat, ...] = ()
        self.invitations: tuple[Invitation, ...] = ()
        self.partners = ""

    async def invite(self) -> Decision:
        """Choose another agent to talk with; the value is its number, 0 for nobody."""
        view = self.observe()
        book = self.model.book
        names = {name_of(book, other): other for other in view.others}
        options = Choice((*names, book.render("nobody", {})), label="invitation")
        decision = await self.ask("invite", options, view)
        if not decision.valid:
            return decision
        invited = names.get(decision.value, 0)
        return Decision(invited, decision.reasoning, attempts=decision.attempts)

    async def accept(self) -> Decision:
        """Accept or decline each invitation; the value holds the accepted inviters."""
        book = self.model.book
        yes = book.render("accepts", {})
        options = Choice((yes, book.render("declines", {})), label="decision")
        welcomed: list[int] = []
        for inviter in self.inviters:
            view = self.observe(inviter=inviter, welcomed=tuple(welcomed))
            decision = await self.ask("accept", options, view)
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
        """Take the next turn of a talk: say something, or leave.

        Args:
            dialogue: the talk, in which it is the agent's turn.
        """
        first, second = dialogue.agents
        view = self.observe(
            partner=second if first == self.unique_id else first,
            messages=tuple(dialogue.messages),
            turns_left=dialogue.max_turns - dialogue.turns,
        )
        return await self.ask("say", UTTERANCE, view)

    def observe(self, **more: Any) -> PairView:
        """The agent's knowledge at this moment.

        Args:
            more: the fields of the view that depend on the question.
        """
        return PairView(**self.known() | more)

    def known(self) -> dict[str, Any]:
        """The fields of the view that are the same for all questions.

        They hold the talks that fit the window of the agent's memory, and the invitations of these
        rounds.
        """
        model = self.model
        chats = newest(self.chats, words=model.window)
        known = self.invitations + of_agent(model.answered, self.unique_id)
        if len(chats) < len(self.chats):
            known = tuple(since(chats[0].round, known))
        return {
            "agent": self.unique_id,
            "n_agents": len(model.participants),
            "round": model.round,
            "n_rounds": model.n_rounds,
            "invitations": known,
            "chats": chats,
            "invited": self.invited,
            "inviters": self.inviters,
            "persona": self.persona,
        }
