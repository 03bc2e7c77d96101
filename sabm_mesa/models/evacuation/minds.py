"""The classical minds of the evacuation: exits by expected time, steps by the floor field."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import accumulate
from math import exp, isfinite
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.messages import Message
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.evacuation.room import FRESH, Cell
from sabm_mesa.models.evacuation.study import recommended

K_S, K_D = 2.0, 1.0
"""Coupling to the static and to the dynamic floor field. The papers vary both over wide ranges and
give no value for people; these are the defaults of a program of the model, Chraibi's
``cellular_automata`` (not calibrated to this room).
"""
FOLLOWS = {"confident": 0.0, "afraid": 1.0}
"""Factor on the coupling to the dynamic field by the mental trait. Kirchner and Schadschneider 2002
interpret a strong coupling as herding in panic. It is our interpretation of the trait that afraid
people follow others and confident ones do not.
"""
PACE = {"strong": 1.0, "weak": 0.63}
"""Cells a round by the physical trait: 0.78 m/s over 1.24 m/s, the mean walking speeds on flat
terrain of passengers older than 50 (the mobility impaired among them) and of those up to 50 (IMO,
MSC.1/Circ.1533, annex 3, tables 3.1 and 3.4). That the traits stand for these groups is our
choice."""


class FloorField(ClassicalMind):
    """A person who chooses the exit with the shortest time, and walks by the floor fields.

    It is `informed`: it knows the cells of the exits, the steps to each exit from its own cell and
    from the cells beside it, around obstacles (prompts only mention that there are obstacles), and
    the trace that walking people leave. It remembers the crowds of earlier prompts.

    The time to leave by an exit is the walking time (steps divided by the person's pace) plus the
    queueing time (people seen towards the exit divided by its number of cells, since a cell lets
    out one person per round). Messages reveal the targets of others: if k of the N people in view
    name an exit, each of them counts at the named exit, and the seen crowds represent the other N −
    k. It chooses the exit with the shortest time. Its messages name the exit with the shortest time
    by sight, or no exit in the uncooperative condition. It says that it panics if its trait is
    afraid.

    A step goes to a free cell or nowhere, with probabilities in proportion to exp(k_s S + k_d D):
    S is the static field of its exit (the negative number of steps to it), D the dynamic field
    without its own trace. A weak person walks only in some of the rounds, and stays in the others.

    Source: Ehtamo, Heliövaara, Korhonen & Hostikka 2010 (exits by the time of the way and of the
    queue, as the best reply to the exits of others); Burstedde, Klauck, Schadschneider &
    Zittartz 2001 and Kirchner & Schadschneider 2002 (floor fields). It is our addition that the
    exits of others are known from messages, and that the queue is the visible crowd.

    Args:
        spec: the spec of the mind, as the data have it.
        k_s: the coupling to the static field.
        k_d: the coupling to the dynamic field.
    """

    informed: tuple[str, ...] = ("exits", "steps", "field", "trace")
    assumes = MappingProxyType(
        {"guides": "a person that talks names the exit that is quickest for it"}
    )

    def __init__(self, spec: str, k_s: float = K_S, k_d: float = K_D) -> None:
        super().__init__(spec)
        self.k_s, self.k_d = k_s, k_d
        self._crowds: Sequence[float] = ()
        self._in_view = 0

    async def answer(self, ask: Ask) -> object:
        """Speak, state its feeling, judge the exits, choose one, or step."""
        seen, name, book = ask.facts, ask.name, ask.book
        if name == "act":
            return self.step(seen, ask.rng)
        if name == "communicate" and seen.condition == "uncooperative":
            return book.render("classical_says_nothing", {})
        if name == "panic":
            self._in_view = seen.in_view
            afraid = _traits(seen.persona).afraid
            return book.render("classical_panic" if afraid else "classical_calm", {})
        if name == "choose":
            times = self.times(seen, self._crowds, seen.said, self._in_view)
        else:
            self._crowds = seen.crowds
            times = self.times(seen, self._crowds)
        names = tuple(seen.exits)
        if name == "evaluate":
            rounds = [round(time) if isfinite(time) else None for time in times]
            return " ".join([_judgement(book, *exit_) for exit_ in zip(names, rounds, strict=True)])
        best = names[times.index(min(times))]
        return book.render("classical_says", {"exit": best}) if name == "communicate" else best

    def times(
        self,
        seen: Facts,
        crowds: Sequence[float],
        heard: Sequence[Message] = (),
        in_view: int = 0,
    ) -> list[float]:
        """Return the number of rounds to leave by each exit; infinite if it cannot be reached."""
        names, ways, pace = tuple(seen.exits), seen.steps, _traits(seen.persona).pace
        widths = [len(seen.exits[name]["cells"]) for name in names]
        if not heard:
            queues = zip(ways, crowds, widths, strict=True)
            return [way / pace + crowd / width for way, crowd, width in queues]
        votes_for, named = [0.0] * len(widths), 0
        for message in heard:
            if votes := _votes(message.text, names):
                named += 1
                for i, vote in votes:
                    votes_for[i] += vote
        others = 1 - named / max(in_view, named, 1)
        known = zip(ways, crowds, votes_for, widths, strict=True)
        return [way / pace + (others * crowd + say) / width for way, crowd, say, width in known]

    def step(self, seen: Facts, rng: np.random.Generator) -> str:
        """Return the letter of an option."""
        letters: list[str] = list(seen.options)
        cells = [seen.options[letter] for letter in letters]
        own = cells.index(seen.cell)
        # One draw serves twice: below the pace the person walks, and the rescaled draw is uniform
        # again.
        draw = rng.random() / _traits(seen.persona).pace
        here = seen.field[own]
        if draw >= 1 or not isfinite(here):
            return letters[own]
        return letters[self.walk(seen, cells, [here - away for away in seen.field], draw)]

    def walk(self, seen: Facts, cells: Sequence[Cell], nearer: Sequence[float], draw: float) -> int:
        """Return the index of the cell of its step, if it walks."""
        k_s = self.k_s
        if k_d := self.k_d * _traits(seen.persona).follows:
            weights = [exp(k_s * n + k_d * t) for n, t in zip(nearer, seen.trace, strict=True)]
            if seen.before != seen.cell and seen.before in cells:
                weights[cells.index(seen.before)] *= exp(-k_d * FRESH)  # its own trace
        else:
            weights = [exp(k_s * n) for n in nearer]
        ends = list(accumulate(weights))
        return bisect_right(ends, draw * ends[-1], 0, len(ends) - 1)


class NearestCell(FloorField):
    """The same person, with steps to the free cell nearest to its exit by the static field.

    It stays if no cell is nearer than its own; among equal cells it takes the first in the random
    order of the options. This is the limit of the floor-field model for a large k_s and k_d = 0.

    Source: as `FloorField`.
    """

    informed = ("exits", "steps", "field")

    def walk(self, seen: Facts, cells: Sequence[Cell], nearer: Sequence[float], draw: float) -> int:
        """Return the index of the nearest cell."""
        del draw
        best = max(nearer)
        return nearer.index(best) if best > 0 else cells.index(seen.cell)


@lru_cache(maxsize=4096)
def _votes(text: str, exits: tuple[str, ...]) -> tuple[tuple[int, float], ...]:
    """The indices of the exits that a message recommends, and its weight at each."""
    names = recommended(text, exits)
    return tuple((exits.index(name), 1 / len(names)) for name in names)


@lru_cache(maxsize=4096)
def _judgement(book: PromptBook, name: str, rounds: int | None) -> str:
    """The sentence on an exit with this number of rounds; None: the exit cannot be reached."""
    if rounds is None:
        return book.render("classical_exit_closed", {"exit": name})
    return book.render("classical_exit", {"exit": name, "time": rounds})


class _Traits(NamedTuple):
    """The pace of a person, its tendency to follow others, and its fear."""

    pace: float
    follows: float
    afraid: bool


@cache
def _traits(persona: str) -> _Traits:
    """The traits of a persona, in numbers."""
    traits = persona.split("_")
    pace, follows = (
        next((factors[trait] for trait in traits if trait in factors), 1.0)
        for factors in (PACE, FOLLOWS)
    )
    return _Traits(pace, follows, "afraid" in traits)
