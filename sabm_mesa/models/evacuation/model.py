"""Replication of Wu et al. 2024: people leave a room by its exits, and may talk with people nearby.

To write a scenario of your own, start from ``examples/schelling``.

A person on `mesa.space.MultiGrid` looks, may talk, chooses an exit and steps to a free neighbouring
cell (x runs from top to bottom). A person on an exit cell has escaped; one inside after
``n_rounds`` is dead. The rules in full are in ``odd.toml``. The paper's round k is row k − 1 here.

Unreadable answers
    An unreadable exit keeps the target; a person without a target stays until it plans again. An
    unreadable step, or one that is no option: the person stays. An unreadable message is not sent;
    a sentence on panic or exits is left out of later questions.

Deviations from the authors' program
    Its texts swap the two traits, and its perception and logs take most of its running time;
    neither is repeated here. Prompts state the people in view and in the neighbouring cells; the
    step names all cells of the exit. Classical persons know all exits and the way around obstacles.
    The right exit has one cell, as in the program (probably an error, which affects figure 9).
    Steps are ordered by exit, nearest first. Trampling is left out. Prompts are in our own words.

Source
    Wu et al. 2024, arXiv 2402.12327, section 6 and appendices A, B.3, C.2, E, G.3; after Wang,
    Zhang, Shi, Yang & Hu 2015, "Modeling and simulating for congestion pedestrian evacuation with
    panic".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress
from math import dist
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Le
from mesa.space import MultiGrid

from sabm_mesa.core.answers import Choice, Decision, Text
from sabm_mesa.core.messages import Message
from sabm_mesa.core.scheduler import Phase, action, communication, planning
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.base import Personas, SmartModel
from sabm_mesa.models.declarations import Score
from sabm_mesa.models.evacuation.agents import (
    DEAD,
    ESCAPED,
    FEELING,
    INSIDE,
    MESSAGE,
    TRAITS,
    WORDS_AN_EXIT,
    Evacuee,
)
from sabm_mesa.models.evacuation.minds import FloorField, NearestCell
from sabm_mesa.models.evacuation.room import (
    Cell,
    Exits,
    Ints,
    Obstacles,
    Room,
    Side,
    Trace,
    look,
    read_positions,
)
from sabm_mesa.models.evacuation.study import evenness

REPLAN = 0.2
"""The probability of planning again in a round."""
CONGESTED = 3.0
"""Maximum distance in cells of people who count as crowding an exit."""
HEARING = 5
"""Maximum distance in cells between a speaker and its hearers (Euclidean)."""
TOUCH = 2
"""Maximum distance of people whose steps can depend on each other (rows or columns)."""
_STAYS = (
    "a person without a target or a free cell is not asked and stays, as does one whose answer is "
    "unreadable"
)


def within_hearing(_model: EmergencyEvacuation, person: Evacuee) -> list[Evacuee]:
    """Return the people who hear a planner."""
    return person.hearers


def within_touch(model: EmergencyEvacuation, person: Evacuee) -> list[Evacuee]:
    """Return the people whose steps can depend on the step of a person."""
    near: list[Any] = model.grid.get_neighbors(person.pos, moore=True, radius=TOUCH)
    return near


def nearest_first(model: EmergencyEvacuation, people: Sequence[Evacuee]) -> list[Evacuee]:
    """Sort by target exit, nearest first; people without a target are last."""
    target, (x, y) = _targets_of(model, people), _cells_of(people).T
    distance = model.room.distance[np.minimum(target, len(model.room.names) - 1), x, y]
    return [people[i] for i in np.lexsort((distance, target)).tolist()]


def _cells_of(people: Iterable[Evacuee]) -> Ints:
    """The cells of people inside, one (x, y) per row."""
    flat = chain.from_iterable([person.pos for person in people])
    return np.fromiter(flat, dtype=np.int64).reshape(-1, 2)


def _targets_of(model: EmergencyEvacuation, people: Iterable[Evacuee]) -> Ints:
    """The indices of people's targets among the exits; without a target, the number of exits."""
    places: dict[str | None, int] = {name: i for i, name in enumerate(model.room.names)}
    places[None] = len(places)
    return np.array([places[person.target] for person in people], dtype=np.int64)


def _columns(exits: Sequence[str]) -> Mapping[str, str]:
    """The model columns for these exits, each an attribute of the same name."""
    names = (
        *("escaped", *(f"escaped_{name}" for name in exits), "inside", "dead"),
        *("evenness", "target_evenness", "mean_distance", "changed"),
        *(f"congestion_{name}" for name in exits),
    )
    return {name: name for name in names}


