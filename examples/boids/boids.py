"""Boids: birds in continuous space that turn left, turn right or fly on, by what is around them.

Rules. ``n_birds`` birds start at random places of a torus of ``size`` x ``size``, with random
headings. In a round all see at once, within ``vision``: how many birds there are, the direction to
their middle and their mean heading, both in degrees relative to the bird's own heading (left is
positive), and the distance of the nearest one. Each turns left or right by ``turn`` degrees, or
flies on, and then moves by ``speed``. An unreadable answer means to fly on.

Measures. ``order``: the length of the mean unit heading, 1 when all fly the same way and near 0
when they do not (Vicsek et al. 1995).

Classical minds. ``classical``: away from a bird nearer than 2, otherwise towards the mean heading
of the others, otherwise towards their middle (Reynolds 1987; his rules add accelerations, and here
the first of them that applies is followed).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt
from mesa.experimental.continuous_space import ContinuousSpace, ContinuousSpaceAgent

from sabm_mesa import (
    Choice,
    ClassicalMind,
    Decision,
    Observation,
    Portrayal,
    SmartAgent,
    SmartModel,
    SpacePicture,
    action,
)

TURN = Choice(("left", "straight", "right"))
CLOSE = 2.0
"""Distance below which a bird turns away."""
ALIGNED = 10.0
"""Degrees up to which two directions count as the same."""


@dataclass(frozen=True, slots=True)
class Sight(Observation):
    """What a bird sees: angles in degrees relative to its heading, left positive."""

    near: int
    middle: int
    heading: int
    nearest: float


class Flocking(ClassicalMind):
    """Separation, then alignment, then cohesion (Reynolds 1987)."""

    async def answer(self, ask: Any) -> str:
        """Return the turn."""
        seen = ask.observation
        if not seen.near:
            return "straight"
        if seen.nearest < CLOSE:
            return "right" if seen.middle > 0 else "left"
        angle = seen.heading if abs(seen.heading) > ALIGNED else seen.middle
        if abs(angle) <= ALIGNED:
            return "straight"
        return "left" if angle > 0 else "right"


class Bird(ContinuousSpaceAgent, SmartAgent):
    """A bird with a place in the space and a heading, in degrees anticlockwise from the right."""

    model: Flock
    heading: float

    def __init__(self, model: Flock) -> None:
        super().__init__(model.space, model)
        self.position = model.rng.random(2) * model.size
        self.heading = float(model.rng.uniform(0, 360))

    async def act(self) -> Decision:
        """Turn left or right, or fly on."""
        return await self.ask("act", TURN, self.sight())

    def sight(self) -> Sight:
        """What is around the bird now."""
        others, distances = self.get_neighbors_in_radius(self.model.vision)
        if not others:
            return Sight(0, 0, 0, 0.0, persona=self.persona)
        away = self.space.calculate_difference_vector(self.position, agents=others)
        return Sight(
            near=len(others),
            middle=self._seen(away.mean(axis=0)),
            heading=self._seen(mean_heading(others)),
            nearest=round(float(distances.min()), 1),
            persona=self.persona,
        )

    def _seen(self, direction: Any) -> int:
        """A direction in whole degrees, from −180 to 179, relative to the heading."""
        degrees = np.degrees(np.arctan2(direction[1], direction[0]))
        return round(float((degrees - self.heading + 180) % 360 - 180))


def mean_heading(birds: Any) -> Any:
    """The mean of the unit headings of birds: an array of two numbers."""
    radians = np.radians([bird.heading for bird in birds])
    return np.array([np.cos(radians).mean(), np.sin(radians).mean()])


class Flock(SmartModel):
    """A flock; see the docstring of the module."""

    scenario_name = "boids"
    title = "Boids"
    source = "Reynolds 1987, Computer Graphics 21(4)"
    prompt_file = Path(__file__).with_name("boids.toml")
    phases = (action(),)
    model_columns: ClassVar = {"order": "order"}
    agent_columns: ClassVar = {"heading": "heading"}
    classical_minds: ClassVar = {"default": Flocking}
    pictures = (
        SpacePicture(
            "flock", "The flock", of="space", portray=lambda _: Portrayal("#0072B2", shape="^")
        ),
    )

    def __init__(
        self,
        n_birds: int = 30,
        size: Annotated[float, Gt(0)] = 40.0,
        vision: Annotated[float, Gt(0)] = 8.0,
        speed: Annotated[float, Gt(0)] = 1.0,
        turn: Annotated[float, Gt(0)] = 20.0,
        n_rounds: int = 60,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.size, self.vision, self.speed, self.turn_by = size, vision, speed, turn
        self.space = ContinuousSpace([[0, size], [0, size]], torus=True, random=self.random)
        self.birds = self.populate(Bird, n_birds)
        self.measure()

    def after_act(self, bird: Bird, decision: Decision) -> None:
        """Turn the bird."""
        turned = {"left": self.turn_by, "right": -self.turn_by}.get(decision.value, 0.0)
        bird.heading = (bird.heading + turned) % 360

    def update(self) -> None:
        """Move all birds, and measure."""
        for bird in self.birds:
            way = np.radians(bird.heading)
            bird.position = bird.position + self.speed * np.array([np.cos(way), np.sin(way)])
        self.measure()

    def measure(self) -> None:
        """Compute how far the birds fly the same way."""
        self.order = float(np.hypot(*mean_heading(self.birds)))
