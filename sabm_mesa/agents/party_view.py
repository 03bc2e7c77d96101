"""What an agent of a party knows, and how it is told in a prompt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sabm_mesa.agents.pair_chat import LEAVE, Chat, Invitation
from sabm_mesa.asks import Observation

if TYPE_CHECKING:
    from sabm_mesa.prompts import PromptBook


@dataclass(frozen=True, slots=True)
class PartyView(Observation):
    """What an agent knows: who is there, and its own invitations and talks as far as remembered.

    Attributes:
        agent: its own number, from 1.
        n_agents: the number of agents.
        round: the round, from 0.
        n_rounds: the number of rounds.
        invitations: its invitations, sent and received, that were answered in the rounds it
            remembers.
        chats: its talks that it remembers, oldest first.
        invited: whom it has invited in this round; None when nobody.
        inviters: who invites it now.
        inviter: whose invitation it is asked about; None in other questions.
        welcomed: the inviters of this round that it has accepted so far.
        partner: with whom it talks now; None in other questions.
        lines: (speaker, text) of the talk that is under way.
        turns_left: turns of that talk that are left, its own one included.
        rounds_before: what is added to the number of a round that it is told, since counting began
            elsewhere.
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
    lines: tuple[tuple[int, str], ...] = ()
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

        def names(agents: Iterable[int]) -> str:
            return ", ".join(name_of(book, agent) for agent in agents)

        return {
            "name": name_of(book, self.agent),
            "others": names(self.others),
            "n_others": self.n_agents - 1,
            "n_agents": self.n_agents,
            "number": self.round + 1,
            "n_rounds": self.n_rounds,
            "persona": book.persona(self.persona),
            "memory": "\n\n".join(self._memory(book)) or book.render("memory_empty", {}),
            "invited": self._so_far(book, "invited", names([self.invited] if self.invited else [])),
            "inviters": names(self.inviters),
            "inviter": names([self.inviter] if self.inviter else []),
            "welcomed": self._so_far(book, "welcomed", names(self.welcomed)),
            "nobody": book.render("nobody", {}),
            "accepts": book.render("accepts", {}),
            "declines": book.render("declines", {}),
            "partner": names([self.partner] if self.partner else []),
            "lines": _conversation(book, self.agent, self.lines) or book.render("lines_none", {}),
            "turns_left": self.turns_left,
            "leave": LEAVE,
        }

    def _so_far(self, book: PromptBook, done: str, names: str) -> str:
        return book.render(f"{done}_{'some' if names else 'none'}", {done: names})

    def _memory(self, book: PromptBook) -> Iterable[str]:
        """One paragraph a round: its invitations, then its talks."""
        rounds = {each.round for each in self.invitations} | {each.round for each in self.chats}
        for turn in sorted(rounds):
            number = turn + 1 + self.rounds_before
            parts = [book.render("memory_round", {"number": number})]
            parts += [
                self._invitation(book, each) for each in self.invitations if each.round == turn
            ]
            for chat in (chat for chat in self.chats if chat.round == turn):
                partner = name_of(book, chat.partner_of(self.agent))
                parts.append(book.render("memory_chat", {"other": partner}))
                parts.append(_conversation(book, self.agent, chat.lines))
            yield "\n".join(parts)

    def _invitation(self, book: PromptBook, invitation: Invitation) -> str:
        sent = invitation.sender == self.agent
        entry = "memory_sent" if sent else "memory_received"
        outcome = "accepted" if invitation.accepted else "declined"
        other = invitation.receiver if sent else invitation.sender
        return book.render(f"{entry}_{outcome}", {"other": name_of(book, other)})


# What is remembered is read again in every question of the rounds that follow.
@lru_cache(maxsize=4096)
def _conversation(book: PromptBook, agent: int, lines: tuple[tuple[int, str], ...]) -> str:
    return "\n".join(
        book.render(
            "said_own" if speaker == agent else "said_other",
            {"number": speaker, "text": book.quote(text)},
        )
        for speaker, text in lines
    )


def name_of(book: PromptBook, agent: int) -> str:
    """How an agent is called in the prompts.

    Args:
        book: the prompts of the run.
        agent: its number.
    """
    return book.render("name", {"number": agent})
