"""Emergency evacuation: people leave a room by several exits, and may talk with those near them.

Room
    A grid of `height` × `width` cells with a wall all round; x runs from top to bottom, y from
    left to right, from 0. Exits are gaps in the wall: in the published room of 33 × 33 left
    (15..17, 0), bottom (32, 15..17) and right (17, 32). One person a cell. People start at random
    free cells.

Round
    1. In round 0 everybody plans; afterwards each person with probability `REPLAN`, drawn anew.
    2. Communication (when on), planners only, one after another in shuffled order: a person hears
       what was said in this round within distance 5 (Euclidean), and says at most 50 words
       without digits.
    3. Planning, all at the same time: a sentence on panic (distance to the nearest exit, people
       in view); a sentence on each exit (distance, crowd); the choice of an exit, with what was
       heard and earlier choices.
    4. Action: everybody steps to a free neighbouring cell or stays. The options carry letters in
       random order, from the person's own stream. ``sequential``: by target exit in the order of
       the exits, nearest to it first (ties by id), each on the grid as earlier ones left it.
       ``simultaneous``: all choose on the same grid; of several people who want one cell a seeded
       draw with equal chances lets one in, the others stay.
    5. Whoever stands on an exit cell has escaped and leaves the grid. The authors check this at
       the start of a round, which is the same, as nothing happens in between; so their round k is
       the row ``round`` = k − 1 here (k rounds of steps), and their 51st round, of which only the
       check counts, is not needed. The run ends when all are out or after `n_rounds`; whoever is
       then still inside is dead (status ``dead``, still counted as ``inside``).

Perception
    Distance to an exit: Euclidean, the mean over its cells. Crowd: people within radius 10 whose
    direction lies within 45° of that to the exit, not hidden by obstacles (Bresenham line of
    sight, for some pairs in one direction only, see `sight.bresenham`; people hide nobody), the
    mean over its cells. In view: the same in all directions.

Parameters (source: Wu et al. 2024, table 3 and section 6)
    ``n_people`` 1 or more, 100; ``width``, ``height`` 5 to 2000 cells, 33; ``n_rounds`` 50;
    ``communication``; ``movement``; ``obstacles``, ``exits`` (see `Room`); ``positions``: where
    the people stand at the start; ``condition``: ``baseline``, ``uncooperative``; ``personas``:
    ``traits`` (mind: confident or afraid × body: strong or weak, crossed evenly and spread in
    random order) or as everywhere; ``variant``: ``default``, ``paraphrased``, ``short``,
    ``no_diagonals`` (the options shrink too); ``temperature`` 0, ``max_tokens`` 512, ``top_p`` 1.

Measures
    By round: people escaped so far, also by exit; inside; dead; ``evenness`` (Pielou) of the
    escapes so far over the exits and ``target_evenness`` of the targets of those inside; the mean
    distance of those inside to their targets, in cells; how many changed their target; for each
    exit ``congestion``: people within 3 cells of it; the shares of the round's messages that are
    ``informing``, ``encouraging``, ``guiding``. By person: cell (the exit cell in the round of the
    escape, then none), target, status, exit, persona. At the end: escapes in all, by exit and by
    persona; dead; ``evenness``; ``rounds_to_clear``, none unless everybody got out.

Unreadable answers
    An exit that is unknown or unreadable, also after asking again: the person keeps its target;
    one without any stays where it is until it plans again. A step that is unreadable or not
    among the options: the person stays. An unreadable message is not said; an unreadable
    sentence on panic or exits is left out of the later questions. Who has no free neighbouring
    cell is not asked and stays; people who are walled in stay and die.

Deviations from the authors' program
    Its texts swap the two traits, and its perception and logs cost most of its time; neither is
    repeated here. The number of people in view is told beside that in the eight neighbouring
    cells. Classical persons know the way around obstacles. The prompts are in our own words.

Source
    Wu et al. 2024, "Shall We Team Up: Exploring Spontaneous Cooperation of Competing LLM Agents",
    arXiv 2402.12327, section 6 and appendices A, B.3, C.2, E, G.3; after Wang, Zhang, Shi, Yang &
    Hu 2015, "Modeling and simulating for congestion pedestrian evacuation with panic".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from sabm_mesa.agents.emergency_evacuation import DEAD, ESCAPED, WORDS_AN_EXIT, Evacuee, Message
from sabm_mesa.decisions import Choice, Decision, Text
from sabm_mesa.errors import ParameterError
from sabm_mesa.grid import RoomGrid
from sabm_mesa.minds import Minds
from sabm_mesa.minds.classical.emergency_evacuation import DistanceAndCrowd
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.evacuation_crowd import (
    CONGESTED,
    SCORE,
    columns,
    end_measures,
    go_on_in,
    look_around,
    measures,
    nearest_first,
    start_cells,
    within_hearing,
    within_touch,
)
from sabm_mesa.models.room import Room
from sabm_mesa.models.room_plan import Cell, Exits, Obstacles
from sabm_mesa.parameters import one_of, whole
from sabm_mesa.population import Personas
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase, action, communication, planning

REPLAN = 0.2
"""The probability with which a person plans again."""
MOVEMENTS = ("sequential", "simultaneous")
TRAITS = ("confident_strong", "confident_weak", "afraid_strong", "afraid_weak")


class EmergencyEvacuation(SmartModel):
    """People who leave a room.

    Args:
        n_people: number of people (1 or more).
        n_rounds: rounds after which whoever is inside is dead.
        width: cells from left to right, the wall included.
        height: cells from top to bottom, the wall included.
        communication: whether people talk.
        movement: ``"sequential"`` or ``"simultaneous"``.
        obstacles: False; True for the published layout; a list of cells; or a map in text.
        exits: name → list of cells; None for the published ones.
        positions: where the people stand at the start; None for random free cells.
        condition: ``"baseline"`` or ``"uncooperative"``.
        personas: ``"traits"``, or see `SmartModel`.
        minds: see `SmartModel`; the classical mind is ``classical``.
        rng: the seed.
        variant: ``"default"``, ``"paraphrased"``, ``"short"`` or ``"no_diagonals"``.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        top_p: nucleus sampling of language models.
        settings: the other parameters of `SmartModel`.

    Attributes:
        room: the room.
        grid: Mesa's grid, with everybody who is inside.
        people: everybody, by id; `remaining`: those who have not escaped.
        planners: those who talk and plan in this round.
        said: the messages of this round.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "evacuation"
    title = "Emergency evacuation"
    source = "Wu et al. 2024, arXiv 2402.12327, section 6"
    prompt_file = "evacuation"
    plots = "sabm_mesa.analysis.plots.emergency_evacuation"
    phases: ClassVar[tuple[Phase, ...]] = (
        communication(
            when=lambda m: m.communication, who=lambda m: m.planners, reach=within_hearing
        ),
        planning(who=lambda m: m.planners),
        action(
            order=nearest_first,
            when=lambda m: m.movement == "sequential",
            who=lambda m: m.remaining,
            reach=within_touch,
        ),
        action(when=lambda m: m.movement == "simultaneous", who=lambda m: m.remaining),
    )
    model_columns: ClassVar[Mapping[str, str]] = columns(Room().names)
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("x", "y", "target", "status", "exit", "persona")
    }
    score = SCORE
    changeable = frozenset({"communication", "movement"})
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {"default": DistanceAndCrowd}
    grid: RoomGrid

    def __init__(
        self,
        n_people: int = 100,
        n_rounds: int = 50,
        width: int = 33,
        height: int = 33,
        communication: bool = True,
        movement: str = "sequential",
        obstacles: Obstacles = False,
        exits: Exits | None = None,
        positions: Sequence[Sequence[int]] | None = None,
        condition: str = "baseline",
        personas: Personas = "traits",
        minds: Minds = "classical",
        rng: Seed = None,
        variant: str = "default",
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
        top_p: float | None = 1.0,
        **settings: Any,
    ) -> None:
        n = self.n_people = whole("n_people", n_people, 1)
        self.room = Room(width, height, exits, obstacles, diagonals=variant != "no_diagonals")
        if personas == "traits":
            personas = {trait: (n + 3 - i) // 4 for i, trait in enumerate(TRAITS)}
        super().__init__(
            n_rounds=n_rounds, condition=condition, personas=personas, minds=minds, rng=rng,
            variant=variant, temperature=temperature, max_tokens=max_tokens, top_p=top_p,
            **settings,
        )  # fmt: skip
        self.width, self.height = self.room.width, self.room.height
        if not isinstance(communication, bool):
            raise ParameterError(f"communication is true or false, not {communication!r}.")
        self.communication = communication
        self.movement = one_of("movement", movement, MOVEMENTS)
        self.exit_spec = Choice(self.room.names)
        self.evaluation_spec = Text(max_words=WORDS_AN_EXIT * len(self.room.names))
        self.grid = RoomGrid(self.room, self.random)
        self.people = self.populate(Evacuee, n)
        self.remaining, self.planners = list(self.people), list[Evacuee]()
        self.said: list[Message] = []
        self.changed = 0
        self._left: list[Evacuee] = []
        self._wishes: dict[Cell, list[Evacuee]] = {}
        self.congested = self.room.close_to(CONGESTED)
        cells = start_cells(self.room, n, positions, self.rng)
        for person, cell in zip(self.people, cells, strict=True):
            self._put(person, cell)

    def columns(self) -> Mapping[str, str]:
        """The model columns: as on the class, but of these exits."""
        return columns(self.room.names)

    def begin_round(self) -> None:
        """Draw who plans in this round, and let them look around."""
        for person in self._left:
            person.x = person.y = None
        self._left.clear()
        self.said.clear()
        self.changed = 0
        everybody = self.round == 0
        self.planners = [
            person for person in self.remaining if everybody or self.rng.random() < REPLAN
        ]
        for person in self.remaining:
            person.heard.clear()
        look_around(self, self.planners)

    def after_communicate(self, speaker: Evacuee, words: Decision) -> None:
        """Let everybody within hearing distance hear what a person said."""
        if words.valid:
            message = Message(speaker.position, speaker.unique_id, words.value)
            self.said.append(message)
            for person in within_hearing(self, speaker):
                person.heard.append(message)

    def after_plan(self, person: Evacuee, choice: Decision) -> None:
        """Take the chosen exit; an unreadable choice changes nothing."""
        if choice.valid:
            person.choices.append(choice.value)
            self.changed += person.target not in {None, choice.value}
            person.target = choice.value

    def after_act(self, person: Evacuee, step: Decision) -> None:
        """Step at once, or note the wish when all step at the same time."""
        if step.value in {None, person.pos}:
            return
        if self.movement == "sequential":
            self._put(person, step.value)
        else:
            self._wishes.setdefault(step.value, []).append(person)

    def update(self) -> None:
        """Resolve conflicts, let out who stands on an exit, and take the measures."""
        for cell, wanting in sorted(self._wishes.items()):
            lucky = self.rng.integers(len(wanting)) if len(wanting) > 1 else 0
            self._put(wanting[lucky], cell)
        self._wishes.clear()
        self.said.sort()
        for person in self.remaining:
            if (exit_ := self.room.exit_at.get(person.pos)) is not None:
                person.status, person.exit = ESCAPED, exit_
                self.grid.remove_agent(person)
                self._left.append(person)
        self.remaining = [person for person in self.remaining if person.exit is None]
        if not self.remaining:
            self.running = False
        elif self.round + 1 >= self.n_rounds:
            for person in self.remaining:
                person.status = DEAD
        for name, value in measures(self).items():
            setattr(self, name, value)

    def take_over(self, twin: Self, changed: frozenset[str]) -> None:
        """Take over what a fork changes, also the steps that a variant allows."""
        super().take_over(twin, changed)
        go_on_in(self, twin.room)

    def plot_options(self) -> dict[str, Any]:
        """The room, with its exits and obstacles."""
        return {"room": self.room}

    def end_measures(self) -> dict[str, Any]:
        """Who got out, by exit and persona, how evenly, and after how many rounds the last."""
        return end_measures(self)

    def _put(self, person: Evacuee, cell: Cell) -> None:
        if person.x is None:
            self.grid.place_agent(person, cell)
        else:
            self.grid.move_agent(person, cell)
        person.x, person.y = cell
