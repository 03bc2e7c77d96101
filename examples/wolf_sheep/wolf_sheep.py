"""Wolves, sheep and grass: predators and prey with minds, and grass without.

Rules. ``n_sheep`` sheep and ``n_wolves`` wolves live on a torus of ``size`` x ``size`` patches of
grass. In a round all sheep choose a neighbouring patch or stay, at once, and eat the grass there if
it is grown (4 of strength). Then the wolves choose, one after another in random order, and eat one
sheep there (20 of strength). Everybody loses 1 of strength and leaves at 0; the others have a child
with probability 0.05, which gets half of the strength. Grass is grown again ``regrowth`` rounds
after it was eaten. An unreadable answer means to stay.

Measures. ``sheep``, ``wolves`` and ``grass`` (grown patches).

Classical minds. Sheep go where there is grass and no wolf, wolves go where there is a sheep, at
random among several such patches (Wilensky 1997, but there everybody goes at random).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

import mesa
from annotated_types import Ge

from sabm_mesa import Choice, ClassicalMind, Decision, Observation, Phase, SmartAgent, SmartModel

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
        around = dict(each.split(": ") for each in ask.observation.around.split("; "))
        safe = [way for way, there in around.items() if self.enemy not in there] or list(around)
        fed = [way for way in safe if self.food in around[way]] or safe
        return fed[int(ask.rng.integers(len(fed)))]


class Hunter(Forager):
    """Goes where there is a sheep, at random among several such patches."""

    food, enemy = "sheep", "nobody"


class Grass(mesa.Agent):
    """A patch of grass: a plain agent of Mesa, without a mind. It waits until it is grown."""

    def __init__(self, model: WolfSheep, x: int, y: int) -> None:
        super().__init__(model)
        self.x, self.y, self.wait = x, y, 0


class Animal(SmartAgent):
    """An animal on a patch."""

    model: WolfSheep
    columns: ClassVar = {"x": "x", "y": "y", "energy": "energy"}
    x, y, energy, wait = 0, 0, 6, 0

    async def choose(self) -> Decision:
        """Choose a patch, by what is on those around."""
        around = []
        for way in WAYS:
            there = (each for each in self.model.at(self, way) if each is not self)
            kinds = {type(each).__name__.lower() for each in there if not each.wait}
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


class WolfSheep(SmartModel):
    """Wolves, sheep and grass; see the docstring of the module."""

    scenario_name = "wolf-sheep"
    title = "Wolves, sheep and grass"
    source = "Wilensky 1997, NetLogo Wolf Sheep Predation model"
    prompt_file = Path(__file__).with_name("wolf_sheep.toml")
    phases = (Phase("graze", who=Sheep), Phase("hunt", who=Wolf, order="shuffled"))
    model_columns: ClassVar = {"sheep": "sheep", "wolves": "wolves", "grass": "grass"}

    def __init__(
        self,
        n_sheep: Annotated[int, Ge(1)] = 20,
        n_wolves: Annotated[int, Ge(0)] = 4,
        size: Annotated[int, Ge(2)] = 10,
        regrowth: Annotated[int, Ge(1)] = 5,
        n_rounds: int = 20,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.size, self.regrowth = size, regrowth
        for animal in chain(*self.populate({Sheep: n_sheep, Wolf: n_wolves})):
            animal.x, animal.y = map(int, self.rng.integers(size, size=2))
        self.meadow = [Grass(self, x, y) for x in range(size) for y in range(size)]
        self.measure()

    def at(self, animal: Animal, way: str) -> list[Any]:
        """All that is on the patch that an animal comes to."""
        x, y = ((a + b) % self.size for a, b in zip((animal.x, animal.y), WAYS[way], strict=True))
        return [each for each in self.agents if (each.x, each.y) == (x, y)]

    def go(self, animal: Animal, way: Decision, food: type) -> list[Any]:
        """Move an animal; return the food that is there."""
        there = self.at(animal, way.value or "stay")
        animal.x, animal.y = there[0].x, there[0].y
        return [each for each in there if isinstance(each, food) and not each.wait]

    def after_graze(self, sheep: Sheep, way: Decision) -> None:
        """Move the sheep and let it eat grass."""
        for grass in self.go(sheep, way, Grass):
            grass.wait, sheep.energy = self.regrowth + 1, sheep.energy + 4

    def after_hunt(self, wolf: Wolf, way: Decision) -> None:
        """Move the wolf and let it eat a sheep."""
        for sheep in self.go(wolf, way, Sheep)[:1]:
            sheep.remove()
            wolf.energy += 20

    def update(self) -> None:
        """Let grass grow, and animals die and have children."""
        for patch in self.meadow:
            patch.wait = max(0, patch.wait - 1)
        for animal in [each for each in self.agents if isinstance(each, Animal)]:
            animal.energy -= 1
            if animal.energy <= 0:
                animal.remove()
            elif self.rng.random() < 0.05 and animal.energy > 1:
                child = self.born(type(animal), of=animal)
                child.x, child.y, child.energy = animal.x, animal.y, animal.energy // 2
                animal.energy -= child.energy
        self.measure()

    def measure(self) -> None:
        """Count the sheep, the wolves and the grown patches."""
        self.sheep, self.wolves = (len(self.agents_by_type.get(c, ())) for c in (Sheep, Wolf))
        self.grass = sum(not patch.wait for patch in self.meadow)
