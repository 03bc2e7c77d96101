"""The evacuees: their observations, questions and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import dist
from typing import TYPE_CHECKING

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Choice, Decision, Text
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation
    from sabm_mesa.models.evacuation.room import Cell, Floats, Glance, Room


INSIDE, ESCAPED, DEAD = "inside", "escaped", "dead"
LETTERS = "ABCDEFGHI"
"""The letters of the options: the eight neighbouring cells, and staying."""
MESSAGE = Text(max_words=50, numbers=False, label="message")
FEELING = Text(max_words=40)
WORDS_AN_EXIT = 20
TRAITS = ("confident_strong", "confident_weak", "afraid_strong", "afraid_weak")
"""The personas with a mental and a physical trait."""
CODES = {n: Choice(tuple(LETTERS[:n])) for n in range(1, len(LETTERS) + 1)}
_DIRECTIONS = {
    (-1, 0): "up", (1, 0): "down", (0, -1): "left", (0, 1): "right",
    (-1, -1): "up_left", (-1, 1): "up_right", (1, -1): "down_left", (1, 1): "down_right",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class InRoom(Observation):
    """The common part of all observations of an evacuee.

    Attributes:
        room: the room: its size, walls, obstacles and exits.
        round: the round, from 0.
        n_rounds: the number of rounds after which people inside are dead.
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
            # Personas with a mental trait include the attitude of their condition.
            "attitude": "" if self.persona in TRAITS else book.render("attitude", {}),
            "diagonals": book.render("diagonals", {}),
            "moves": book.render("moves", {}),
            "obstacles": book.render("obstacles", {}) if room.has_obstacles else "",
            "position": str(self.cell),
        }


@dataclass(frozen=True, slots=True)
class Situation(InRoom):
    """The observation of a person who speaks or plans: sight, messages, feeling, memory.

    Attributes:
        glance: its view.
        communication: whether people talk in this run.
        heard: the messages of others near it in this round, the nearest speaker first.
        feeling: its last sentence on panic, or ``""``.
        evaluation: its latest sentences on the exits, or ``""``.
        choices: the exits it has chosen so far.
    """

    glance: Glance
    communication: bool
    heard: tuple[Message, ...]
    feeling: str
    evaluation: str
    choices: tuple[str, ...]

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value; distances and crowds are rounded to one decimal.

        Args:
            book: the prompts of the run.
        """
        glance = self.glance
        seen = zip(self.room.names, glance.distances, glance.crowds, strict=True)
        sights = [
            book.render("sight", {"exit": name, "distance": f"{d:.1f}", "crowd": f"{c:.3g}"})
            for name, d, c in seen
        ]
        lines = [
            book.render("said", {"number": message.sender, "text": book.quote(message.text)})
            for message in book.quoted_in_order(self.heard)
        ]
        heard = ""
        if self.communication:
            values = {"n_heard": len(lines), "said": "\n".join(lines)}
            heard = book.render("heard" if lines else "heard_nothing", values)
        feeling = "feeling" if self.feeling else "feeling_nothing"
        return {
            **InRoom.placeholders(self, book),
            "nearest": f"{min(glance.distances):.1f}",
            "in_view": glance.in_view,
            "near": glance.near,
            "sights": "\n".join(sights),
            "heard": heard,
            "feeling": book.render(feeling, {"text": book.quote(self.feeling)}),
            "evaluation": book.quote(self.evaluation) or book.render("evaluation_nothing", {}),
            "choices": ", ".join(self.choices) or book.render("chosen_nothing", {}),
        }


@dataclass(frozen=True, slots=True)
class Crossing(InRoom):
    """The observation of a person before a step: its exit, its last cell, and the reachable cells.

    Attributes:
        target: its chosen exit.
        previous: its cell one round ago; None in the first round.
        options: the free neighbouring cells and its own, in the order of their letters.
        trace: the dynamic floor field by (x, y), for `informed` minds, otherwise None.
    """

    target: str
    previous: Cell | None
    options: Sequence[Cell]
    trace: Floats | None = None

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value; `trace` has none.

        Args:
            book: the prompts of the run.
        """
        lines = []
        for letter, cell in zip(LETTERS, self.options, strict=False):
            way = "" if cell == self.cell else _direction(self.cell, cell)
            direction = book.render(way, {}) if way else ""
            values = {"letter": letter, "cell": str(cell), "direction": direction}
            lines.append(book.render("option" if way else "option_stay", values))
        cells = self.room.exit_cells[self.target]
        places = "exit_cell" if len(cells) == 1 else "exit_cells"
        nearest = min(cells, key=lambda cell: dist(cell, self.cell))
        before = "" if self.previous is None else str(self.previous)
        return {
            **InRoom.placeholders(self, book),
            "target": self.target,
            "place": book.render(places, {"cells": ", ".join(map(str, cells))}),
            "towards": book.render(_direction(self.cell, nearest), {}),
            "previous": book.render("previous", {"cell": before}) if before else "",
            "options": "\n".join(lines),
        }


