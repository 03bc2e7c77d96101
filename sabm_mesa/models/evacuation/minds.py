"""The classical mind of the evacuation: distance against crowd, then the floor field."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.messages import Message
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.evacuation.agents import LETTERS, Crossing, Situation
from sabm_mesa.models.evacuation.measures import recommended

DELAY = 0.5
"""Steps that one person in sight towards an exit costs (our choice)."""
CROWD_WEIGHT = {"confident": 0.7, "afraid": 1.3}
"""Factor on the crowd by the mental trait: afraid people shun crowds (our choice)."""
DISTANCE_WEIGHT = {"strong": 0.8, "weak": 1.2}
"""Factor on the distance by the physical trait: ways are long for weak people (our choice)."""
HABIT = 1.0
"""Steps by which another exit has to be better before the target is changed (our choice)."""
TRUST = {"baseline": 0.5, "uncooperative": 0.05}
"""Weight of the messages of others, by condition (our choice)."""
PANIC_NEAR = {"confident": 6, "afraid": 3}
"""Number of people in neighbouring cells that causes panic, by the mental trait (our choice)."""


class DistanceAndCrowd(ClassicalMind):
    """A person that weighs distance against crowd, and walks down the floor field.

    It is `informed`: it knows the room with the steps to each exit around obstacles, of which the
    prompts say only that there are some, and where it stands in it also when it talks and plans.
    It remembers the crowds of the question on the exits, and its last choice.

    The cost of an exit is its distance plus the delay by the people seen towards it, both in
    steps and weighted by the person's physical and mental trait. The more people near it
    speak for an exit, the less crowded it believes that exit to be, by its trust. It chooses
    the exit of the least cost, and keeps its target unless another one is clearly better; exits
    that cannot be reached come last. A step goes to the free cell of the lowest floor field;
    among equals to the first in the random order of the options; it stays when none is lower.

    Source: Wang, Zhang, Shi, Yang & Hu 2015 (exits by distance and congestion, persons that
    differ in mind and body; the weights are ours); Burstedde, Klauck, Schadschneider &
    Zittartz 2001 (floor field).

    Args:
        spec: the spec of the mind, as the data have it.
    """

    informed = ("room", "cell")

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._crowds: Sequence[float] = ()
        self._target: str | None = None

    async def answer(self, ask: Ask) -> object:
        """Speak, tell its feeling, judge the exits, choose one, or step.

        Args:
            ask: the question; its observation is a `Situation` or a `Crossing`.
        """
        seen = ask.observation
        if isinstance(seen, Crossing):
            return self.step(seen)
        assert isinstance(seen, Situation)
        if ask.name == "communicate" and seen.condition == "uncooperative":
            return ask.book.render("classical_says_nothing", {})
        if ask.name == "panic":
            calm = seen.glance.near < _trait(PANIC_NEAR, seen.persona, 5)
            return ask.book.render("classical_calm" if calm else "classical_panic", {})
        if ask.name != "choose":
            self._crowds = seen.glance.crowds
        else:
            self._target = seen.choices[-1] if seen.choices else None
        # The words of others are in the prompts of the talk and of the choice alone.
        costs = self.costs(
            seen, self._crowds, () if ask.name == "evaluate" else seen.heard, self._target
        )
        if ask.name == "evaluate":
            return " ".join(
                ask.book.render(
                    "classical_exit" if isfinite(cost) else "classical_exit_closed",
                    {"exit": name, "cost": f"{cost:.0f}"},
                )
                for name, cost in zip(seen.room.names, costs, strict=True)
            )
        best = seen.room.names[min(range(len(costs)), key=costs.__getitem__)]
        if ask.name == "communicate":
            return ask.book.render("classical_says", {"exit": best})
        self._target = best
        return best

    def costs(
        self,
        seen: Situation,
        crowds: Sequence[float],
        heard: Sequence[Message] = (),
        target: str | None = None,
    ) -> list[float]:
        """Return the cost of each exit, in steps; infinite when it cannot be reached.

        Args:
            seen: the observation of the person.
            crowds: people seen towards each exit.
            heard: the messages of others.
            target: the exit it has chosen last.
        """
        near = _trait(DISTANCE_WEIGHT, seen.persona, 1.0)
        crowd = DELAY * _trait(CROWD_WEIGHT, seen.persona, 1.0)
        trust = TRUST.get(seen.condition, TRUST["baseline"])
        room = seen.room
        praised = [name for message in heard for name in recommended(message.text, room.names)]
        steps = room.steps[:, *seen.cell].tolist()
        costs = []
        for name, way, people in zip(room.names, steps, crowds, strict=True):
            share = praised.count(name) / len(praised) if praised else 0.0
            cost = near * way + crowd * people * (1 - trust * share)
            costs.append(cost - HABIT if name == target else cost)
        return costs

    def step(self, seen: Crossing) -> str:
        """Return the letter of the option with the lowest floor field.

        Args:
            seen: the observation before a step.
        """
        field = seen.room.way_down[seen.target]
        x, y = seen.cell
        best, lowest = seen.options.index(seen.cell), field[x][y]
        for i, (x, y) in enumerate(seen.options):
            if field[x][y] < lowest:
                best, lowest = i, field[x][y]
        return LETTERS[best]


def _trait(weights: dict[str, float] | dict[str, int], persona: str, neutral: float) -> float:
    """The weight of the trait that a persona has."""
    for trait in persona.split("_"):
        if trait in weights:
            return weights[trait]
    return neutral
