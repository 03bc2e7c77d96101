"""The evacuees: what they observe, the questions they are asked, and their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Choice, Decision, Text
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation
    from sabm_mesa.models.evacuation.room import Cell, Room


INSIDE, ESCAPED, DEAD = "inside", "escaped", "dead"
LETTERS = "ABCDEFGHI"
"""The letters of the options: eight neighbouring cells, and staying."""
MESSAGE = Text(max_words=50, numbers=False)
FEELING = Text(max_words=40)
WORDS_AN_EXIT = 20
CODES = {n: Choice(tuple(LETTERS[:n])) for n in range(1, len(LETTERS) + 1)}
_DIRECTIONS = {
    (-1, 0): "up", (1, 0): "down", (0, -1): "left", (0, 1): "right",
    (-1, -1): "up_left", (-1, 1): "up_right", (1, -1): "down_left", (1, 1): "down_right",
}  # fmt: skip


class Glance(NamedTuple):
    """The last look around of one person.

    Attributes:
        distances: cells to each exit (Euclidean; the mean over the cells of a wide exit).
        crowds: people seen towards each exit (the mean over its cells).
        in_view: people seen in all directions.
        near: people in the eight neighbouring cells.
    """

    distances: Sequence[float]
    crowds: Sequence[float]
    in_view: int
    near: int


@dataclass(frozen=True, slots=True)
class InRoom(Observation):
    """The common part of all observations of an evacuee.

    Attributes:
        room: the room: its size, walls, obstacles and exits.
        round: the round, from 0.
        n_rounds: the rounds after which nobody survives inside.
        condition: the condition of the run.
        cell: the cell of the person, as (x, y).
    """

    room: Room
    round: int
    n_rounds: int
    condition: str
    cell: Cell

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        room = self.room
        sides = {name: book.render(f"side_{room.side(name)}", {}) for name in room.names}
        exits = [book.render("exit", {"exit": n, "side": side}) for n, side in sides.items()]
        return {
            "n_rounds": self.n_rounds,
            "height": room.height,
            "width": room.width,
            "exits": ", ".join(exits),
            "n_exits": len(exits),
            "persona": book.persona(self.persona),
            "attitude": book.render("attitude", {}),
            "diagonals": book.render("diagonals", {}),
            "moves": book.render("moves", {}),
            "obstacles": book.render("obstacles", {}) if room.has_obstacles else "",
            "position": str(self.cell),
        }


@dataclass(frozen=True, slots=True)
class Situation(InRoom):
    """The observation of a person that speaks or plans: sight, messages, feeling, memory.

    Attributes:
        glance: its look around.
        heard: the messages of others near it in this round, in their order.
        feeling: its last sentence on panic, or ``""``.
        evaluation: its sentences on the exits, just given, or ``""``.
        choices: the exits it has chosen so far.
    """

    glance: Glance
    heard: tuple[Message, ...]
    feeling: str
    evaluation: str
    choices: tuple[str, ...]

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value; distances and crowds are rounded to one place.

        Args:
            book: the prompts of the run.
        """
        glance = self.glance
        seen = zip(self.room.names, glance.distances, glance.crowds, strict=True)
        sights = [
            book.render("sight", {"exit": name, "distance": f"{d:.1f}", "crowd": f"{c:.3g}"})
            for name, d, c in seen
        ]
        said = [book.render("said", {"text": book.quote(message.text)}) for message in self.heard]
        feeling = "feeling" if self.feeling else "feeling_nothing"
        return {
            **InRoom.placeholders(self, book),
            "nearest": f"{min(glance.distances):.1f}",
            "in_view": glance.in_view,
            "near": glance.near,
            "sights": "\n".join(sights),
            "n_heard": len(said),
            "heard": "\n".join(said) or book.render("said_nothing", {}),
            "feeling": book.render(feeling, {"text": book.quote(self.feeling)}),
            "evaluation": book.quote(self.evaluation) or book.render("evaluation_nothing", {}),
            "choices": ", ".join(self.choices) or book.render("chosen_nothing", {}),
        }


@dataclass(frozen=True, slots=True)
class Crossing(InRoom):
    """The observation of a person before a step: the cells it can reach.

    Attributes:
        target: the exit it wants to leave by.
        options: the free neighbouring cells and its own, in the order of their letters.
    """

    target: str
    options: Sequence[Cell]

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        lines = []
        for letter, (x, y) in zip(LETTERS, self.options, strict=False):
            way = _DIRECTIONS.get((x - self.cell[0], y - self.cell[1]))
            direction = "" if way is None else book.render(way, {})
            values = {"letter": letter, "cell": str((x, y)), "direction": direction}
            lines.append(book.render("option" if way else "option_stay", values))
        return {
            **InRoom.placeholders(self, book),
            "target": self.target,
            "options": "\n".join(lines),
        }


class Evacuee(SmartAgent):
    """A person in the room: talks, plans, and steps.

    Args:
        model: the evacuation.

    Attributes:
        x: row of the cell it stands in; the exit cell in the round in which it escapes, then None.
        y: column of that cell.
        target: the exit it wants to leave by; None before its first readable choice.
        status: ``"inside"``, ``"escaped"`` or ``"dead"``.
        exit: the exit it left by, or None.
        choices: the exits it has chosen so far.
        feeling: its last sentence on panic.
        evaluation: its last sentences on the exits.
        heard: the messages it hears in this round.
        glance: its last look around.
    """

    model: EmergencyEvacuation
    pos: Cell

    def __init__(self, model: EmergencyEvacuation) -> None:
        super().__init__(model)
        self.x: int | None = None
        self.y: int | None = None
        self.target: str | None = None
        self.status = INSIDE
        self.exit: str | None = None
        self.choices: list[str] = []
        self.feeling = self.evaluation = ""
        self.heard: list[Message] = []
        self.glance: Glance | None = None

    async def communicate(self) -> Decision:
        """Say something to people near; later speakers among them hear it."""
        return await self.ask("communicate", MESSAGE, self.observe())

    async def plan(self) -> Decision:
        """Tell whether it panics, judge the exits, and choose one."""
        self.evaluation = ""
        panic = await self.ask("panic", FEELING, self.observe())
        self.feeling = panic.value or ""
        evaluation = await self.ask("evaluate", self.model.evaluation_spec, self.observe())
        self.evaluation = evaluation.value or ""
        return await self.ask("choose", self.model.exit_spec, self.observe())

    async def act(self) -> Decision:
        """Choose a neighbouring cell or its own; without a free cell or a target nothing is asked.

        Returns:
            The cell; None when the answer could not be read.
        """
        model, here = self.model, self.pos
        options = model.grid.free_neighbours(here)
        if not options or self.target is None:
            return Decision(here)
        options.append(here)
        self.random.shuffle(options)
        crossing = Crossing(
            model.room, model.round, model.n_rounds, model.condition, here,
            self.target, options, persona=self.persona,
        )  # fmt: skip
        step = await self.ask("act", CODES[len(options)], crossing)
        if not step.valid:
            return step
        return Decision(options[LETTERS.index(step.value)], step.reasoning, "", step.attempts)

    def observe(self) -> Situation:
        """Return what the person sees, hears, feels and remembers now."""
        model = self.model
        assert self.glance is not None
        return Situation(
            model.room, model.round, model.n_rounds, model.condition, self.pos,
            self.glance, tuple(sorted(self.heard, key=attrgetter("position"))),
            self.feeling, self.evaluation, tuple(self.choices), persona=self.persona,
        )  # fmt: skip
