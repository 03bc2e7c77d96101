"""The base class of scenarios in which agents invite each other and talk in pairs.

Invitations are sent simultaneously, and answered simultaneously. The talks are held in the order of
the agents that open them. Talks without a common agent are independent and may run concurrently;
the phase of the talks declares this with its `reach`. `Sociable` is the classical mind of such
agents.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from sabm_mesa.core.answers import Decision
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.core.scheduler import FIXED, Phase, When
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import ToldRound
from sabm_mesa.models.pairs.agents import (
    LEAVE,
    UTTERANCE,
    Chat,
    Invitation,
    PairAgent,
    of_agent,
    pairs_of,
)

if TYPE_CHECKING:
    from sabm_mesa.core.asks import Ask


SOLITUDE = 0.1
"""Probability of inviting nobody in a round (our choice)."""
DECLINES = 0.2
"""Probability of declining an invitation (our choice)."""
REINFORCEMENT = 1.0
"""Added weight of an agent (initially 1) per remembered talk with it (our choice)."""
LEAVES = 0.3
"""Probability of leaving after a line when both have spoken (our choice)."""
SWAYED = 0.5
"""Probability of adopting the partner's topic (our choice)."""
NOVELTY = 0.1
"""Probability of opening a talk with a new topic (our choice)."""


