"""Fishing in one lake: a scenario that conforms, and others that each break one promise."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, ClassVar

import networkx as nx
from annotated_types import Ge

from sabm_mesa import (
    Decision,
    NetworkPicture,
    Number,
    Phase,
    Portrayal,
    SmartAgent,
    SmartModel,
    action,
    planning,
)
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ScenarioPage

PROMPTS = Path(__file__).with_name("fishing.toml")
TONNES = Number(0, 10)
REQUESTS = count()


class FairShare:
    instant, paid = True, False

    def __init__(self, spec: str) -> None:
        self.spec = spec

    async def answer(self, ask: Ask) -> object:
        return min(10.0, float(ask.facts.stock) / 2 / (ask.facts.n_others + 1))


class Fisher(SmartAgent):
    model: Fishing
    catch: float | None = None

    async def act(self) -> Decision:
        """Name the tonnes that it catches."""
        return await self.ask("act", TONNES, **self.facts())

    def facts(self) -> dict[str, Any]:
        return {"n_others": len(self.model.fishers) - 1, "stock": str(self.model.stock)}


class Fishing(SmartModel):
    scenario_name = "fishing"
    title = "Fishing in one lake"
    source = "Gordon 1954"
    prompt_file = str(PROMPTS)
    phases: ClassVar[tuple[Phase, ...]] = (action(),)
    model_columns = ("stock",)
    agent_columns = ("catch",)
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": FairShare}
    agents_are: ClassVar[type[SmartAgent]] = Fisher

    def __init__(self, n_fishers: int = 3, n_rounds: int = 10, **settings: Any) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.stock = 60.0
        self.fishers = self.populate(self.agents_are, n_fishers)

    def after_act(self, fisher: Fisher, tonnes: Decision) -> None:
        fisher.catch = tonnes.value

    def update(self) -> None:
        caught = sum(fisher.catch or 0.0 for fisher in self.fishers)
        self.stock = min(100.0, 2 * max(0.0, self.stock - caught))


class Counting(Fishing):
    def update(self) -> None:
        super().update()
        self.round = 0


class Demanding(Fishing):
    def __init__(self, n_lakes: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.n_lakes = n_lakes


class Beyond(Fishing):
    def __init__(self, n_fishers: Annotated[int, Ge(4)] = 3, **settings: Any) -> None:
        super().__init__(n_fishers=n_fishers, **settings)


class Unknown(Fishing):
    def __init__(self, lake: Lakes = None, **settings: Any) -> None:  # noqa: F821
        super().__init__(**settings)
        self.lake = lake


class Unlimited(Fishing):
    def __init__(self, n_fishers: Annotated[int, AtLeast(4)] = 3, **settings: Any) -> None:  # noqa: F821
        super().__init__(n_fishers=n_fishers, **settings)


class Paged(Fishing):
    page = ScenarioPage(card_run={"n_boats": 3})


class Closed(Fishing):
    def __init__(self, minds: Any = "classical", rng: int | None = None) -> None:
        super().__init__(minds=minds, rng=rng)


class Seasonal(Fishing):
    """Has as many rounds as seasons, unless told otherwise."""

    def __init__(self, n_rounds: int | None = None, **settings: Any) -> None:
        super().__init__(n_rounds=4 if n_rounds is None else n_rounds, **settings)


class Planned(Fishing):
    phases: ClassVar[tuple[Phase, ...]] = (planning(), action())


class Lucky(Fishing):
    """Chance that comes from elsewhere."""

    def update(self) -> None:
        super().update()
        self.stock += random.random()


class Hasty(Fisher):
    """Changes the world before its turn: who answers first, catches first."""

    async def act(self) -> Decision:
        tonnes = await super().act()
        self.model.stock -= (self.unique_id == 1) * self.model.stock / 2
        self.model.stock -= (self.unique_id == 2) * 10
        return tonnes


class Racing(Fishing):
    agents_are = Hasty


class Shortsighted(Fishing):
    """Each catches after the one before, and the reach denies it."""

    phases: ClassVar[tuple[Phase, ...]] = (action("shuffled", reach=lambda *_: []),)

    def after_act(self, fisher: Fisher, tonnes: Decision) -> None:
        super().after_act(fisher, tonnes)
        self.stock = self.stock / 2 + (fisher.catch or 0.0)


class Restless(Fisher):
    """A different prompt each time."""

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "stock": f"{next(REQUESTS)}"}


class Forgetful(Fishing):
    agents_are = Restless
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {}


class Prepared(Fishing):
    """Plays by other rules when Mesa's runner does not do it."""

    def run_model(self) -> None:
        self.stock = 30.0
        super().run_model()


class Nameless(Fisher):
    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "persona": "none"}


class Impersonal(Fishing):
    agents_are = Nameless


