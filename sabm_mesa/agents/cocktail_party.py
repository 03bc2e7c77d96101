"""The guests of the cocktail party: they invite, accept, talk in pairs, and remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.pair_chat import (
    Chat,
    Dialogue,
    Invitation,
    Line,
    of_agent,
    within_window,
)
from sabm_mesa.agents.party_view import PartyView, name_of
from sabm_mesa.decisions import Choice, Decision

if TYPE_CHECKING:
    from sabm_mesa.models.pair_chats import PairChats

LINE = Line(max_words=100)
"""What is kept of a line (the number of words is our choice)."""


class Guest(SmartAgent):
    """A guest of the party.

    Args:
        model: the party.

    Attributes:
        invited: whom it invited in this round; None when nobody.
        accepted: whether that invitation was accepted; None when it invited nobody.
        inviters: who invited it in this round.
        chats: all its talks, oldest first.
        invitations: the invitations of earlier rounds that it sent or received.
        partners: with whom it talked in this round, as numbers with blanks between them.
        distances: ``PARTNER:DISTANCE`` of each partner in the window, with blanks between them.
    """

    model: PairChats

    def __init__(self, model: PairChats) -> None:
        super().__init__(model)
        self.invited: int | None = None
        self.accepted: bool | None = None
        self.inviters: tuple[int, ...] = ()
        self.chats: tuple[Chat, ...] = ()
        self.invitations: tuple[Invitation, ...] = ()
        self.partners = self.distances = ""

    async def invite(self) -> Decision:
        """Name one other guest to talk with, or nobody; the value is its number, 0 for nobody."""
        view = self.observe()
        book = self.model.book
        names = {name_of(book, other): other for other in view.others}
        options = Choice((*names, book.render("nobody", {})))
        decision = await self.ask("invite", options, view)
        return _with_value(decision, names.get(decision.value, 0))

    async def accept(self) -> Decision:
        """Accept or decline each invitation; the value has the numbers of those accepted."""
        book = self.model.book
        yes = book.render("accepts", {})
        options = Choice((yes, book.render("declines", {})))
        welcomed: list[int] = []
        for inviter in self.inviters:
            view = self.observe(inviter=inviter, welcomed=tuple(welcomed))
            decision = await self.ask("accept", options, view)
            if decision.value == yes:
                welcomed.append(inviter)
        return Decision(tuple(welcomed))

    async def chat(self) -> Decision:
        """Hold the talk that the guest opens; the value is the whole talk."""
        partner = self.model.guest(self.model.pairs[self.unique_id])
        partner.begin("chat", self.position)
        before = self.position * self.model.max_turns  # turns of the talks before, at the most
        speakers = {self.unique_id: self, partner.unique_id: partner}
        pair = self.unique_id, partner.unique_id
        dialogue = Dialogue(pair, self.model.max_turns)
        while (speaker := dialogue.speaker) is not None:
            speakers[speaker].position = before + dialogue.turns
            line = await speakers[speaker].say(dialogue)
            dialogue.take(line.value)
        self.attempts += partner.attempts
        return Decision(Chat(self.model.round, pair, tuple(dialogue.lines)))

    async def say(self, dialogue: Dialogue) -> Decision:
        """Say the next line of a talk, or leave.

        Args:
            dialogue: the talk; it is the guest's turn.
        """
        first, second = dialogue.agents
        view = self.observe(
            partner=second if first == self.unique_id else first,
            lines=tuple(dialogue.lines),
            turns_left=dialogue.max_turns - dialogue.turns,
        )
        return await self.ask("say", LINE, view)

    def observe(self, **more: Any) -> PartyView:
        """What the guest knows now, and what belongs to the question.

        Args:
            more: fields of the view that belong to the question.
        """
        return PartyView(**self.known() | more)

    def known(self) -> dict[str, Any]:
        """Field of the view → what the guest knows whatever it is asked.

        It remembers the rounds of the talks that fit its window, and of those also invitations.
        """
        model = self.model
        chats = within_window(self.chats, model.window)
        known = self.invitations + of_agent(model.answered, self.unique_id)
        if len(chats) < len(self.chats):
            known = tuple(each for each in known if each.round >= chats[0].round)
        return {
            "agent": self.unique_id,
            "n_agents": len(model.guests),
            "round": model.round,
            "n_rounds": model.n_rounds,
            "invitations": known,
            "chats": chats,
            "invited": self.invited,
            "inviters": self.inviters,
            "persona": self.persona,
        }


def _with_value(decision: Decision, value: int) -> Decision:
    """The same decision with another value, when it is valid."""
    if not decision.valid:
        return decision
    return Decision(value, decision.reasoning, attempts=decision.attempts)
