"""The agents of a model with their minds and personas, at the start and during a run.

`SmartModel.populate` and `SmartModel.born` make agents here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.parameters import check_int
from sabm_mesa.core.prompts import NO_PERSONA
from sabm_mesa.core.streams import birth_rng
from sabm_mesa.errors import UsageError, about
from sabm_mesa.minds.base import name_of
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import (
    CLASSICAL,
    MindMaker,
    Minds,
    MindSpec,
    Shares,
    assign,
    given_for,
    is_by_class,
    mind_maker,
)

_NUMBER = "the number of agents"
MOST_AGENTS = 1_000_000
"""The largest initial population."""


class Population(list[SmartAgent]):
    """All agents with minds in the order of their ids, including those that have left the model.

    Args:
        model: the model, a `SmartModel`.
        minds: the minds as given to the model.
        personas: the personas as given to the model.

    Attributes:
        minds: the minds as given.
        personas: the personas as given.
        shares: class of agents → the distribution of minds and personas of newborns, in the order
            of the classes.
    """

    def __init__(self, model: Any, minds: Minds, personas: Any) -> None:
        super().__init__()
        self.minds, self.personas = minds, personas
        self.shares: dict[type[SmartAgent], tuple[Shares, Shares]] = {}
        self._model = model
        self._makers: dict[tuple[type[SmartAgent], Any], MindMaker] = {}

    def __getstate__(self) -> dict[str, Any]:
        """The state without the mind factories, which a copy creates again."""
        return {**vars(self), "_makers": {}}

    def of_id(self, unique_id: int) -> SmartAgent:
        """The agent with an id.

        Raises:
            KeyError: when there is none.
        """
        index = bisect_left(self, unique_id, key=attrgetter("unique_id"))
        matches = self[index : index + 1]
        if not matches or matches[0].unique_id != unique_id:
            raise KeyError(unique_id)
        return matches[0]

    def populate(self, agents: Any, n: int | None, *args: Any) -> list[Any]:
        """Make the initial agents of a run; see `SmartModel.populate`."""
        several = isinstance(agents, Mapping)
        numbers: dict[type[SmartAgent], int] = dict(agents if several else {agents: n})
        for kind, number in numbers.items():
            what = f"the number of agents of the class {kind.__name__}" if several else _NUMBER
            numbers[kind] = check_int(what, number, 0 if several else 1)
        check_int(_NUMBER, sum(numbers.values()), 1, MOST_AGENTS)
        minds, personas = self.spread(numbers)
        for persona in set(personas):
            self._model.book.persona(persona)
        kinds = [kind for kind, number in numbers.items() for _ in range(number)]
        makers = [self.maker(kind, mind) for kind, mind in zip(kinds, minds, strict=True)]
        made = []
        for kind, *given in zip(kinds, minds, makers, personas, strict=True):
            agent = kind(self._model, *args)
            self._join(agent, *given)
            made.append(agent)
        if not several:
            return made
        return [[agent for agent in made if type(agent) is kind] for kind in numbers]

    def born(self, agent_class: type[SmartAgent], *args: Any, of: SmartAgent | None) -> Any:
        """Make an agent during the run; see `SmartModel.born`."""
        if agent_class not in self.shares:
            raise UsageError(
                f"A {agent_class.__name__} is born, and populate does not name the class: give the "
                f"number there, as in self.populate({{{agent_class.__name__}: 0, …}})."
            )
        agent = agent_class(self._model, *args)
        agent.parent = of
        mind, persona = self.of_newborn(agent, None if of is None else (of.given_mind, of.persona))
        self._join(agent, mind, self.maker(agent_class, mind), persona)
        return agent

    def _join(self, agent: SmartAgent, mind: MindSpec, maker: MindMaker, persona: str) -> None:
        agent.given_mind, agent.persona = mind, persona
        agent.mind = maker(agent)
        self.append(agent)

    def declare(self, agent_class: type[SmartAgent]) -> None:
        """Add a class of agents: its columns, and the distribution for newborns."""
        if agent_class in self.shares:
            return
        minds = given_for(agent_class.__name__, self.minds, CLASSICAL)
        personas = given_for(agent_class.__name__, self.personas, NO_PERSONA)
        no_people = Shares.of(minds, leave_out=lambda mind: name_of(mind) == HUMAN)
        self.shares[agent_class] = no_people, Shares.of(personas)
        self._model.datacollector.add_class(agent_class)

    def spread(self, numbers: Mapping[type[SmartAgent], int]) -> tuple[list[Any], list[str]]:
        """Spread minds and personas over new agents, in the order of their ids.

        Raises:
            MindSpecError: when the counts of minds or personas do not sum to the numbers.
        """
        for kind in numbers:
            self.declare(kind)
        minds = self._spread("minds", self.minds, numbers, CLASSICAL)
        return minds, self._spread("personas", self.personas, numbers, NO_PERSONA)

    def _spread(
        self, what: str, given: Any, numbers: Mapping[type[SmartAgent], int], default: str
    ) -> list[Any]:
        if not is_by_class(given):
            return self._spread_over(what, what, given, sum(numbers.values()))
        spread = []
        for kind, n in numbers.items():
            if n:
                of_class = given_for(kind.__name__, given, default)
                spread += self._spread_over(what, f"{what} of {kind.__name__}", of_class, n)
        return spread

    def _spread_over(self, what: str, words: str, given: Any, n: int) -> list[Any]:
        with about(what):
            spread = assign(words, given, n)
        if what == "personas" and isinstance(given, Mapping):
            return [spread[i] for i in self._model.rng.permutation(n)]
        return spread

    def of_newborn(
        self, agent: SmartAgent, parent: tuple[MindSpec, str] | None
    ) -> tuple[MindSpec, str]:
        """The mind and persona of a newborn agent: inherited from its parent, or drawn."""
        minds, personas = self.shares[type(agent)]
        rng = birth_rng(self._model.entropy, agent.unique_id)
        mind, persona = parent or (HUMAN, personas.draw(rng))
        if name_of(mind) != HUMAN:
            return mind, persona
        return (minds.draw(rng) if minds.options else CLASSICAL), persona

    def maker(self, agent_class: type[SmartAgent], mind: MindSpec) -> MindMaker:
        """The cached factory of a mind for agents of a class."""
        # A mind object need not be hashable, so its id is the key.
        key = agent_class, mind if isinstance(mind, str) else id(mind)
        if key not in self._makers:
            name = agent_class.__name__ if len(self.shares) > 1 else ""
            classical = self._model.classical_of(agent_class)
            context = replace(self._model.mind_context, classical=classical, agents=name)
            self._makers[key] = mind_maker(mind, context)
        return self._makers[key]

    def take_over(self, other: Population, *, personas: bool) -> None:
        """Give the agents the minds of the agents of another model, as in a fork."""
        at_first = {agent.unique_id: agent for agent in other}
        after: dict[SmartAgent, tuple[MindSpec, str]] = {}
        for agent in self:
            if counterpart := at_first.get(agent.unique_id):
                mind, persona, made = counterpart.given_mind, counterpart.persona, counterpart.mind
            else:  # newborn: it gets the mind and persona of a birth under the new parameters
                parent = None if agent.parent is None else after[agent.parent]
                mind, persona = other.of_newborn(agent, parent)
                made = other.maker(type(agent), mind)(agent)
            after[agent] = mind, persona
            agent.given_mind = mind
            if personas:
                agent.persona = persona
            # An unchanged free mind may have learned; a paid mind differs only in its settings.
            if made.paid or agent.mind.spec != made.spec:
                agent.mind = made
        self.minds, self.personas = other.minds, other.personas
        self.shares, self._makers = other.shares, other._makers
