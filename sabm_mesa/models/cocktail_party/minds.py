"""Classical guests of the cocktail party: their choice of partners and of topics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sabm_mesa.agents.pairs import LEAVE, PairView, name_of
from sabm_mesa.minds.base import ClassicalMind

if TYPE_CHECKING:
    from sabm_mesa.core.asks import Ask


SOLITUDE = 0.1
"""Probability of inviting nobody in a round (our choice)."""
DECLINES = 0.2
"""Probability of declining an invitation (our choice)."""
REINFORCEMENT = 1.0
"""Added to the weight of 1 of an agent for each remembered talk with it (our choice)."""
LEAVES = 0.3
"""Probability of leaving after a line, once both have spoken (our choice)."""
SWAYED = 0.5
"""Probability of adopting the partner's topic (our choice)."""
NOVELTY = 0.1
"""Probability of opening a talk with a new topic (our choice)."""


class Sociable(ClassicalMind):
    """A guest that prefers to invite the guests it has talked with before.

    It invites one of the others with probability proportional to 1 plus the number of talks with
    it that it remembers, as in an urn from which a ball is drawn and put back with one more of
    its colour (the reinforcement of Pólya 1930; Skyrms & Pemantle 2000 for social networks).
    Invitations are accepted with a fixed probability. It talks about a topic, and adopts its
    partner's with a fixed probability, as in the voter model (Holley & Liggett 1975); now and then
    it starts a talk with a new one, so that topics never converge to one. That these rules describe
    guests of such a party is our choice.

    Args:
        spec: the name of the mind in the data.

    Attributes:
        topic: the topic of its lines; ``""`` before its first line.
    """

    reinforcement = REINFORCEMENT

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.topic = ""

    async def answer(self, ask: Ask) -> object:
        """Invite a guest, answer an invitation, or say a line.

        Args:
            ask: the question; its observation is a `PairView`.
        """
        view = ask.observation
        assert isinstance(view, PairView)
        if ask.name == "invite":
            return self._invites(ask, view)
        if ask.name == "accept":
            declined = ask.rng.random() < DECLINES
            return ask.book.render("declines" if declined else "accepts", {})
        return self._says(ask, view)

    def _invites(self, ask: Ask, view: PairView) -> str:
        if ask.rng.random() < SOLITUDE:
            return ask.book.render("nobody", {})
        met = Counter(chat.partner_of(view.agent) for chat in view.chats)
        weights = [1 + self.reinforcement * met[other] for other in view.others]
        total = sum(weights)
        chosen = ask.rng.choice(view.others, p=[weight / total for weight in weights])
        return name_of(ask.book, int(chosen))

    def _says(self, ask: Ask, view: PairView) -> str:
        assert view.partner is not None
        topics = [topic.strip() for topic in ask.book.render("classical_topics", {}).split(";")]
        if not self.topic or (not view.messages and ask.rng.random() < NOVELTY):
            self.topic = topics[int(ask.rng.integers(len(topics)))]
        entry = "classical_opens"
        if view.messages:
            heard = next((topic for topic in topics if topic in view.messages[-1].text), self.topic)
            swayed = heard != self.topic and ask.rng.random() < SWAYED
            self.topic = heard if swayed else self.topic
            entry = "classical_agrees" if self.topic == heard else "classical_stays"
        leaves = len(view.messages) > 1 and ask.rng.random() < LEAVES
        words = ask.book.render(
            "classical_leaves" if leaves else entry,
            {"topic": self.topic, "other": name_of(ask.book, view.partner)},
        )
        return f"{words} {LEAVE}" if leaves else words


class RandomPartners(Sociable):
    """The same guest without reinforcement: all others are equally likely (null model).

    Args:
        spec: the name of the mind in the data.
    """

    reinforcement = 0.0
