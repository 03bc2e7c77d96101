"""The base class of scenarios in which agents invite one another and talk in pairs.

Invitations are sent at the same time, and so are the answers to them. The talks are held in the
order of the agents that open them. Two talks without a common agent do not depend on one another
and may go on at the same time; the phase of the talks declares it by its `reach`.
"""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge

from sabm_mesa.agents.pairs import (
    UTTERANCE,
    Chat,
    Invitation,
    PairAgent,
    name_of,
    of_agent,
    pairs_of,
)
from sabm_mesa.core.answers import Decision
from sabm_mesa.core.scheduler import FIXED, Phase, When
from sabm_mesa.models.base import SmartModel


class PairModel(SmartModel):
    """A scenario whose agents talk in pairs.

    A scenario sets `participants` when it has made its agents.

    Args:
        n_agents: number of agents.
        max_turns: turns of a talk at most.
        window: words of talks that an agent remembers.
        settings: the parameters of `SmartModel`.

    Attributes:
        participants: the agents in the order of their numbers.
        chats: the talks of all rounds in which something was said.
        invitations: the invitations of all rounds.
        answered: the invitations of this round, once they are answered.

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
        return tuple(name_of(self.book, each.unique_id) for each in self.participants)

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
        """The talks of this round that are over and in which something was said, in their order."""
        over = [self._over[opener] for opener in self.pairs if opener in self._over]
        return [chat for chat in over if chat.messages]

    def begin_round(self) -> None:
        """Begin the round without invitations and talks."""
        self._over, self.answered = {}, []
        for agent in self.participants:
            agent.invited = agent.accepted = None
            agent.inviters, agent.partners = (), ""

    def after_invite(self, agent: PairAgent, choice: Decision) -> None:
        """Tell an agent that it is invited; an unreadable choice invites nobody."""
        if choice.value:
            agent.invited, agent.accepted = choice.value, False
            self.participant(choice.value).inviters += (agent.unique_id,)

    def after_accept(self, _agent: PairAgent, welcomed: Decision) -> None:
        """Note the invitations that an agent accepted."""
        for inviter in welcomed.value:
            self.participant(inviter).accepted = True
        self.answered = self.sent

    def after_chat(self, opener: PairAgent, talk: Decision) -> None:
        """Let the two remember their talk, if anything was said in it; only they hear it."""
        chat: Chat = talk.value
        self._over[opener.unique_id] = chat
        for each in chat.messages:
            speaker = self.participant(each.sender)
            self.say(speaker, each.text, to=self.participant(chat.partner_of(each.sender)))
        if chat.messages:
            for number in chat.agents:
                self.participant(number).chats += (chat,)

    def update(self) -> None:
        """Keep the invitations and talks of the round, and let the agents remember the first."""
        sent, held = self.sent, self.held
        self.answered = []
        for agent in self.participants:
            me = agent.unique_id
            agent.invitations += of_agent(sent, me)
            agent.partners = " ".join(str(chat.partner_of(me)) for chat in of_agent(held, me))
        self.invitations += sent
        self.chats += held


def invitation_phases(when: When | None = None) -> tuple[Phase, Phase]:
    """The phases in which agents invite one another and accept or decline.

    Args:
        when: whether they take place in this round; None: always.
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
    """Turns of all talks of a round at most: each agent opens one, or two agents one together."""
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