def _direction(here: Cell, there: Cell) -> str:
    """The entry with the words for a direction: straight within a row or column, else diagonal."""
    x, y = there[0] - here[0], there[1] - here[1]
    return _DIRECTIONS[(x > 0) - (x < 0), (y > 0) - (y < 0)]


class Evacuee(SmartAgent):
    """A person in the room, who talks, plans and steps.

    Args:
        model: the evacuation.

    Attributes:
        x: row of its cell; the exit cell in the round in which it escapes, then None.
        y: column of that cell.
        target: its chosen exit; None before its first readable choice.
        previous: its cell one round ago; None in the first round.
        status: ``"inside"``, ``"escaped"`` or ``"dead"``.
        exit: the exit through which it left, or None.
        choices: the exits it has chosen so far.
        feeling: its last sentence on panic.
        evaluation: its last sentences on the exits.
        glance: its last look around.
        hearers: the people within hearing.
    """

    model: EmergencyEvacuation
    pos: Cell

    def __init__(self, model: EmergencyEvacuation) -> None:
        super().__init__(model)
        self.x: int | None = None
        self.y: int | None = None
        self.target: str | None = None
        self.previous: Cell | None = None
        self.status = INSIDE
        self.exit: str | None = None
        self.choices: list[str] = []
        self.feeling = self.evaluation = ""
        self.glance: Glance | None = None
        self.hearers: list[Evacuee] = []

    async def communicate(self) -> Decision:
        """Send a message to people nearby; later speakers among them hear it."""
        return await self.ask("communicate", MESSAGE, self.observe(self.heard()))

    async def plan(self) -> Decision:
        """State whether it panics, judge the exits, and choose one."""
        self.evaluation, heard = "", self.heard()
        panic = await self.ask("panic", FEELING, self.observe(heard))
        self.feeling = panic.value or ""
        evaluation = await self.ask("evaluate", self.model.evaluation_spec, self.observe(heard))
        self.evaluation = evaluation.value or ""
        return await self.ask("choose", self.model.exit_spec, self.observe(heard))

    async def act(self) -> Decision:
        """Choose a neighbouring cell or its own; no question without a free cell or a target.

        Returns:
            The cell; None if the answer was unreadable.
        """
        model, here = self.model, self.pos
        previous, self.previous = self.previous, here
        options = [cell for cell in model.room.beside(here) if model.grid.is_cell_empty(cell)]
        if not options or self.target is None:
            return Decision(here)
        options.append(here)
        self.random.shuffle(options)
        crossing = Crossing(
            room=model.room,
            round=model.round,
            n_rounds=model.n_rounds,
            condition=model.condition,
            cell=here,
            target=self.target,
            previous=previous,
            options=options,
            trace=model.trace.field if "trace" in self.mind.informed else None,
            persona=self.persona,
        )
        step = await self.ask("act", CODES[len(options)], crossing)
        if not step.valid:
            return step
        return Decision(options[LETTERS.index(step.value)], step.reasoning, "", step.attempts)

    def heard(self) -> tuple[Message, ...]:
        """Return the messages that it has heard in this round, from the nearest sender first."""
        words = self.model.words
        talkers = [other for other in self.hearers if other.unique_id in words]
        talkers.sort(key=lambda o: (dist(self.pos, o.pos), words[o.unique_id].position))
        return tuple([words[other.unique_id] for other in talkers])

    def observe(self, heard: tuple[Message, ...]) -> Situation:
        """Return the observation of the person: sight, messages, feeling and memory.

        Args:
            heard: see `heard`.
        """
        model = self.model
        assert self.glance is not None
        return Situation(
            room=model.room,
            round=model.round,
            n_rounds=model.n_rounds,
            condition=model.condition,
            cell=self.pos,
            glance=self.glance,
            communication=model.communication,
            heard=heard,
            feeling=self.feeling,
            evaluation=self.evaluation,
            choices=tuple(self.choices),
            persona=self.persona,
        )