class EmergencyEvacuation(SmartModel):
    """Evacuation of a room by its people (Wu et al. 2024).

    Args:
        n_people: number of people.
        n_rounds: rounds after which everybody still inside is dead.
        width: cells from left to right, the wall included.
        height: cells from top to bottom, the wall included.
        communication: whether people talk.
        movement: whether people step one after another or all at the same time.
        friction: the probability that nobody gets a cell that several people want at the same
            time; it needs ``simultaneous`` movement.
        obstacles: False; True for the published layout; a list of cells; or a map in text.
        exits: name → list of cells; None for the published ones.
        positions: the cells of the people at the start; None for random free cells.
        condition: ``"baseline"`` or ``"uncooperative"``.
        personas: ``"traits"``, or see `SmartModel`.
        minds: see `SmartModel`; classical minds are ``classical`` and ``classical:nearest_cell``.
        variant: ``"default"``, ``"reworded_1"`` to ``"reworded_3"``, ``"short"`` or
            ``"no_diagonals"``.
        settings: the other parameters of `SmartModel`.

    Attributes:
        room: the room.
        grid: Mesa's grid, with all people inside; one person per cell.
        people: all people, by id; `remaining`: all that have not escaped.
        planners: the people that talk and plan in this round.
        words: the message of each that has talked in this round, by its id.
        trace: the dynamic floor field, which classical minds alone know.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "evacuation"
    title = "Emergency evacuation"
    source = "Wu et al. 2024, arXiv 2402.12327, section 6"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        communication(
            when=lambda m: m.communication,
            who=lambda m: m.planners,
            reach=within_hearing,
            commutes=True,
            doc="With `communication`, each planner says something (`communicate`, at most "
            f"{MESSAGE.max_words} words without digits); those within hearing know it "
            "when they speak or plan later.",
        ),
        planning(
            who=lambda m: m.planners,
            doc=f"Each planner says how it feels (`panic`, at most {FEELING.max_words} words), "
            "judges the exits (`evaluate`) and chooses one (`choose`) as its target; an "
            "unreadable choice leaves the target as it is.",
        ),
        action(
            order=nearest_first,
            when=lambda m: m.movement == "sequential",
            who=lambda m: m.remaining,
            reach=within_touch,
            commutes=True,
            doc="With `movement` = `sequential`, each person inside chooses a free neighbouring "
            f"cell or its own (`act`) and steps at once; {_STAYS}.",
        ),
        action(
            when=lambda m: m.movement == "simultaneous",
            who=lambda m: m.remaining,
            doc="With `movement` = `simultaneous`, each person inside chooses a free neighbouring "
            "cell or its own (`act`), and all step at the end of the round, where a lot decides "
            f"between those that want the same cell; {_STAYS}.",
        ),
    )
    model_columns: ClassVar[Mapping[str, str]] = _columns(Room().names)
    agent_columns = ("x", "y", "target", "status", "exit", "persona")
    score = Score(
        "Rounds until out of the room", "n_people", "status", until=ESCAPED, lower_is_better=True
    )
    changeable = frozenset({"communication", "movement", "friction"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 512, "top_p": 1.0}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": FloorField,
        "nearest_cell": NearestCell,
    }
    grid: MultiGrid

    def __init__(
        self,
        n_people: Annotated[int, Ge(1)] = 100,
        n_rounds: int = 50,
        width: Side = 33,
        height: Side = 33,
        communication: bool = True,
        movement: Literal["sequential", "simultaneous"] = "sequential",
        friction: Annotated[float, Ge(0), Le(1)] = 0.0,
        obstacles: Obstacles = False,
        exits: Exits | None = None,
        positions: Sequence[Sequence[int]] | None = None,
        personas: Personas = "traits",
        variant: str = "default",
        **settings: Any,
    ) -> None:
        n = self.n_people = n_people
        self.room = Room(width, height, exits, obstacles, diagonals=bool(variant != "no_diagonals"))
        if personas == "traits":
            personas = {trait: (n + 3 - i) // 4 for i, trait in enumerate(TRAITS)}
        super().__init__(n_rounds=n_rounds, personas=personas, variant=variant, **settings)
        self.width, self.height = self.room.width, self.room.height
        self.communication, self.movement = communication, movement
        self.friction = friction
        if friction and movement != "simultaneous":
            raise ParameterError(
                f"friction: {friction:g} needs movement = simultaneous: people who step one after "
                "another never want the same cell.",
                parameter="friction",
            )
        self.trace = Trace(self.room)
        self.exit_spec = Choice(self.room.names, label="exit")
        self.evaluation_spec = Text(max_words=WORDS_AN_EXIT * len(self.room.names))
        self.grid = MultiGrid(self.height, self.width, torus=False)  # by (x, y): x is the row
        self.people = self.populate(Evacuee, n)
        self.remaining, self.planners = list(self.people), list[Evacuee]()
        self.words: dict[int, Message] = {}
        self.changed = 0
        self._out = dict.fromkeys(self.room.names, 0)
        self._left: list[Evacuee] = []
        self._wishes: dict[Cell, list[Evacuee]] = {}
        self._crowding = self.room.close_to(CONGESTED)
        for person, cell in zip(self.people, self._start_cells(positions), strict=True):
            self.grid.place_agent(person, cell)
            person.x, person.y = cell

    def columns(self) -> Mapping[str, str]:
        """Return the model columns: as on the class, for the exits of this room."""
        return _columns(self.room.names)

    def begin_round(self) -> None:
        """Draw the planners of this round, and let them look around."""
        for person in self._left:
            person.x = person.y = None
        self._left.clear()
        self.changed = 0
        self.planners = list(self.remaining)
        if self.round > 0:
            draws = self.rng.random(len(self.remaining)) < REPLAN
            self.planners = list(compress(self.remaining, draws.tolist()))
        glances = look(self.room, _cells_of(self.planners), _cells_of(self.remaining))
        for person, glance in zip(self.planners, glances, strict=True):
            person.glance = glance
            near: list[Any] = self.grid.get_neighbors(person.pos, moore=True, radius=HEARING)
            person.hearers = [other for other in near if dist(person.pos, other.pos) <= HEARING]
        self.words.clear()

    def after_communicate(self, speaker: Evacuee, words: Decision) -> None:
        """Let everybody within hearing distance hear a message."""
        if message := self.say(speaker, words.value, to=[p.unique_id for p in speaker.hearers]):
            self.words[speaker.unique_id] = message

    def after_plan(self, person: Evacuee, choice: Decision) -> None:
        """Set the chosen exit as the target; an unreadable choice changes nothing."""
        if choice.valid:
            person.choices.append(choice.value)
            self.changed += person.target not in {None, choice.value}
            person.target = choice.value

    def after_act(self, person: Evacuee, step: Decision) -> None:
        """Step at once, or store the wish if all step at the end of the round."""
        if step.value is None or step.value == person.pos:
            return
        if self.movement == "sequential":
            self._step(person, step.value)
        else:
            self._wishes.setdefault(step.value, []).append(person)

    def update(self) -> None:
        """Resolve conflicts, let people out of the exits, and take the measures."""
        for cell, wanting in sorted(self._wishes.items()):
            lucky = self.rng.integers(len(wanting)) if len(wanting) > 1 else 0
            if self.friction and len(wanting) > 1 and self.rng.random() < self.friction:
                continue
            self._step(wanting[lucky], cell)
        self._wishes.clear()
        self._let_out()
        if not self.remaining:
            self.end("all people are out")
        elif self.round + 1 >= self.n_rounds:
            for person in self.remaining:
                person.status = DEAD
        for name, value in self._measures().items():
            setattr(self, name, value)

    def apply_fork(self, clone: Self, changed: frozenset[str]) -> None:
        """Apply the changes of a fork, including the steps that a variant allows."""
        super().apply_fork(clone, changed)
        for person in self.remaining:
            person.status = INSIDE  # in a longer run, the dead continue
        self.room = clone.room

    def end_measures(self) -> dict[str, Any]:
        """Return escapes by exit and persona, the dead, evenness, and rounds to clear the room."""
        out = {person.persona: 0 for person in sorted(self.people, key=lambda p: p.persona)}
        for person in self.people:
            out[person.persona] += person.exit is not None
        last = ("escaped", *(f"escaped_{name}" for name in self.room.names), "dead", "evenness")
        return {
            **{name: getattr(self, name) for name in last},
            "rounds_to_clear": None if self.remaining else self.round + 1,
            "escaped_by_persona": out,
        }

    def _let_out(self) -> None:
        """Let people out of the exits, and end the round of the trace."""
        self.trace.end_round()
        for person in self.remaining:
            if exit_ := self.room.exit_at.get(person.pos):
                person.status, person.exit = ESCAPED, exit_
                self._out[exit_] += 1
                self.grid.remove_agent(person)
                self._left.append(person)
        self.remaining = [person for person in self.remaining if person.exit is None]

    def _start_cells(self, given: Any) -> Sequence[Cell]:
        """The given cells, or random free ones."""
        n, free = self.n_people, self.room.inside
        if n > len(free):
            raise ParameterError(
                f"n_people: {n} people do not fit into {len(free)} free cells; "
                "take fewer people or a larger room.",
                parameter="n_people",
            )
        if given is not None:
            return read_positions(given, n, free)
        return [free[i] for i in self.rng.choice(len(free), n, replace=False)]

    def _step(self, person: Evacuee, cell: Cell) -> None:
        self.trace.left.append(person.pos)
        self.grid.move_agent(person, cell)
        person.x, person.y = cell

    def _measures(self) -> dict[str, float]:
        """The measures of the last round, by column."""
        exits, inside = self.room.names, len(self.remaining)
        targets, (x, y) = _targets_of(self, self.remaining), _cells_of(self.remaining).T
        bound = targets < len(exits)
        distances = self.room.distance[targets[bound], x[bound], y[bound]]
        near = self._crowding[:, x, y].sum(axis=1).tolist()
        return {
            "escaped": self.n_people - inside,
            **{f"escaped_{name}": self._out[name] for name in exits},
            "inside": inside,
            "dead": inside if self.round + 1 >= self.n_rounds else 0,
            "evenness": evenness(self._out.values()),
            "target_evenness": evenness(np.bincount(targets[bound], minlength=len(exits)).tolist()),
            "mean_distance": float(distances.mean()) if len(distances) else math.nan,
            "changed": self.changed,
            **{f"congestion_{name}": count for name, count in zip(exits, near, strict=True)},
        }
