"""A warehouse: carriers bring boxes to the door by calling functions.

Rules. ``n_carriers`` stand at the door (shelf 0) of an aisle of ``n_shelves`` shelves; each shelf
has ``boxes`` boxes. In a round each carrier, in random order, calls up to four functions: it walks,
takes a box, or puts one down. It sees the result of each call before the next, and its turn ends
when it waits. A carrier holds one box. An unreadable answer ends the turn.

Measures. ``delivered`` (boxes at the door) and, of each carrier, ``carried`` (boxes it brought).

Classical minds. `Fetcher` walks to the first shelf that it does not know to be empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le

from sabm_mesa import ClassicalMind, Decision, Observation, Phase, SmartAgent, Tools
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Score

CALLS = 4


@dataclass(frozen=True, slots=True)
class Aisle(Observation):
    """Knowledge of a carrier: its place, what it holds, and the results of its calls."""

    shelf: int
    last_shelf: int
    holds: str
    calls_left: int
    results: str


class Fetcher(ClassicalMind):
    """Takes boxes from the first shelf that is not known to be empty, and brings them back."""

    def __init__(self, spec: str = "classical") -> None:
        super().__init__(spec)
        self.empty = 0

    async def answer(self, ask: Any) -> dict[str, dict[str, Any]]:
        """Return the next call."""
        seen = ask.observation
        if "empty" in seen.results.rpartition(";")[2]:
            self.empty = max(self.empty, seen.shelf)
        target = 0 if seen.holds == "a box" else min(self.empty + 1, seen.last_shelf)
        if seen.shelf != target:
            steps = min(abs(target - seen.shelf), 3)
            direction = "in" if target > seen.shelf else "out"
            return {"walk": {"direction": direction, "steps": steps}}
        if seen.holds == "a box":
            return {"put_down": {}}
        return {"wait": {}} if self.empty == seen.last_shelf else {"take": {}}


class Carrier(SmartAgent):
    """A carrier, whose functions change the warehouse."""

    model: Warehouse
    classical_minds: ClassVar = {"default": Fetcher}
    shelf, holds, carried = 0, False, 0
    results: tuple[str, ...] = ()
    waits = False

    @property
    def tools(self) -> Tools:
        """The functions that it may call."""
        return Tools(walk=self.walk, take=self.take, put_down=self.put_down, wait=self.wait)

    def walk(self, direction: Literal["in", "out"], steps: Annotated[int, Ge(1), Le(3)]) -> str:
        """Walk along the aisle.

        Args:
            direction: "in" leads away from the door, "out" to it.
            steps: how many shelves.
        """
        to = self.shelf + (steps if direction == "in" else -steps)
        self.shelf = min(max(to, 0), len(self.model.shelves) - 1)
        return f"you are at shelf {self.shelf}"

    def take(self) -> str:
        """Take a box from the shelf where you stand."""
        if self.holds:
            return "you hold a box already"
        if self.shelf == 0 or not self.model.shelves[self.shelf]:
            return "the shelf is empty"
        self.model.shelves[self.shelf] -= 1
        self.holds = True
        return "you hold a box"

    def put_down(self) -> str:
        """Put your box down where you stand; at shelf 0, the door, it is delivered."""
        if not self.holds:
            return "you hold no box"
        self.holds = False
        self.model.shelves[self.shelf] += 1
        self.carried += self.shelf == 0
        return "delivered" if self.shelf == 0 else "it is back on a shelf"

    def wait(self) -> str:
        """End your turn."""
        self.waits = True
        return "your turn ends"

    async def act(self) -> Decision:
        """Call one function."""
        last, holds = len(self.model.shelves) - 1, "a box" if self.holds else "nothing"
        left, results = CALLS - len(self.results), "; ".join(self.results) or "none yet"
        seen = Aisle(self.shelf, last, holds, left, results, persona=self.persona)
        return await self.ask("act", self.tools, seen)


class Warehouse(SmartModel):
    """A warehouse; see the docstring of the module."""

    scenario_name = "warehouse"
    title = "A warehouse"
    source = "none"
    prompt_file = Path(__file__).with_name("warehouse.toml")
    phases = (
        Phase(
            "act",
            order="shuffled",
            at_most=CALLS,
            until=lambda _model, carrier: carrier.waits,
            doc="Each carrier calls up to four functions, one by one (`act`).",
        ),
    )
    model_columns: ClassVar = {"delivered": "delivered"}
    agent_columns: ClassVar = {"carried": "carried"}
    score = Score("Boxes in a run", "n_carriers", column="carried")

    def __init__(
        self,
        n_carriers: Annotated[int, Ge(1)] = 2,
        n_shelves: Annotated[int, Ge(1)] = 3,
        boxes: Annotated[int, Ge(0)] = 2,
        n_rounds: int = 8,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.shelves, self.delivered = [0] + [boxes] * n_shelves, 0
        self.carriers = self.populate(Carrier, n_carriers)

    def begin_round(self) -> None:
        """Nobody has called anything yet."""
        for carrier in self.carriers:
            carrier.results, carrier.waits = (), False

    def after_act(self, carrier: Carrier, decision: Decision) -> None:
        """Call the function; what cannot be read ends the turn."""
        if decision.valid:
            carrier.results += (str(carrier.tools.call(decision.value)),)
        else:
            carrier.waits = True

    def update(self) -> None:
        """Count the boxes at the door."""
        self.delivered = self.shelves[0]
