"""Path test: does a mind find its way out of an empty room? A screening for the evacuation.

Purpose
    Before a language model plays the people of an evacuation, it has to be seen to find an exit.
    Each walker is asked once, for the whole of its way.

Entities, state variables and scales
    One walker for each start, each with a mind and a persona, alone in the room. The room is a
    grid of `size` × `size` cells (x, y), both from 0; exits are some of them. All cells can be
    walked on; there are no walls or obstacles. There is one round.

Process overview
    Action: every walker names the cells that it moves to, all at the same time. Update: the route
    is walked to the first exit on it, or to its first illegal move. A move is legal when it leads
    to one of the eight cells around, inside the room. A route that begins with the start itself
    says the same without it. What is no list of cells is asked for again, ``max_attempts`` times
    in all; a list with illegal moves is an answer, and a wrong one.

Initialization and input
    ``size`` 3 to 100, 10; ``exits`` and ``starts`` lists of cells, by default the published ones:
    exits (5, 0), (9, 4), (8, 9), starts (1, 3), which is 4 moves from the nearest exit, and (2, 6),
    which is 6 moves from two of them; ``temperature`` 0 and ``max_tokens`` 512 (table 3, for the
    evacuation).

Measures
    Shares of the walkers: ``answered`` (a list of cells), ``legal``, ``reached`` (an exit),
    ``shortest`` (an exit with as few moves as possible); ``excess``: moves beyond the fewest,
    mean of those who reach an exit. By walker the same, with route, exit and moves.

Deviations
    The prompts are in our own words. The coordinates are explained without the contradiction of
    the published prompt, which calls the move from (1, 1) to (2, 2) one to the upper right while
    (0, 0) is at the top left.

Source
    Wu et al. 2024, "Shall We Team Up: Exploring Spontaneous Cooperation of Competing LLM Agents",
    arXiv 2402.12327, appendices B.3 (figure 12) and G.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sabm_mesa.agents.path_test import Cell, Walker, in_words
from sabm_mesa.analysis.theory.grid_routes import walk
from sabm_mesa.decisions import Decision
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds import Minds
from sabm_mesa.minds.classical.path_test import ShortestWay
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.room_plan import read_cells
from sabm_mesa.parameters import whole
from sabm_mesa.population import Personas
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase, action

SIZE = 10
EXITS: tuple[Cell, ...] = ((5, 0), (9, 4), (8, 9))
STARTS: tuple[Cell, ...] = ((1, 3), (2, 6))


class PathTest(SmartModel):
    """Walkers that say by which way they leave a room.

    Args:
        size: cells along a side of the room (3 to 100).
        exits: the cells of the exits.
        starts: where the walkers stand, one each.
        condition: only ``"baseline"``, unless a prompt file of one's own has more.
        personas: see `SmartModel`.
        minds: see `SmartModel`; ``classical`` walks a shortest way.
        rng: the seed.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        settings: the other parameters of `SmartModel`.

    Attributes:
        walkers: the walkers, in the order of the starts.
        answered, legal, reached, shortest: shares of the walkers.
        excess: moves beyond the fewest, mean of those who reach an exit; NaN when nobody does.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "path-test"
    title = "Path test"
    source = "Wu et al. 2024, arXiv 2402.12327, appendix B.3"
    prompt_file = "path_test"
    plots = "sabm_mesa.analysis.plots.path_test"
    phases: ClassVar[tuple[Phase, ...]] = (action(),)
    model_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("answered", "legal", "reached", "shortest", "excess")
    }
    agent_columns: ClassVar[dict[str, str]] = {
        "start": "place",
        **{name: name for name in ("answered", "route", "legal", "exit", "moves", "shortest")},
        "is_shortest": "is_shortest",
    }
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": ShortestWay}

    def __init__(
        self,
        size: int = SIZE,
        exits: Sequence[Sequence[int]] = EXITS,
        starts: Sequence[Sequence[int]] = STARTS,
        condition: str = "baseline",
        personas: Personas = "none",
        minds: Minds = "classical",
        rng: Seed = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
        **settings: Any,
    ) -> None:
        super().__init__(
            condition=condition, personas=personas, minds=minds, rng=rng,
            temperature=temperature, max_tokens=max_tokens, **settings,
        )  # fmt: skip
        if self.n_rounds != 1:
            raise ParameterError(f"n_rounds: a path test has one round (got {self.n_rounds}).")
        self.size = whole("size", size, 3, 100)
        self.exits = self._cells("exits", exits)
        self.starts = self._cells("starts", starts)
        if both := set(self.exits) & set(self.starts):
            raise ParameterError(f"starts: {min(both)} is an exit.")
        self.answered = self.legal = self.reached = self.shortest = self.excess = math.nan
        self.walkers = self.populate(Walker, len(self.starts))

    def after_act(self, walker: Walker, route: Decision) -> None:
        """Walk the route that a walker named; without one it stays."""
        walker.answered = route.valid
        walked = walk(self.size, walker.start, self.exits, route.value or ())
        walker.route = in_words(route.value) if route.valid else None
        walker.legal = route.valid and walked.illegal is None
        walker.exit = None if walked.exit is None else str(walked.exit)
        walker.moves = None if walked.exit is None else walked.moves
        walker.shortest, walker.is_shortest = walked.nearest, walked.shortest

    def update(self) -> None:
        """Count."""
        out = [w.moves - w.shortest for w in self.walkers if w.moves is not None and w.shortest]
        n = len(self.walkers)
        self.answered = sum(walker.answered for walker in self.walkers) / n
        self.legal = sum(walker.legal for walker in self.walkers) / n
        self.reached, self.shortest = len(out) / n, sum(w.is_shortest for w in self.walkers) / n
        self.excess = sum(out) / len(out) if out else math.nan

    def plot_options(self) -> dict[str, Any]:
        """The room."""
        return {"size": self.size, "exits": self.exits}

    def _cells(self, what: str, given: Any) -> tuple[Cell, ...]:
        cells = read_cells(what, given)
        if not cells or len(set(cells)) < len(cells):
            raise ParameterError(f"{what} has to name one cell or more, each once.")
        if outside := [cell for cell in cells if max(cell) >= self.size]:
            raise ParameterError(f"{what}: {outside[0]} is outside the room.")
        return cells
