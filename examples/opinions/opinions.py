"""Opinions on a small world: people hear their neighbours, and may change their minds.

Rules. ``n_people`` people stand in a small world (Watts and Strogatz 1998): a ring on which each
knows ``n_neighbours`` others, with a share ``rewired`` of the ties led elsewhere. Each has an
opinion from 0 to 100, drawn at random. In a round, one after another in random order, each hears
the latest opinion of every neighbour and says its own. An unreadable answer leaves the opinion as
it is.

Measures. ``mean``, ``spread`` (standard deviation) and ``distance`` (mean absolute difference of
two neighbours) of the opinions: consensus, where all are 0; polarisation, where the spread is large
and the distance small.

Classical minds. Bounded confidence (Hegselmann and Krause 2002): the mean of all opinions that are
at most 20 from one's own, that one included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import networkx as nx
import numpy as np
from annotated_types import Ge, Le

from sabm_mesa import (
    ClassicalMind,
    ColourScale,
    Decision,
    Mind,
    NetworkPicture,
    Number,
    Phase,
    Portrayal,
    SmartAgent,
    SmartModel,
    action,
)  # fmt: skip

OPINION = Number(0, 100, integer=True)
CONFIDENCE = 20


class BoundedConfidence(ClassicalMind):
    """Averages the opinions that are near its own (Hegselmann and Krause 2002, JASSS 5(3) 2)."""

    async def answer(self, ask: Any) -> int:
        """Return the mean of the opinions within `CONFIDENCE`, as a whole number."""
        opinion = ask.facts.opinion
        near = [other for other in ask.facts.heard if abs(other - opinion) <= CONFIDENCE]
        return round((opinion + sum(near)) / (1 + len(near)))


class Person(SmartAgent):
    """A person with an opinion."""

    model: Opinions
    opinion: int

    async def act(self) -> Decision:
        """Say its opinion, after those of its neighbours."""
        heard = [other.opinion for other in self.model.neighbours(self)]
        return await self.ask("act", OPINION, opinion=self.opinion, heard=heard)


class Opinions(SmartModel):
    """Opinions on a small world; see the docstring of the module."""

    scenario_name = "opinions"
    title = "Opinions on a small world"
    source = "Hegselmann and Krause 2002; Watts and Strogatz 1998"
    prompt_file = Path(__file__).with_name("opinions.toml")
    # Those whose opinions a person reads, itself included: others may speak at the same time.
    phases: ClassVar[tuple[Phase, ...]] = (
        action("shuffled", reach=lambda model, person: model.neighbours(person)),
    )
    model_columns = ("mean", "spread", "distance")
    agent_columns = ("opinion",)
    classical_minds: ClassVar[Mapping[str, Callable[[str], Mind]]] = {"default": BoundedConfidence}

    pictures = (
        NetworkPicture(
            "opinions", "Opinions on the network", of="network", layout="circle",
            node=lambda person: Portrayal(value=person.opinion),
            scale=ColourScale(0, 100, "Opinion (0 to 100)"),
        ),
    )  # fmt: skip

    def __init__(
        self,
        n_people: Annotated[int, Ge(5)] = 20,
        n_neighbours: Annotated[int, Ge(2)] = 4,
        rewired: Annotated[float, Ge(0), Le(1)] = 0.1,
        n_rounds: int = 8,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.people = self.populate(Person, n_people)
        drawn = nx.connected_watts_strogatz_graph(
            n_people, n_neighbours, rewired, seed=int(self.rng.integers(2**31))
        )
        self.network = nx.relabel_nodes(drawn, dict(enumerate(self.people)))
        for person in self.people:
            person.opinion = int(self.rng.integers(101))
        self.update()

    def neighbours(self, person: Person) -> list[Person]:
        """The people that a person hears."""
        return sorted(self.network[person], key=lambda other: other.unique_id)

    def after_act(self, person: Person, decision: Decision) -> None:
        """Take over the opinion that was said."""
        if decision.valid:
            person.opinion = decision.value

    def update(self) -> None:
        """Measure the opinions."""
        opinions = [person.opinion for person in self.people]
        self.mean, self.spread = float(np.mean(opinions)), float(np.std(opinions))
        ties = self.network.edges
        self.distance = float(np.mean([abs(one.opinion - other.opinion) for one, other in ties]))