class PairModel(SmartModel):
    """A scenario whose agents talk in pairs.

    A scenario sets `participants` after making its agents.

    Args:
        n_agents: number of agents.
        max_turns: turns of a talk at most.
        window: words of talks that an agent remembers.
        settings: the parameters of `SmartModel`.

    Attributes:
        participants: the agents in the order of their numbers.
        chats: the talks of all rounds with at least one message.
        invitations: the invitations of all rounds.
        answered: the answered invitations of this round.

    Raises:
        ParameterError: for a number outside its range.
    """

    participants: list[PairAgent]

    def __init__(
        self,
        n_agents: Annotated[int, Ge(2)],
        max_turns: Annotated[int, Ge(2)],
        window: Annotated[int, Ge(1)],
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.n_agents, self.max_turns, self.window = n_agents, max_turns, window
        self.chats: list[Chat] = []
        self.invitations: list[Invitation] = []
        self.answered: list[Invitation] = []
        self._over: dict[int, Chat] = {}  # opener → its talk of this round

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the agents in the prompts, in the order of their ids."""
        numbers = range(1, len(self.participants) + 1)
        return tuple(self.book.render("name", {"number": number}) for number in numbers)

    def participant(self, number: int) -> PairAgent:
        """The agent with a number.

        Args:
            number: from 1.
        """
        return self.participants[number - 1]

    @property
    def sent(self) -> list[Invitation]:
        """The invitations of this round in the order of the senders."""
        return [
            Invitation(self.round, agent.unique_id, agent.invited, bool(agent.accepted))
            for agent in self.participants
            if agent.invited is not None
        ]

    @property
    def pairs(self) -> dict[int, int]:
        """Opener → partner of the talks of this round, in their order."""
        return dict(pairs_of(self.sent))

    @property
    def held(self) -> list[Chat]:
        """The finished talks of this round with at least one message, in order."""
        over = [self._over[opener] for opener in self.pairs if opener in self._over]
        return [chat for chat in over if chat.messages]

    def begin_round(self) -> None:
        """Begin the round with no invitations and talks."""
        self._over, self.answered = {}, []
        for agent in self.participants:
            agent.invited = agent.accepted = None
            agent.inviters, agent.partners = (), ""

    def after_invite(self, agent: PairAgent, choice: Decision) -> None:
        """Deliver an invitation; an unreadable choice invites nobody."""
        if choice.value:
            agent.invited, agent.accepted = choice.value, False
            self.participant(choice.value).inviters += (agent.unique_id,)

    def after_accept(self, _agent: PairAgent, welcomed: Decision) -> None:
        """Store the invitations that an agent accepted."""
        for inviter in welcomed.value:
            self.participant(inviter).accepted = True
        self.answered = self.sent

    def after_chat(self, opener: PairAgent, talk: Decision) -> None:
        """Let both agents remember their talk, if it has messages; only they hear it."""
        chat: Chat = talk.value
        self._over[opener.unique_id] = chat
        for message in chat.messages:
            speaker = self.participant(message.sender)
            self.say(speaker, message.text, to=self.participant(chat.partner_of(message.sender)))
        if chat.messages:
            for number in chat.agents:
                self.participant(number).chats += (chat,)

    def update(self) -> None:
        """Store the invitations and talks of the round; agents remember the invitations."""
        sent, held = self.sent, self.held
        self.answered = []
        for agent in self.participants:
            me = agent.unique_id
            agent.invitations += of_agent(sent, me)
            agent.partners = " ".join(str(chat.partner_of(me)) for chat in of_agent(held, me))
        self.invitations += sent
        self.chats += held


def invitation_phases(when: When | None = None) -> tuple[Phase, Phase]:
    """The phases in which agents invite each other and accept or decline.

    Args:
        when: returns whether they take place in this round; None: always.
    """
    return (
        Phase(
            "invite",
            when=when,
            doc="Each agent invites one other agent to talk, or nobody (`invite`); an unreadable "
            "answer invites nobody.",
        ),
        Phase(
            "accept",
            when=when,
            who=_invited,
            most_turns=lambda model: model.n_agents,
            doc="Each invited agent accepts or declines its invitations one by one (`accept`); an "
            "unreadable answer declines.",
        ),
    )


def talk_phase() -> Phase:
    """The phase in which the pairs talk."""
    return Phase(
        "chat",
        FIXED,
        who=_openers,
        reach=_partner,
        most_turns=_most_turns,
        doc=f"The two agents of a talk speak in turn (`say`, at most {UTTERANCE.max_words} words) "
        "until one of them leaves or the turns are used up; both remember what was said.",
    )


def _most_turns(model: PairModel) -> int:
    """Maximum number of turns of all talks of a round, with at most one talk per opener or pair."""
    return model.max_turns * (model.n_agents if model.n_agents > 2 else 1)


def _invited(model: PairModel) -> list[PairAgent]:
    """The agents with an invitation in this round."""
    return [agent for agent in model.participants if agent.inviters]


def _openers(model: PairModel) -> list[PairAgent]:
    """The agents that open a talk in this round, in the order of the talks."""
    return [model.participant(opener) for opener in model.pairs]


def _partner(model: PairModel, opener: PairAgent) -> list[PairAgent]:
    """The agent with whom an opener talks."""
    return [model.participant(model.pairs[opener.unique_id])]


class Sociable(ClassicalMind):
    """A guest who prefers to invite guests with whom it has talked before.

    It invites another guest with probability proportional to 1 plus the number of remembered talks
    with that guest, as in a Pólya urn (Pólya 1930; Skyrms & Pemantle 2000 for social networks).
    Invitations are accepted with a fixed probability. It talks about a topic, and adopts its
    partner's topic with a fixed probability, as in the voter model (Holley & Liggett 1975).
    Occasionally it starts a talk with a new topic, so that topics never converge to a single one.
    Using these rules for guests of such a party is our choice.

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
            ask: the question; see `PairAgent.facts`.
        """
        if ask.name == "invite":
            return self._invites(ask)
        if ask.name == "accept":
            declined = ask.rng.random() < DECLINES
            return ask.book.render("declines" if declined else "accepts", {})
        return self._says(ask)

    def _invites(self, ask: Ask) -> str:
        if ask.rng.random() < SOLITUDE:
            return ask.book.render("nobody", {})
        others = ask.facts.others
        met = Counter(chat["other"] for round_ in ask.facts.rounds for chat in round_["chats"])
        weights = [1 + self.reinforcement * met[other] for other in others]
        total = sum(weights)
        return str(ask.rng.choice(others, p=[weight / total for weight in weights]))

    def _says(self, ask: Ask) -> str:
        messages = ask.facts.messages
        topics = [topic.strip() for topic in ask.book.render("classical_topics", {}).split(";")]
        if not self.topic or (not messages and ask.rng.random() < NOVELTY):
            self.topic = topics[int(ask.rng.integers(len(topics)))]
        entry = "classical_opens"
        if messages:
            heard = next((topic for topic in topics if topic in messages[-1].text), self.topic)
            swayed = heard != self.topic and ask.rng.random() < SWAYED
            self.topic = heard if swayed else self.topic
            entry = "classical_agrees" if self.topic == heard else "classical_stays"
        leaves = len(messages) > 1 and ask.rng.random() < LEAVES
        words = ask.book.render(
            "classical_leaves" if leaves else entry,
            {"topic": self.topic, "other": ask.facts.partner},
        )
        return f"{words} {LEAVE}" if leaves else words


def partners_in_words(played: ToldRound) -> list[str]:
    """The partners of a player in a round."""
    met = str(played.own.get("partners") or "").split()
    names = [played.name(int(float(agent))) for agent in met if agent != "nan"]
    return [Phrase("talk.with", names=names) if names else Phrase("talk.with_nobody")]
