"""Sugarscape: traders on a grid gather sugar and spice, need both, and trade them.

Rules. Sugar grows in the west of a torus and spice in the east, one unit more a round up to 4. Each
trader needs 1 to 4 of either a round. One after another moves to the next patch, offers a trade to
somebody near, or rests; then all accept any of their offers, which hold where both can pay. Each
gathers what is on its patch and uses up what it needs, or dies. An unreadable answer means to rest,
or to accept nothing. ``price`` is the geometric mean of spice for one sugar. Classical minds have
Cobb-Douglas welfare with the needs as weights, as in Epstein and Axtell (1996, chapter IV).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid

import sabm_mesa as sabm
from sabm_mesa import Choice, Decision, Fields, Number, OneOf, Phase, Portrayal, Several

WAYS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
GIVE, UNITS = Choice(("sugar", "spice")), Number(1, 5, integer=True)
Goods = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scape(sabm.Observation):
    """Knowledge of a trader: its goods and needs, patches, traders near by, and their offers."""

    has: Goods
    needs: Goods
    around: dict[str, Goods]
    near: dict[str, Goods]
    offers: dict[str, Goods]

    def placeholders(self, book: Any) -> dict[str, object]:
        """The facts in words."""
        facts = {"has": {"": self.has}, "needs": {"": self.needs}}
        facts |= {"around": self.around, "near": self.near, "offers": self.offers}
        return {**sabm.Observation.placeholders(self, book), **{
            fact: "; ".join(f"{who} {a} sugar, {b} spice" for who, (a, b) in goods.items())
            for fact, goods in facts.items()}}  # fmt: skip


class CobbDouglas(sabm.ClassicalMind):
    """Trades and moves as its welfare says (Epstein and Axtell 1996, chapter IV)."""

    async def answer(self, ask: Any) -> object:
        """Return what to do, or whose offers to accept."""
        seen, (n, m) = ask.observation, ask.observation.needs

        def welfare(more: Goods) -> float:
            a, b = (max(0, h + g) for h, g in zip(seen.has, more, strict=True))
            return float(a ** (n / (n + m)) * b ** (m / (n + m)))

        if ask.name == "reply":
            return [name for name, goods in seen.offers.items() if welfare(goods) > welfare((0, 0))]
        rate = (seen.has[1] + 1) * n / ((seen.has[0] + 1) * m)
        much, amount = int(rate > 1), round(min(5, max(rate, 1 / rate) ** 0.5))
        for name, goods in seen.near.items():
            if goods[1 - much] > goods[much] and seen.has[much] > amount:
                offer = {"give": GIVE.options[much], "amount": amount, "want": 1}
                return {"trade": {"partner": name, **offer}}
        best = max(seen.around, key=lambda way: welfare(seen.around[way]))
        return "rest" if best == "here" else {"move": {"to": best}}


class Trader(sabm.SmartAgent, CellAgent):  # type: ignore[misc]  # Mesa declares `cell` twice
    """A trader with sugar and spice."""

    model: Sugarscape
    columns: ClassVar = {"sugar": "sugar", "spice": "spice"}

    def __init__(self, model: Sugarscape) -> None:
        super().__init__(model)
        self.name, self.offers = f"T{self.unique_id}", dict[str, Goods]()
        self.cell = model.grid[tuple(map(int, model.rng.integers(model.size, size=2)))]
        self.needs = tuple(map(int, model.rng.integers(1, 5, size=2)))
        self.sugar, self.spice = map(int, model.rng.integers(5, 15, size=2))

    def see(self, **seen: Any) -> Scape:
        """Return its observation."""
        known = {"has": (self.sugar, self.spice), "around": {}, "near": {}, "offers": {}, **seen}
        return Scape(needs=self.needs, persona=self.persona, **known)

    async def act(self) -> Decision:
        """Move, offer a trade, or rest."""
        near = {trader.name: (trader.sugar, trader.spice) for trader in self.model.near(self, 1)}
        cells = {way: self.cell.connections[WAYS[way]] for way in WAYS} | {"here": self.cell}
        around = {way: self.model.goods(cell) for way, cell in cells.items()}
        options = {"move": Fields(to=Choice(tuple(WAYS))), "rest": Fields()}
        if near:
            who = Choice(tuple(near))
            options["trade"] = Fields(partner=who, give=GIVE, amount=UNITS, want=UNITS)
        return await self.ask("act", OneOf(**options), self.see(around=around, near=near))

    async def reply(self) -> Decision:
        """Accept any of the offers."""
        spec = Several(Choice(tuple(self.offers)))
        return await self.ask("reply", spec, self.see(offers=dict(self.offers)))


class Sugarscape(sabm.SmartModel):
    """Traders of sugar and spice; see the docstring of the module."""

    scenario_name, title = "sugarscape", "Sugarscape with trade"
    source = "Epstein and Axtell 1996, Growing Artificial Societies, chapter IV"
    prompt_file = Path(__file__).with_name("sugarscape.toml")
    phases = (  # those near by, and those that have come to be or will be
        Phase("act", order="shuffled", reach=lambda model, trader: model.near(trader, 3)),
        Phase("reply", who=lambda model: [t for t in model.agents if t.offers]))  # fmt: skip
    model_columns: ClassVar = {"traders": "traders", "trades": "trades", "price": "price"}
    classical_minds: ClassVar = {"default": CobbDouglas}
    pictures = (sabm.SpacePicture("land", "The land", of="grid", portray=lambda trader:
                Portrayal("#0072B2" if trader.sugar > trader.spice else "#D55E00")),)  # fmt: skip

    def __init__(self, n_traders: Annotated[int, Ge(2)] = 20, size: Annotated[int, Ge(4)] = 10,
                 n_rounds: int = 15, **settings: Any) -> None:  # fmt: skip
        super().__init__(n_rounds=n_rounds, **settings)
        self.size, self.traders, self.trades, self.price = size, n_traders, 0, np.nan
        self.prices: list[float] = []
        self.grid = OrthogonalMooreGrid((size, size), torus=True, random=self.random)
        west = 2 * np.cos(2 * np.pi * np.arange(size) / size)[:, None] * np.ones(size)
        self.most = np.round([2 + west, 2 - west]).astype(int)
        self.grown = self.most + 0
        self.populate(Trader, n_traders)

    def goods(self, cell: Any) -> Any:
        """The sugar and spice on a patch."""
        return tuple(map(int, self.grown[:, *cell.coordinate]))

    def near(self, trader: Trader, far: int) -> list[Trader]:
        """The other traders at most this many patches away, in each direction, by their ids."""
        there = set(trader.cell.get_neighborhood(far, include_center=True).agents)
        return [agent for agent in self.agents if agent in there and agent is not trader]

    def after_act(self, trader: Trader, decision: Decision) -> None:
        """Move the trader, or hand its offer to its partner."""
        match decision.value:
            case {"move": {"to": way}}:
                trader.cell = trader.cell.connections[WAYS[way]]
            case {"trade": {"partner": name, "give": give, "amount": amount, "want": want}}:
                (partner,) = (other for other in self.near(trader, 1) if other.name == name)
                partner.offers[trader.name] = (amount, -want)[:: 1 if give == "sugar" else -1]

    def after_reply(self, trader: Trader, decision: Decision) -> None:
        """Carry out the trades that both can pay."""
        for other in [agent for agent in self.agents if agent.name in (decision.value or ())]:
            a, b = trader.offers[other.name]
            if min(trader.sugar + a, trader.spice + b, other.sugar - a, other.spice - b) >= 0:
                trader.sugar, trader.spice = trader.sugar + a, trader.spice + b
                other.sugar, other.spice = other.sugar - a, other.spice - b
                self.prices.append(abs(b / a))

    def update(self) -> None:
        """Let everybody gather and use up goods, traders die and patches grow; measure."""
        for agent in list(self.agents):
            (sugar, spice), agent.offers = self.goods(agent.cell), {}
            self.grown[:, *agent.cell.coordinate] = 0
            agent.sugar += sugar - agent.needs[0]
            agent.spice += spice - agent.needs[1]
            if min(agent.sugar, agent.spice) < 0:
                agent.remove()
        self.grown = np.minimum(self.most, self.grown + 1)
        self.price = float(np.exp(np.mean(np.log(self.prices)))) if self.prices else np.nan
        self.traders, self.trades, self.prices = len(self.agents), len(self.prices), []
