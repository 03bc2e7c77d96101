"""Negotiation: sellers of two brands pitch their goods, buyers walk, ask, and buy.

Rules. Two sellers stand side by side on a square of ``size`` x ``size`` places: A sells shoes for
$40 and tracksuits for $50, B for $35 and $47. ``n_buyers`` buyers, with $50 or $100, begin at
random places. In a round each seller may say something to one buyer in sight (on its place or
around it). Then each buyer may act up to three times: walk to a place, say something to a seller in
sight, buy there, or wait, which ends its turn, as does an unreadable answer. All come in random
order, and what a buyer cannot pay is not sold.

Measures. ``sales_A`` and ``sales_B`` (goods sold so far), ``earned`` (dollars of both sellers).

Classical minds. Sellers name their prices to the first buyer in sight. Buyers walk to a random
place until they see a seller, and buy the cheapest good that they do not have and can pay.

The model is a port of an example of mesa-llm; see the guide "From LLMAgent to SmartAgent".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid

from sabm_mesa import (
    AnswerSpec,
    Choice,
    ClassicalMind,
    Decision,
    Fields,
    Number,
    Observation,
    OneOf,
    Phase,
    Portrayal,
    Remembers,
    SmartAgent,
    SmartModel,
    SpacePicture,
    Text,
)  # fmt: skip

PRICES = {"A": {"shoes": 40, "tracksuit": 50}, "B": {"shoes": 35, "tracksuit": 47}}
WORDS = Text(max_words=40)


@dataclass(frozen=True, slots=True)
class Pitch(Observation):
    """Knowledge of a seller: its brand and prices, and the buyers in sight."""

    brand: str
    goods: str
    buyers: str


@dataclass(frozen=True, slots=True)
class Stroll(Observation):
    """Knowledge of a buyer: its place, money and goods, and what is sold in sight."""

    place: str
    size: int
    money: int
    owned: str
    offers: str


class PriceList(ClassicalMind):
    """Names its prices to the first buyer in sight."""

    async def answer(self, ask: Any) -> Any:
        """Return the pitch."""
        seen = ask.observation
        first = seen.buyers.split(", ")[0]
        return {"speak": {"to": first, "text": f"I sell {seen.goods}."}} if first else "wait"


class Bargain(ClassicalMind):
    """Walks until it sees a seller, and buys what is cheapest there."""

    async def answer(self, ask: Any) -> Any:
        """Return what it does."""
        seen = ask.observation
        if not seen.offers:
            x, y = ask.rng.integers(seen.size, size=2).tolist()
            return {"walk": {"x": x, "y": y}}
        offers = dict(offer.split(" for $") for offer in seen.offers.split(", "))
        wanted = [good for good in offers if good.split()[1] not in seen.owned]
        payable = [good for good in wanted if int(offers[good]) <= seen.money]
        cheapest = min(payable, key=lambda good: int(offers[good]), default="")
        return {"buy": {"good": cheapest}} if cheapest else "wait"


class Trader(CellAgent, SmartAgent):
    """A person on a place, who remembers what was said to it."""

    model: Negotiation
    memory = Remembers(last=8)
    name = ""

    def in_sight(self, kind: type[Trader]) -> dict[str, Any]:
        """Name → trader of a kind on its place and around it."""
        there = [*self.cell.get_neighborhood(include_center=True).agents]
        there.sort(key=lambda trader: trader.unique_id)
        return {trader.name: trader for trader in there if isinstance(trader, kind)}


class Seller(Trader):
    """A seller of one brand."""

    classical_minds: ClassVar = {"default": PriceList}
    columns: ClassVar = {"sales": "sales"}
    scenario_prompt = "seller"
    brand, sales = "", 0

    async def pitch(self) -> Decision:
        """Say something to a buyer in sight, or wait."""
        buyers = self.in_sight(Buyer)
        options: dict[str, AnswerSpec] = {"wait": Fields()}
        if buyers:
            options["speak"] = Fields(to=Choice(tuple(buyers)), text=WORDS)
        goods = ", ".join(f"{good} for ${price}" for good, price in PRICES[self.brand].items())
        seen = Pitch(self.brand, goods, ", ".join(buyers), persona=self.persona)
        return await self.ask("pitch", OneOf(**options), seen)


class Buyer(Trader):
    """A buyer with money."""

    classical_minds: ClassVar = {"default": Bargain}
    columns: ClassVar = {"money": "money", "owned": "owned"}
    scenario_prompt = "buyer"
    money, owned, done = 50, "", False

    async def shop(self) -> Decision:
        """Walk, say something, buy, or wait."""
        sellers, size = self.in_sight(Seller), self.model.size
        offers = {
            f"{seller.brand} {good}": price
            for seller in sellers.values()
            for good, price in PRICES[seller.brand].items()
        }
        step = Number(0, size - 1, integer=True)
        options: dict[str, AnswerSpec] = {"wait": Fields(), "walk": Fields(x=step, y=step)}
        if sellers:
            options["speak"] = Fields(to=Choice(tuple(sellers)), text=WORDS)
            options["buy"] = Fields(good=Choice(tuple(offers)))
        listed = ", ".join(f"{good} for ${price}" for good, price in offers.items())
        cell = "({}, {})".format(*self.cell.coordinate)
        seen = Stroll(cell, size, self.money, self.owned, listed, persona=self.persona)
        return await self.ask("shop", OneOf(**options), seen)


def look(trader: Trader) -> Portrayal:
    """The look of a trader in the picture."""
    if isinstance(trader, Seller):
        return Portrayal("#D55E00", "seller", 0.8, "s", trader.brand)
    return Portrayal("#56B4E9", "buyer", text=f"${trader.money}")


class Negotiation(SmartModel):
    """Sellers of two brands and buyers; see the docstring of the module."""

    scenario_name = "negotiation"
    title = "Negotiation"
    source = "example of mesa-llm (mesa/mesa-llm, 2025)"
    prompt_file = Path(__file__).with_name("negotiation.toml")
    phases = (
        Phase("pitch", who=Seller, order="shuffled"),
        Phase("shop", who=Buyer, order="shuffled", at_most=3, until=lambda _, buyer: buyer.done),
    )
    model_columns: ClassVar = {"sales_A": "sales_a", "sales_B": "sales_b", "earned": "earned"}
    pictures = (SpacePicture("square", "The square", portray=look),)

    def __init__(
        self,
        n_buyers: Annotated[int, Ge(1)] = 6,
        size: Annotated[int, Ge(3)] = 6,
        n_rounds: int = 10,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.size, self.earned = size, 0
        self.grid = OrthogonalMooreGrid((size, size), random=self.random)
        sellers, buyers = self.populate({Seller: 2, Buyer: n_buyers})
        for seller, brand in zip(sellers, PRICES, strict=True):
            seller.brand, seller.name = brand, f"Seller {brand}"
            seller.cell = self.grid[size // 2, size // 2 - (brand == "A")]
        for buyer, at in zip(buyers, self.rng.integers(size, size=(n_buyers, 2)), strict=True):
            buyer.name, buyer.cell = f"Buyer {buyer.unique_id}", self.grid[tuple(at.tolist())]
            buyer.money = 50 if buyer.unique_id % 2 else 100
        self.sellers = {seller.brand: seller for seller in sellers}
        self.update()

    def tell(self, sender: Trader, kind: type[Trader], message: Any) -> None:
        """Let the one that is spoken to hear and remember it."""
        hearer = sender.in_sight(kind)[message.to]
        self.say(sender, message.text, to=hearer)
        hearer.memory.add(f"{sender.name} said to you: {message.text}")

    def begin_round(self) -> None:
        """Let all buyers act again."""
        for buyer in self.agents_by_type[Buyer]:
            buyer.done = False

    def after_pitch(self, seller: Seller, decision: Decision) -> None:
        """Say what the seller says."""
        if decision.valid and decision.value.name == "speak":
            self.tell(seller, Buyer, decision.value.fields)

    def after_shop(self, buyer: Buyer, did: Decision) -> None:
        """Do what the buyer does; waiting ends its turn, and what it cannot pay is not sold."""
        match did.value:
            case {"walk": {"x": x, "y": y}}:
                buyer.cell = self.grid[x, y]
            case {"speak": message}:
                self.tell(buyer, Seller, message)
            case {"buy": {"good": good}}:
                brand, kind = good.split()
                if buyer.money >= (price := PRICES[brand][kind]):
                    buyer.money -= price
                    buyer.owned = ", ".join(filter(None, (buyer.owned, good)))
                    self.sellers[brand].sales += 1
                    self.earned += price
            case _:
                buyer.done = True

    def update(self) -> None:
        """Count the sales."""
        self.sales_a, self.sales_b = (self.sellers[brand].sales for brand in PRICES)
