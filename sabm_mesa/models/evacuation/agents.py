"""The evacuees: their facts, questions and memory."""

from __future__ import annotations

from math import dist
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Choice, Decision, Text
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation
    from sabm_mesa.models.evacuation.room import Cell, Glance


INSIDE, ESCAPED, DEAD = "inside", "escaped", "dead"
LETTERS = "ABCDEFGHI"
"""The letters of the options: the eight neighbouring cells, and staying."""
MESSAGE = Text(max_words=50, numbers=False, label="message")
FEELING = Text(max_words=40)
WORDS_AN_EXIT = 20
TRAITS = ("confident_strong", "confident_weak", "afraid_strong", "afraid_weak")
"""The personas with a mental and a physical trait."""
CODES = {n: Choice(tuple(LETTERS[:n])) for n in range(1, len(LETTERS) + 1)}


def direction(here: Cell, there: Cell) -> str:
    """A direction in words: straight within a row or column, else diagonal; ``""`` for no step."""
    x, y = there[0] - here[0], there[1] - here[1]
    words = ("", "down", "up")[(x > 0) - (x < 0)], ("", "right", "left")[(y > 0) - (y < 0)]
    return " and ".join(filter(None, words))


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
        return await self.ask("communicate", MESSAGE, **self.situation())

    async def plan(self) -> Decision:
        """State whether it panics, judge the exits, and choose one."""
        self.evaluation = ""
        panic = await self.ask("panic", FEELING, **self.situation())
        self.feeling = panic.value or ""
        evaluation = await self.ask("evaluate", self.model.evaluation_spec, **self.situation())
        self.evaluation = evaluation.value or ""
        return await self.ask("choose", self.model.exit_spec, **self.situation())

    async def act(self) -> Decision:
        """Choose a neighbouring cell or its own; no question without a free cell or a target.

        Returns:
            The cell; None if the answer was unreadable.
        """
        model, here, informed = self.model, self.pos, self.mind.informed
        room, target = model.room, self.target
        previous, self.previous = self.previous, here
        free = [cell for cell in room.beside(here) if model.grid.is_cell_empty(cell)]
        if not free or target is None:
            return Decision(here)
        free.append(here)
        self.random.shuffle(free)
        options = dict(zip(LETTERS, free, strict=False))
        field, trace = room.field[room.names.index(target)], model.trace.field
        step = await self.ask(
            "act",
            CODES[len(options)],
            **self.facts(),
            target=target,
            towards=direction(here, min(room.exit_cells[target], key=lambda c: dist(c, here))),
            before=previous,
            options=options,
            directions={letter: direction(here, cell) for letter, cell in options.items()},
            field=[field[cell] for cell in free] if "field" in informed else None,
            trace=[trace[cell] for cell in free] if "trace" in informed else None,
        )
        if not step.valid:
            return step
        return Decision(options[step.value], step.reasoning, attempts=step.attempts)

    def heard(self) -> tuple[Message, ...]:
        """Return the messages that it has heard in this round, from the nearest sender first."""
        words = self.model.words
        talkers = [other for other in self.hearers if other.unique_id in words]
        talkers.sort(key=lambda o: (dist(self.pos, o.pos), words[o.unique_id].position))
        return tuple([words[other.unique_id] for other in talkers])

    def facts(self) -> dict[str, Any]:
        """Facts in all questions: the room, its exits, and the person's cell."""
        model, room = self.model, self.model.room
        return {
            "round": model.round,
            "n_rounds": model.n_rounds,
            "condition": model.condition,
            "height": room.height,
            "width": room.width,
            "exits": {
                name: {"side": room.side(name), "cells": cells}
                for name, cells in room.exit_cells.items()
            },
            "has_obstacles": room.has_obstacles,
            "has_trait": self.persona in TRAITS,
            "cell": self.pos,
        }

    def situation(self) -> dict[str, Any]:
        """Facts for talk and plans: also its view, messages, feeling, judgement and choices.

        Minds informed of it know the ``steps`` from the cell to each exit, around obstacles.
        """
        assert self.glance is not None
        steps = self.model.room.steps[:, *self.pos] if "steps" in self.mind.informed else None
        return {
            **self.facts(),
            **self.glance._asdict(),
            "communication": self.model.communication,
            "said": self.heard(),
            "own_feeling": self.feeling,
            "own_evaluation": self.evaluation,
            "chosen": self.choices,
            "steps": None if steps is None else steps.tolist(),
        }
