"""Path test, the screening of the evacuation: does a mind find its way out of an empty room?

Purpose
    Before a language model plays people in an evacuation, this test shows whether it finds an exit.
    Each walker is asked once for its whole route.

Entities, state variables and scales
    One walker per start, with a mind and a persona, alone in the room. The room is a grid of `size`
    × `size` cells (x, y), both from 0; exits are some of them. All cells can be walked on; there
    are no walls or obstacles. There is one round.

Process overview
    Action: every walker names the cells that it moves to, all at the same time. Update: the route
    is walked to the first exit on it, or to its first illegal move. A move is legal if it leads to
    one of the eight neighbouring cells inside the room. A route may begin with the start itself. If
    an answer is not a list of cells, the question is repeated, up to ``max_attempts`` in total; a
    list with illegal moves is a wrong answer.

Initialization and input
    ``size`` 3 to 100, 10; ``exits`` and ``starts`` lists of cells, by default the published ones:
    exits (5, 0), (9, 4), (8, 9), starts (1, 3), which is 4 moves from the nearest exit, and (2, 6),
    which is 6 moves from two of them; ``temperature`` 0 and ``max_tokens`` 512 (table 3, for the
    evacuation).

Measures
    Shares of the walkers: ``answered`` (a list of cells), ``legal``, ``reached`` (an exit),
    ``shortest`` (an exit with the minimum number of moves); ``excess``: moves beyond the minimum,
    mean over walkers that reach an exit. By walker: the same, with route, exit and moves.

Deviations
    The prompts are in our own words. Our explanation of the coordinates avoids a contradiction in
    the published prompt, where the move from (1, 1) to (2, 2) goes to the upper right although (0,
    0) is at the top left.

Source
    Wu et al. 2024, "Shall We Team Up: Exploring Spontaneous Cooperation of Competing LLM Agents",
    arXiv 2402.12327, appendices B.3 (figure 12) and G.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Le

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import AnswerSpec, Decision, InvalidAnswer, shorten, strip_decoration
from sabm_mesa.core.asks import Ask, Observation
from sabm_mesa.core.reader import Mention
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.core.streams import Seed
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import Personas, SmartModel
from sabm_mesa.models.declarations import (
    ENOUGH,
    Finding,
    Frames,
    Screened,
    Screener,
    ScreeningFigure,
    number,
    percent,
)
from sabm_mesa.models.evacuation.room import read_cells
from sabm_mesa.models.evacuation.theory import Cell, from_words, in_words, shortest_routes, walk

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from sabm_mesa.core.prompts import PromptBook


SIZE = 10
EXITS: tuple[Cell, ...] = ((5, 0), (9, 4), (8, 9))
STARTS: tuple[Cell, ...] = ((1, 3), (2, 6))
_FILE_NAME = re.compile(r"[^A-Za-z0-9.]+")
_LONGEST_NAME = 60
MOST_CELLS = 100
"""Maximum number of cells of a route: the number of cells in the published test."""
_CELL = r"\(\s*[-+]?\d{1,6}\s*,\s*[-+]?\d{1,6}\s*\)"
_BETWEEN = r"\s*(?:,|;|->|→)?\s*"
_ROUTE = re.compile(rf"\[?\s*(?P<route>{_CELL}(?:{_BETWEEN}{_CELL})*)")


class ShortestWay(ClassicalMind):
    """A walker that takes a shortest route to the nearest exit (the first of equally near ones).

    Source: a shortest path on the graph of the cells, the benchmark of other minds.

    Args:
        spec: the spec of the mind, as the data have it.
    """

    async def answer(self, ask: Ask) -> object:
        """Name the cells of the route.

        Args:
            ask: the question; its observation is a `Place`.
        """
        seen = ask.observation
        assert isinstance(seen, Place)
        return shortest_routes(seen.size, seen.start, seen.exits)[0]


class PathTest(SmartModel):
    """Walkers that name their way out of a room.

    Args:
        size: cells along a side of the room.
        exits: the cells of the exits.
        starts: the cells of the walkers.
        condition: only ``"baseline"``, unless a prompt file of the user has more.
        minds: see `SmartModel`; ``classical`` walks a shortest way.
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
    prompt_file = Path(__file__).with_name("screening_prompts.toml")
    plots = "sabm_mesa.models.evacuation.screening"
    screener = "sabm_mesa.models.evacuation.screening:RouteScreener"
    phases: ClassVar[tuple[Phase, ...]] = (
        action(
            doc="Each walker names its route to an exit (`act`) and walks it; a walker whose "
            "answer is unreadable stays.",
        ),
    )
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
        size: Annotated[int, Ge(3), Le(100)] = SIZE,
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
            raise ParameterError(
                f"n_rounds: a path test has one round (got {self.n_rounds}).", parameter="n_rounds"
            )
        self.size = size
        with about("exits"):
            self.exits = self._cells("exits", exits)
        with about("starts"):
            self.starts = self._cells("starts", starts)
            if both := set(self.exits) & set(self.starts):
                raise ParameterError(f"starts: {min(both)} is an exit.")
        self.answered = self.legal = self.reached = self.shortest = self.excess = math.nan
        self.walkers = self.populate(Walker, len(self.starts))

    def after_act(self, walker: Walker, route: Decision) -> None:
        """Walk the named route of a walker; without a route, it stays."""
        walker.answered = route.valid
        walked = walk(self.size, walker.start, self.exits, route.value or ())
        walker.route = in_words(route.value) if route.valid else None
        walker.legal = route.valid and walked.illegal is None
        walker.exit = None if walked.exit is None else str(walked.exit)
        walker.moves = None if walked.exit is None else walked.moves
        walker.shortest, walker.is_shortest = walked.nearest, walked.shortest

    def update(self) -> None:
        """Compute the shares of the walkers."""
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
            raise ParameterError(f"{what} must name one cell or more, each once.")
        if outside := [cell for cell in cells if max(cell) >= self.size]:
            raise ParameterError(f"{what}: {outside[0]} is outside the room.")
        return cells


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "", **room: Any
) -> Mapping[str, Figure]:
    """Draw the routes; see `plots.route_figures`."""
    from sabm_mesa.models.evacuation.plots import route_figures

    return route_figures(model_data, agent_data, subtitle, **room)


