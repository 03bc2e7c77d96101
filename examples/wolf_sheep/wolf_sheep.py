"""Wolves, sheep and grass: predators and prey with minds, and grass without.

Rules. ``n_sheep`` sheep and ``n_wolves`` wolves live on a torus of ``size`` x ``size`` patches of
grass. In a round all sheep choose a neighbouring patch or stay, at once, and eat the grass there if
it is grown (4 of strength). Then the wolves choose, one after another in random order, and eat one
sheep there (20 of strength). Everybody loses 1 of strength and leaves at 0; the others have a child
with probability 0.05, which gets half of the strength. Grass is grown again 5 rounds after it was
eaten. An unreadable answer means to stay.

Measures. ``sheep``, ``wolves`` and ``grass`` (grown patches).

Classical minds. Sheep go where there is grass and no wolf, wolves go where there is a sheep, at
random among several such patches (Wilensky 1997, but there everybody goes at random).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from mesa.discrete_space import Cell, CellAgent, FixedAgent, OrthogonalVonNeumannGrid

from sabm_mesa import Choice, ClassicalMind, Decision, Observation, Phase, SmartAgent, SmartModel
from sabm_mesa.analysis.pictures import Portrayal, SpacePicture

WAYS = {"stay": (0, 0), "north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}


@dataclass(frozen=True, slots=True)
class Meadow(Observation):
    """Knowledge of an animal: its strength, and what is on the patches around."""

    energy: int
    around: str


class Forager(ClassicalMind):
    """Goes where there is food and no enemy, at random among several such patches."""

    food, enemy = "grass", "wolf"

    async def answer(self, ask: Any) -> str:
        """Return the way."""
        around = dict(line.split(": ") for line in ask.observation.around.split("; "))
        safe = [way for way, there in around.items() if self.enemy not in there] or list(around)
        fed = [way for way in safe if self.food in around[way]] or safe
        return fed[int(ask.rng.integers(len(fed)))]


class Hunter(Forager):
    """Goes where there is a sheep, at random among several such patches."""

    food, enemy = "sheep", "nobody"


class Grass(FixedAgent):
    """A patch of grass: a plain agent of Mesa, without a mind. It waits until it is grown."""

    wait = 0


class Animal(SmartAgent, CellAgent):
    """An animal on a patch."""

    model: WolfSheep
    columns: ClassVar = {"energy": "energy"}
    energy, wait = 6, 0

    def go(self, way: str | None) -> Cell:
        """The patch to which a way leads; that of the animal for none."""
        return self.cell.connections.get(WAYS[way or "stay"], self.cell)

    async def choose(self) -> Decision:
        """Choose a patch, by what is on those around."""
        around = []
        for way in WAYS:
            there = (agent for agent in self.go(way).agents if agent is not self and not agent.wait)
            kinds = {type(agent).__name__.lower() for agent in there}
            around.append(f"{way}: {', '.join(sorted(kinds)) or 'nothing'}")
        meadow = Meadow(self.energy, "; ".join(around), persona=self.persona)
        return await self.ask("move", Choice(tuple(WAYS)), meadow)


class Sheep(Animal):
    """A sheep, which eats grass."""

    classical_minds: ClassVar = {"default": Forager}
    scenario_prompt = "sheep"
    graze = Animal.choose


class Wolf(Animal):
    """A wolf, which eats sheep."""

    classical_minds: ClassVar = {"default": Hunter}
    scenario_prompt = "wolf"
    energy = 20
    hunt = Animal.choose


GRASS = Portrayal("#88BB77", "grass", size=1.0, shape="s")
LOOKS = {Grass: GRASS, Sheep: Portrayal("#E69F00", "sheep"), Wolf: Portrayal("#333333", "wolf")}


class WolfSheep(SmartModel):
    """Wolves, sheep and grass; see the docstring of the module."""

    scenario_name = "wolf-sheep"
    title = "Wolves, sheep and grass"
    source = "Wilensky 1997, NetLogo Wolf Sheep Predation model"
    prompt_file = Path(__file__).with_name("wolf_sheep.toml")
    phases = (Phase("graze", who=Sheep), Phase("hunt", who=Wolf, order="shuffled"))
    pictures = (SpacePicture("meadow", portray=lambda a: None if a.wait else LOOKS[type(a)]),)
    model_columns: ClassVar = {"sheep": "sheep", "wolves": "wolves", "grass": "grass"}

    def __init__(
        self,
        n_sheep: Annotated[int, Ge(1)] = 20,
        n_wolves: Annotated[int, Ge(0)] = 4,
        size: Annotated[int, Ge(2)] = 10,
        n_rounds: int = 20,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.grid = OrthogonalVonNeumannGrid((size, size), torus=True, random=self.random)
        for animal in chain(*self.populate({Sheep: n_sheep, Wolf: n_wolves})):
            animal.cell = self.grid.all_cells.select_random_cell()
        for patch in self.grid.all_cells:
            Grass(self).cell = patch
        self.measure()

    def after_graze(self, sheep: Sheep, way: Decision) -> None:
        """Move the sheep and let it eat grass."""
        sheep.cell = sheep.go(way.value)
        for agent in sheep.cell.agents:
            if isinstance(agent, Grass) and not agent.wait:
                agent.wait, sheep.energy = 6, sheep.energy + 4

    def after_hunt(self, wolf: Wolf, way: Decision) -> None:
        """Move the wolf and let it eat a sheep."""
        wolf.cell = wolf.go(way.value)
        for sheep in [agent for agent in wolf.cell.agents if isinstance(agent, Sheep)][:1]:
            sheep.remove()
            wolf.energy += 20

    def update(self) -> None:
        """Let grass grow, and animals die and have children."""
        for grass in self.agents_by_type[Grass]:
            grass.wait = max(0, grass.wait - 1)
        for animal in [agent for agent in self.agents if isinstance(agent, Animal)]:
            animal.energy -= 1
            if animal.energy <= 0:
                animal.remove()
            elif self.rng.random() < 0.05 and animal.energy > 1:
                child = self.born(type(animal), of=animal)
                child.cell, child.energy = animal.cell, animal.energy // 2
                animal.energy -= child.energy
        self.measure()

    def measure(self) -> None:
        """Count the sheep, the wolves and the grown patches."""
        self.sheep, self.wolves = (len(self.agents_by_type.get(c, ())) for c in (Sheep, Wolf))
        self.grass = sum(not patch.wait for patch in self.agents_by_type[Grass])
