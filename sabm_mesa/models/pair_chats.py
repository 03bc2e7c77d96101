"""What scenarios share whose agents invite one another and talk in pairs.

Invitations are sent at the same time, and so are the answers to them. The talks are held in the
order of those who open them. Two talks that share no agent do not depend on one another, so they
may go on at the same time: the phase of the talks says so by its `reach`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sabm_mesa.agents.cocktail_party import Guest
from sabm_mesa.agents.pair_chat import Chat, Invitation, heard, of_agent, pairs_of
from sabm_mesa.decisions import Decision
from sabm_mesa.models.base import SmartModel
from sabm_mesa.scheduler import FIXED, Phase, When


@dataclass(frozen=True, slots=True)
class Message:
    """What one agent said to another.

    Attributes:
        round: the round, from 0.
        speaker: the number of the agent, from 1.
        hearer: the number of the other one.
        text: the words.
    """

    round: int
    speaker: int
    hearer: int
    text: str


class PairChats(SmartModel):
    """A scenario whose agents talk in pairs: the party, and what builds on it.

    Attributes:
        guests: the agents in the order of their numbers.
        max_turns: turns of a talk at the most.
        window: words of talks that an agent remembers.
        chats: the talks of all rounds in which something was said.
        invitations: the invitations of all rounds.
        answered: the invitations of this round, once they are answered.
    """

    guests: list[Guest]
    max_turns: int
    window: int

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.chats: list[Chat] = []
        self.invitations: list[Invitation] = []
        self.answered: list[Invitation] = []
        self._over: dict[int, Chat] = {}

    @property
    def pairs(self) -> dict[int, int]:
        """Opener → partner of the talks of this round, in their order."""
        return dict(pairs_of(self.sent))

    @property
    def sent(self) -> list[Invitation]:
        """The invitations of this round in the order of the senders."""
        return [
            Invitation(self.round, guest.unique_id, guest.invited, bool(guest.accepted))
            for guest in self.guests
            if guest.invited is not None
        ]

    @property
    def held(self) -> list[Chat]:
        """The talks of this round that are over and in which something was said, in their order."""
        over = [self._over[opener] for opener in self.pairs if opener in self._over]
        return [chat for chat in over if chat.lines]

    @property
    def said(self) -> list[Message]:
        """What was said in the talks of this round that are over, in their order."""
        return [
            Message(chat.round, speaker, chat.partner_of(speaker), text)
            for chat in self.held
            for speaker, text in chat.lines
        ]

    def guest(self, number: int) -> Guest:
        """The agent with a number.

        Args:
            number: from 1.
        """
        return self.guests[number - 1]

    def begin_round(self) -> None:
        """Begin the round without invitations and talks."""
        self._over, self.answered = {}, []
        for guest in self.guests:
            guest.invited = guest.accepted = None
            guest.inviters, guest.partners = (), ""

    def after_invite(self, guest: Guest, choice: Decision) -> None:
        """Tell an agent that it is invited; an unreadable choice invites nobody."""
        if choice.value:
            guest.invited, guest.accepted = choice.value, False
            self.guest(choice.value).inviters += (guest.unique_id,)

    def after_accept(self, _guest: Guest, welcomed: Decision) -> None:
        """Note whose invitations an agent accepted."""
        for inviter in welcomed.value:
            self.guest(inviter).accepted = True
        self.answered = self.sent

    def after_chat(self, opener: Guest, talk: Decision) -> None:
        """Let the two remember their talk, if anything was said in it."""
        chat: Chat = talk.value
        self._over[opener.unique_id] = chat
        if chat.lines:
            for agent in chat.agents:
                self.guest(agent).chats += (chat,)

    def update(self) -> None:
        """Let everybody remember the invitations, and keep them and the talks."""
        sent, held = self.sent, self.held
        self.answered = []
        for guest in self.guests:
            me = guest.unique_id
            guest.invitations += of_agent(sent, me)
            guest.partners = " ".join(str(chat.partner_of(me)) for chat in of_agent(held, me))
        self.invitations += sent
        self.chats += held


def invited(model: PairChats) -> list[Guest]:
    """The agents that somebody has invited in this round."""
    return [guest for guest in model.guests if guest.inviters]


def openers(model: PairChats) -> list[Guest]:
    """The agents that open a talk in this round, in the order of the talks."""
    return [model.guest(opener) for opener in model.pairs]


def sharing_an_agent(model: PairChats, opener: Guest) -> Iterable[Guest]:
    """Who opens a talk with one of the two agents of a talk: these talks wait for one another."""
    pairs = model.pairs
    two = {opener.unique_id, pairs[opener.unique_id]}
    return [model.guest(first) for first, second in pairs.items() if two & {first, second}]


def meeting(when: When | None = None) -> tuple[Phase, Phase]:
    """The phases in which agents invite one another and accept.

    Args:
        when: whether they take place in this round; always, when None.
    """
    return Phase("invite", when=when), Phase("accept", when=when, who=invited)


def talking(when: When | None = None) -> Phase:
    """The phase in which the pairs talk.

    Args:
        when: whether it takes place in this round; always, when None.
    """
    return Phase(
        "chat", FIXED, when=when, who=openers, reach=sharing_an_agent, says="say", heard=heard
    )