# The walkers.


@dataclass(frozen=True, slots=True)
class Place(Observation):
    """The observation of a walker: the room, its exits, and its own cell.

    Attributes:
        size: cells along a side of the room.
        exits: the cells of the exits.
        start: its own cell.
    """

    size: int
    exits: tuple[Cell, ...]
    start: Cell

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        return {
            "size": self.size,
            "last": self.size - 1,
            "exits": ", ".join(map(str, self.exits)),
            "start": str(self.start),
            "persona": book.persona(self.persona),
        }


class Walker(SmartAgent):
    """A person who names a route out of the room.

    Args:
        model: the test.

    Attributes:
        start: its cell.
        answered: whether its answer was a list of cells.
        route: that list as a text; None without one.
        legal: whether all its moves up to an exit or to its end can be made.
        exit: the reached exit, as a text, or None.
        moves: the moves to that exit; None when it reaches none.
        shortest: the moves to the nearest exit.
        is_shortest: whether it reaches an exit with this number of moves.
    """

    model: PathTest

    def __init__(self, model: PathTest) -> None:
        super().__init__(model)
        self.start: Cell = model.starts[self.unique_id - 1]
        self.answered = self.legal = self.is_shortest = False
        self.route: str | None = None
        self.exit: str | None = None
        self.moves: int | None = None
        self.shortest: int | None = None

    @property
    def place(self) -> str:
        """Its cell, as a text."""
        return str(self.start)

    async def act(self) -> Decision:
        """Name the whole route at once."""
        return await self.ask("act", ROUTE, self.observe())

    def observe(self) -> Place:
        """Return what the walker knows."""
        model = self.model
        return Place(size=model.size, exits=model.exits, start=self.start, persona=self.persona)


# Answers: lists of cells.