class Greedy(FairShare):
    async def answer(self, ask: Ask) -> object:
        del ask
        return 11


class Insatiable(Fishing):
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {
        "default": FairShare,
        "greedy": Greedy,
    }


class Knowing(FairShare):
    async def answer(self, ask: Ask) -> object:
        return min(10, ask.facts.boats)


class Equipped(Fisher):
    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "boats": 7}


class Untold(Fishing):
    """Has a rule that reads what no prompt shows."""

    agents_are = Equipped
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": Knowing}


class Unequipped(Fisher):
    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "boats": False}


class UntoldFlag(Untold):
    """Has a rule that reads a flag that no prompt shows."""

    agents_are = Unequipped


class Manned(Fisher):
    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "fleet": {"boats": 7, "crew": 3}}


class UntoldPart(Fishing):
    """Has a rule that reads a part of a fact of which the prompt shows another part."""

    agents_are = Manned
    prompts: ClassVar = {
        "scenario": "You and {{ n_others }} others fish in one lake. {{ persona }}",
        "act": "You have a crew of {{ fleet.crew }}. How many do you catch? {{ form }}",
    }
    classical_minds: ClassVar = {
        "default": lambda ask: min(10, ask.facts.fleet["boats"] + ask.facts.fleet["crew"])
    }


class Ended(Fishing):
    """Is over before it begins."""

    def __init__(self, n_fishers: int = 3, **settings: Any) -> None:
        super().__init__(n_fishers, **settings)
        self.running = False


class Guessing(Fishing):
    """Makes a number up where there is none."""

    def after_act(self, fisher: Fisher, tonnes: Decision) -> None:
        fisher.catch = tonnes.value if tonnes.valid else 5.0


class Renamed(Fishing):
    """Says that a parameter can change which is an attribute of another name."""

    changeable = frozenset({"first_stock"})

    def __init__(self, first_stock: float = 60.0, **settings: Any) -> None:
        super().__init__(**settings)
        self.stock = first_stock


class Regrown(Fishing):
    """A fork of it begins anew."""

    def apply_fork(self, clone: Any, changed: frozenset[str]) -> None:
        super().apply_fork(clone, changed)
        self.stock = clone.stock


class Stubborn(Fishing):
    """Keeps the old minds."""

    def apply_fork(self, clone: Any, changed: frozenset[str]) -> None:
        minds = [fisher.mind for fisher in self.fishers]
        super().apply_fork(clone, changed)
        if "minds" in changed:
            self.fishers[1].mind = minds[1]


class Led(Fishing):
    """All decide by the mind of the first."""

    def begin_round(self) -> None:
        for fisher in self.fishers:
            fisher.mind = self.fishers[0].mind


@dataclass(frozen=True, slots=True)
class Even(Number):
    """Even numbers, whose examples are others, too."""

    def check(self, value: Any) -> int | float:
        number = Number.check(self, value)
        if number % 2:
            raise InvalidAnswer("not_a_number", found=f"{number:g}")
        return number


class Exact(Fisher):
    async def act(self) -> Decision:
        """Name the tonnes that it catches."""
        return await self.ask("act", Even(0, 10), **self.facts())


class Particular(Fishing):
    agents_are = Exact


class Patient(Fisher):
    async def act(self) -> Decision:
        """Catch again and again, until it is little."""
        tonnes = await super().act()
        while tonnes.valid and tonnes.value > 1:
            tonnes = await super().act()
        return tonnes


class Little(FairShare):
    async def answer(self, ask: Ask) -> object:
        del ask
        return 0.5


class Again(Fishing):
    """Loops in the part of an agent, in place of several actions."""

    agents_are = Patient
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": Little}


class Mistaken(Fishing):
    """Cannot be played at all."""

    def update(self) -> None:
        raise ArithmeticError("no fish")


class Trusting(Fishing):
    """Takes it for granted that there is an answer."""

    def after_act(self, fisher: Fisher, tonnes: Decision) -> None:
        fisher.catch = tonnes.value + 0


class Late(Fishing):
    """Fails in a round that short runs do not have."""

    def update(self) -> None:
        if self.round == 7:
            raise ArithmeticError("no fish")


class Pictured(Fishing):
    """Has a picture of an attribute that its agents lack."""

    pictures = (NetworkPicture("net", node=lambda fisher: Portrayal(value=fisher.boat)),)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.network = nx.path_graph(len(self.fishers))


def figures(_model: Any, model_data: Any, agent_data: Any, subtitle: str) -> dict[str, Any]:
    """The plots of `Plotted`."""
    return {"boats": (model_data["boats"], agent_data, subtitle)}


class Plotted(Fishing):
    """Has plots of a column that there is not."""

    page = ScenarioPage(figures=figures)
