"""A tiny scenario for the tests of the core: agents on a graph see their neighbours' values."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from sabm_mesa import Mind, Number, Phase, SmartAgent, SmartModel, Text, action
from sabm_mesa.core.answers import AnswerSpec, Format, Reply
from sabm_mesa.core.asks import Ask, Key
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.prompts import PromptBook

TINY = str(Path(__file__).with_name("tiny.toml"))
PICK = Number(0, 100, integer=True)


class Cell(SmartAgent):
    """An agent that sees its own value and those of its neighbours, and picks a new one.

    It speaks to its neighbours, after what it has heard of them.
    """

    async def communicate(self):
        heard = " ".join(f"{i}:{said}" for i, said in self.model.heard[self.unique_id])
        return await self.ask("communicate", Text(), me=self.unique_id, seen=heard)

    async def act(self):
        return await self.ask("act", PICK, **self.facts())

    def facts(self):
        sight = sorted({self.unique_id, *self.model.neighbours[self.unique_id]})
        values = " ".join(f"{i}={self.model.values[i]}" for i in sight)
        return {"me": self.unique_id, "seen": values}


class Tiny(SmartModel):
    """The scenario; `log` is the order in which decisions were applied."""

    scenario_name = "tiny"
    title = "Tiny"
    source = "none"
    prompt_file = TINY
    phases: ClassVar[tuple[Phase, ...]] = (action(),)
    model_columns: ClassVar[dict[str, str]] = {"sum": "sum"}
    agent_columns: ClassVar[dict[str, str]] = {"value": "value"}

    def __init__(self, n: int = 3, edges: Iterable[tuple[int, int]] | None = None, **settings: Any):
        super().__init__(**settings)
        self.values = dict.fromkeys(range(1, n + 1), 0)
        self.neighbours: dict[int, set[int]] = {i: set() for i in self.values}
        for a, b in edges if edges is not None else ():
            self.neighbours[a].add(b)
            self.neighbours[b].add(a)
        self.log: list[tuple[int, Any]] = []
        self.heard: dict[int, list[tuple[int, Any]]] = {i: [] for i in self.values}
        self.sum = 0
        self.cells = self.populate(Cell, n)

    def after_communicate(self, cell, said):
        self.log.append((cell.unique_id, said.value))
        self.say(cell, said.value)
        for hearer in self.neighbours[cell.unique_id]:
            self.heard[hearer].append((cell.unique_id, said.value))

    def after_act(self, cell, pick):
        self.log.append((cell.unique_id, pick.value))
        if pick.valid:
            self.values[cell.unique_id] = cell.value = pick.value

    def update(self):
        self.sum = sum(self.values.values())
        for cell in self.cells:
            cell.value = self.values[cell.unique_id]


def tiny(*phases: Phase, **given: Any) -> Tiny:
    """The scenario with these phases."""

    class Played(Tiny):
        pass

    Played.phases = phases or Tiny.phases
    return Played(**given)


def neighbours(model: Tiny, cell: Cell) -> list[Cell]:
    """The reach of the tiny scenario."""
    return [other for other in model.cells if other.unique_id in model.neighbours[cell.unique_id]]


class Waiting(Mind):
    """A mind that answers with a function of the ask after as many turns of the loop as it draws.

    Every agent draws from a stream of its own, so that latencies do not depend on the order.
    """

    instant = False
    paid = False

    def __init__(self, answer: Callable[[Ask], object], seed: int = 0, longest: int = 9) -> None:
        self.spec = "waiting"
        self._answer, self._seed, self._longest = answer, seed, longest

    async def answer(self, ask: Ask) -> object:
        for _ in range(Random(f"{self._seed}/{ask.key}").randint(0, self._longest)):
            await asyncio.sleep(0)
        return self._answer(ask)


class Priced(Mind):
    """A mind whose answers are paid for, as those of a language model are."""

    instant = False
    paid = True

    def __init__(self, answer: Callable[[Ask], object], spec: str = "priced") -> None:
        self.spec = spec
        self._answer = answer

    async def answer(self, ask: Ask) -> Reply:
        await asyncio.sleep(0)
        answer = self._answer(ask)
        if isinstance(answer, Reply):
            return answer
        return Reply(
            answer,
            prompt_tokens=10,
            completion_tokens=3,
            cached_tokens=2,
            cost_usd=0.25,
            latency_s=0.5,
            model="served",
            finish_reason="stop",
            retries=1,
        )


def question(
    spec: AnswerSpec = PICK, name: str = "act", answer_format: Format = "paper", agent: Any = None
) -> Ask:
    """An ask of the tiny scenario that stands alone."""
    return Ask(
        name,
        Facts({"me": 7, "seen": "nothing", "persona": "none", "memory": ()}),
        spec,
        key=Key(2, "act", 7, 0),
        book=PromptBook(TINY),
        answer_format=answer_format,
        agent=agent,
    )


def rows(path: str | Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query of a recording."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()