@dataclass(frozen=True, slots=True)
class Cells(AnswerSpec):
    """A list of cells.

    In plain text, each cell is in round brackets, separated by commas, semicolons, arrows or
    spaces, on one or several lines, without other text. Cells may lie outside the room or not be
    adjacent: such a route is a wrong answer.
    """

    kind = "cells"
    json_type = list

    def check(self, value: Any) -> tuple[Cell, ...]:
        """Return the cells, from a text or from a list of pairs of integers."""
        cells = _in_text(value) if isinstance(value, str) else _in_list(value)
        if not cells:
            raise InvalidAnswer("empty")
        if len(cells) > MOST_CELLS:
            raise InvalidAnswer("too_many_cells", found=len(cells), most=MOST_CELLS)
        return cells

    def mentions(self, text: str) -> list[Mention]:
        """Find the lists of cells in a text."""
        matches = _ROUTE.finditer(text)
        return [
            Mention(match.start("route"), match.end("route"), from_words(match[0]))
            for match in matches
        ]

    def example(self, rng: np.random.Generator) -> tuple[Cell, ...]:
        """Return one cell near the corner, each equally likely."""
        x, y = rng.integers(10, size=2).tolist()
        return ((x, y),)

    def placeholders(self) -> dict[str, Any]:
        """The largest number of cells."""
        return {"most": MOST_CELLS}

    def schema(self) -> dict[str, Any]:
        """A list of pairs of integers."""
        integer = {"type": "integer"}
        cell = {"type": "array", "items": integer, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": cell, "minItems": 1, "maxItems": MOST_CELLS}

    def read_text(self, text: str) -> tuple[Cell, ...]:
        """Read cells on one line or several."""
        return self.check(strip_decoration(text.replace("\n", " ")))

    def as_text(self, value: Any) -> str:
        """Return the cells, comma-separated."""
        return ", ".join(map(str, value))


ROUTE = Cells()


def _in_text(text: str) -> tuple[Cell, ...]:
    if _ROUTE.fullmatch(text.rstrip().removesuffix("]").strip()) is None:
        raise InvalidAnswer("not_cells", found=shorten(text))
    return from_words(text)


def _in_list(value: Any) -> tuple[Cell, ...]:
    if not isinstance(value, Sequence):
        raise InvalidAnswer("not_cells", found=shorten(str(value)))
    for cell in value:
        is_pair = isinstance(cell, Sequence) and not isinstance(cell, str) and len(cell) == 2
        if not is_pair or any(type(coordinate) is not int for coordinate in cell):
            raise InvalidAnswer("not_cells", found=shorten(str(cell)))
    return tuple((x, y) for x, y in value)


# The test of the screening.


class RouteScreener(Screener):
    """A mind passes if enough of its answers from each start are shortest routes to an exit."""

    def find(self, frames: Frames) -> Finding:
        """The shares of legal routes, of routes to an exit, and of shortest routes, by start."""
        walked = frames["agent_data"]
        measures: dict[str, float] = {"answers": float(len(walked))}
        parts = []
        for start, rows in walked.groupby("start", sort=False):
            moves, fewest = rows["moves"].astype(float), float(rows["shortest"].iloc[0])
            of_start = {
                "answered": float(rows["answered"].astype(float).mean()),
                "legal": float(rows["legal"].astype(float).mean()),
                "reached": float(moves.notna().mean()),
                "shortest": float(rows["is_shortest"].astype(float).mean()),
                "moves": float(moves.mean()),
                "fewest": fewest,
            }
            measures |= {f"{name} from {start}": value for name, value in of_start.items()}
            parts.append(f"from {start} {_way(rows, of_start)}")
        shortest = [value for name, value in measures.items() if name.startswith("shortest")]
        return Finding(min(shortest) >= ENOUGH, "; ".join(parts), measures)

    def drawings(self, screened: Screened) -> list[ScreeningFigure]:
        """The routes that each mind named, over the shortest ones."""
        from sabm_mesa.models.evacuation.plots import routes

        n = screened.runs
        answers = "1 answer" if n == 1 else f"{n} answers"
        drawn = []
        for test, frames in screened.frames.items():
            walked = frames["agent_data"]
            for i, mind in enumerate(screened.minds, 1):
                figure = routes(
                    walked[walked["mind"] == mind], f"{mind} · {answers} from each start",
                    size=SIZE, exits=EXITS,
                )  # fmt: skip
                name = f"routes-{i}-{_FILE_NAME.sub('-', mind)[:_LONGEST_NAME].strip('-.')}"
                title = f"Ways out of the room that {mind} named, over the shortest ones"
                drawn.append(ScreeningFigure(name, title, figure, test))
        return drawn

    def tables(self, screened: Screened) -> dict[str, pd.DataFrame]:
        """``routes.csv``: one row per answer."""
        (frames,) = screened.frames.values()
        columns = ["mind", "run", "start", "route", "legal", "exit", "moves", "shortest"]
        return {"routes.csv": frames["agent_data"][columns]}


def _way(rows: pd.DataFrame, measures: Mapping[str, float]) -> str:
    """Summarise where the answers from one start lead."""
    if not measures["answered"]:
        return "no list of cells"
    exits = " or ".join(dict.fromkeys(rows["exit"].dropna()))
    if not exits:
        return f"no exit reached, {percent(measures['legal'])} with legal moves only"
    return (
        f"{percent(measures['reached'])} reach {exits} in {number(measures['moves'])} moves, "
        f"{percent(measures['shortest'])} with the fewest ({number(measures['fewest'])})"
    )
