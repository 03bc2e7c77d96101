"""Schelling's city: people of two groups stay or move, by who their neighbours are.

Rules. ``n_people`` people, half of them blue and half orange, live on a torus of ``size`` x
``size`` homes. In a round all see at once how many of the neighbours around them (at most 8) are of
their own group, and stay or move. Those that move go, in the order of their numbers, to a free home
drawn at random. An unreadable answer means to stay. A run ends when nobody has moved.

Measures. ``alike`` (mean share of neighbours of one's own group; 0.5 is expected of chance),
``moved`` (people in the round).

Classical minds. They stay when at least half of their neighbours are of their own group (Schelling
1971; ``classical:tolerant``: at least 30 %).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid

from sabm_mesa import (
    Choice,
    ClassicalMind,
    Decision,
    ParameterError,
    Portrayal,
    SmartAgent,
    SmartModel,
    SpacePicture,
    action,
)

COLOURS = {"blue": "#0072B2", "orange": "#E69F00"}
STAY = Choice(("stay", "move"))


class Wants(ClassicalMind):
    """Stays when at least half of the neighbours are of its own group (Schelling 1971)."""

    share = 0.5

    async def answer(self, ask: Any) -> str:
        """Return whether it stays."""
        return "stay" if ask.facts.alike >= self.share * ask.facts.neighbours else "move"


class Tolerant(Wants):
    """Stays when at least 30 % of the neighbours are of its own group."""

    share = 0.3


class Person(CellAgent, SmartAgent):
    """A person of one of two groups, at home in a cell."""

    model: City
    group: str

    @property
    def alike(self) -> tuple[int, int]:
        """Number of neighbours of its own group, and of all."""
        around = list(self.cell.neighborhood.agents)
        return sum(neighbour.group == self.group for neighbour in around), len(around)

    async def act(self) -> Decision:
        """Stay or move, by the neighbours around."""
        alike, neighbours = self.alike
        return await self.ask("act", STAY, group=self.group, alike=alike, neighbours=neighbours)


class City(SmartModel):
    """Schelling's city; see the docstring of the module."""

    scenario_name = "schelling"
    title = "Schelling's city"
    source = "Schelling 1971, Journal of Mathematical Sociology 1(2)"
    prompt_file = Path(__file__).with_name("schelling.toml")
    phases = (action(),)
    model_columns = ("alike", "moved")
    agent_columns = ("group",)
    classical_minds: ClassVar = {"default": Wants, "tolerant": Tolerant}
    pictures = (
        SpacePicture(
            "city",
            "The city",
            portray=lambda person: Portrayal(COLOURS[person.group], person.group),
        ),
    )

    def __init__(
        self,
        n_people: Annotated[int, Ge(2)] = 60,
        size: Annotated[int, Ge(3)] = 10,
        n_rounds: int = 30,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        if n_people >= size**2:
            raise ParameterError("n_people must leave a place free.", parameter="n_people")
        self.grid = OrthogonalMooreGrid((size, size), torus=True, capacity=1, random=self.random)
        self.people = self.populate(Person, n_people)
        homes = self.rng.permutation(size**2)[:n_people].tolist()
        for person, home in zip(self.people, homes, strict=True):
            person.group = "blue" if person.unique_id % 2 else "orange"
            person.cell = self.grid[divmod(home, size)]
        self.leaving: list[Person] = []
        self.update()

    def after_act(self, person: Person, decision: Decision) -> None:
        """Note who moves."""
        if decision.value == "move":
            self.leaving.append(person)

    def update(self) -> None:
        """Let people move, and measure."""
        free = sorted(cell.coordinate for cell in self.grid.all_cells if cell.is_empty)
        for person in self.leaving:
            home = free.pop(int(self.rng.integers(len(free))))
            free.append(person.cell.coordinate)
            person.cell = self.grid[home]
        self.moved, self.leaving = len(self.leaving), []
        counts = (person.alike for person in self.people)
        self.alike = float(np.mean([alike / n for alike, n in counts if n] or [0.0]))
        if self.round >= 0 and not self.moved:
            self.end("nobody moves")
