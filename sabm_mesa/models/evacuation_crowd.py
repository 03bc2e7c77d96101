"""The crowd of an evacuation as a whole: where it starts, who steps first, and its measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.agents.emergency_evacuation import DEAD, ESCAPED, INSIDE, Evacuee, Glance
from sabm_mesa.analysis.evacuation_messages import CODES, shares
from sabm_mesa.analysis.theory.evenness import evenness
from sabm_mesa.errors import ParameterError
from sabm_mesa.grid import RoomGrid
from sabm_mesa.models.room_plan import Cell, read_positions
from sabm_mesa.models.score import Score
from sabm_mesa.models.sight import disc

if TYPE_CHECKING:
    from sabm_mesa.models.emergency_evacuation import EmergencyEvacuation
    from sabm_mesa.models.room import Ints, Room

SCORE = Score(
    "Rounds until out of the room", "n_people", "status", until=ESCAPED, lower_is_better=True
)
CONGESTED = 3.0
"""People within this many cells of an exit crowd it."""
HEARING = disc(5)
"""The offsets within which a message is heard."""
TOUCH = tuple((dx, dy) for dx in range(-2, 3) for dy in range(-2, 3) if (dx, dy) != (0, 0))
"""The offsets within which two steps can depend on one another: Chebyshev distance 2."""


def where(people: Iterable[Evacuee]) -> Ints:
    """The cells of people who are inside, one (x, y) a row."""
    return np.array([person.pos for person in people], dtype=np.int64).reshape(-1, 2)


def start_cells(room: Room, n: int, given: Any, rng: np.random.Generator) -> list[Cell]:
    """Where people stand at the start.

    Args:
        room: the room.
        n: the number of people.
        given: their cells; None for random free cells.
        rng: the generator of the draw.

    Raises:
        ParameterError: when the people do not fit, or the cells are not `n` different free ones.
    """
    free = [(x, y) for x, y in room.inside.tolist()]
    if n > len(free):
        raise ParameterError(
            f"n_people: {n} people do not fit into {len(free)} free cells; "
            "take fewer people or a larger room."
        )
    if given is not None:
        return read_positions(given, n, free)
    return [free[i] for i in rng.choice(len(free), n, replace=False)]


def within_hearing(model: EmergencyEvacuation, person: Evacuee) -> list[Evacuee]:
    """Who hears a person."""
    return model.grid.people_at(person.pos, HEARING)


def within_touch(model: EmergencyEvacuation, person: Evacuee) -> list[Evacuee]:
    """Whose step can depend on a person's, or that on theirs."""
    return model.grid.people_at(person.pos, TOUCH)


def look_around(model: EmergencyEvacuation, people: Sequence[Evacuee]) -> None:
    """Let people see what there is to see, all at once."""
    view = model.grid.sight.look(where(people), model.grid.people)
    rows = zip(*(column.tolist() for column in view), strict=True)
    for person, row in zip(people, rows, strict=True):
        person.glance = Glance(*row)


def nearest_first(model: EmergencyEvacuation, people: Sequence[Evacuee]) -> list[Evacuee]:
    """The order of steps: by target exit, nearest to it first; those without one come last."""
    exits = model.room.names
    target = np.array([exits.index(p.target) if p.target else len(exits) for p in people])
    x, y = where(people).T
    distance = model.room.distance[np.minimum(target, len(exits) - 1), x, y]
    return [people[i] for i in np.lexsort((distance, target)).tolist()]


def columns(exits: Sequence[str]) -> Mapping[str, str]:
    """The model columns, each the attribute of its name; some of them depend on the exits."""
    names = (
        *("escaped", *(f"escaped_{name}" for name in exits), "inside", "dead"),
        *("evenness", "target_evenness", "mean_distance", "changed"),
        *(f"congestion_{name}" for name in exits),
        *CODES,
    )
    return {name: name for name in names}


def measures(model: EmergencyEvacuation) -> dict[str, float]:
    """The measures of the round that has just been played, by column.

    Args:
        model: the evacuation.
    """
    exits = model.room.names
    out = Counter(person.exit for person in model.people)
    targets = Counter(person.target for person in model.remaining)
    cells = where(model.remaining)
    near = model.congested[:, *cells.T].sum(axis=1).tolist()
    return {
        "escaped": model.n_people - len(model.remaining),
        **{f"escaped_{name}": out[name] for name in exits},
        "inside": len(model.remaining),
        "dead": sum(person.status == DEAD for person in model.remaining),
        "evenness": evenness(out[name] for name in exits),
        "target_evenness": evenness(targets[name] for name in exits),
        "mean_distance": _mean_distance(model),
        "changed": model.changed,
        **{f"congestion_{name}": count for name, count in zip(exits, near, strict=True)},
        **shares((message.text for message in model.said), exits),
    }


def end_measures(model: EmergencyEvacuation) -> dict[str, Any]:
    """What is said of the whole run, by name.

    Args:
        model: the evacuation, after its last round.
    """
    out = {person.persona: 0 for person in sorted(model.people, key=lambda p: p.persona)}
    for person in model.people:
        out[person.persona] += person.exit is not None
    last = ("escaped", *(f"escaped_{name}" for name in model.room.names), "dead", "evenness")
    return {
        **{name: getattr(model, name) for name in last},
        "rounds_to_clear": None if model.remaining else model.round + 1,
        "escaped_by_persona": out,
    }


def _mean_distance(model: EmergencyEvacuation) -> float:
    """Mean Euclidean distance of those inside to their targets; NaN without any."""
    bound = [person for person in model.remaining if person.target is not None]
    if not bound:
        return math.nan
    target = [model.room.names.index(person.target or "") for person in bound]
    x, y = where(bound).T
    return float(model.room.distance[target, x, y].mean())


def go_on_in(model: EmergencyEvacuation, room: Room) -> None:
    """Let a crowd go on in the same room with other steps, or for longer than it was to have.

    Args:
        model: the evacuation.
        room: the room as it is from now on.
    """
    for person in model.remaining:
        person.status = INSIDE  # those whose time was up get more of it
    if room.diagonals != model.room.diagonals:
        model.room, model.grid = room, RoomGrid(room, model.random)
        for person in model.remaining:
            cell = person.pos
            person.pos = None  # type: ignore[assignment]  # Mesa's word for not being on a grid
            model.grid.place_agent(person, cell)
