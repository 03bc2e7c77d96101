"""A market with births: growers put a price on bread, eaters choose where they buy.

Rules. Each of ``n_growers`` growers bakes ``harvest`` loaves a day and asks a price from 0.1 to 10
coins, all at once. Then the eaters, at first ``n_eaters``, shop one after another in random order:
each earns 5 coins a day, names a grower, and buys there as many loaves as it can pay and carry (4).
A loaf gives 1 of strength, a day takes 2. At strength 0 an eater leaves; above 10 it has a child
with half of its strength and coins. Unsold loaves spoil. Without a readable answer, a grower keeps
its price, and an eater buys nothing. Measures are the mean price, the loaves sold, and the eaters.

Classical minds. Growers raise their price by a tenth when they sold out and lower it by a tenth
when they did not (tatonnement, Walras 1874); eaters buy at the lowest price.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from sabm_mesa import (
    Choice,
    ClassicalMind,
    Decision,
    Number,
    Phase,
    Score,
    SmartAgent,
    SmartModel,
)

PRICE, INCOME, CARRIED, NEEDED, BIRTH = Number(0.1, 10), 5.0, 4, 2, 10


class Tatonnement(ClassicalMind):
    """Raises the price by a tenth when all was sold, and lowers it else (Walras 1874)."""

    async def answer(self, ask: Any) -> float:
        """Return the price of today."""
        facts = ask.facts
        price = facts.price * (1.1 if facts.sold == facts.harvest else 0.9)
        return round(min(max(price, PRICE.low), PRICE.high), 2)


class Cheapest(ClassicalMind):
    """Buys at the lowest price, of the first grower that asks it."""

    async def answer(self, ask: Any) -> str:
        """Return the grower."""
        offers: dict[str, float] = ask.facts.offers
        return min(offers, key=lambda grower: offers[grower])


class Grower(SmartAgent):
    """A grower with a price."""

    model: Market
    columns = ("price", "sold", "earned")
    classical_minds: ClassVar = {"default": Tatonnement}
    scenario_prompt = "grower"
    price, sold, earned = 2.0, 0, 0.0

    async def offer(self) -> Decision:
        """Put a price on a loaf."""
        model = self.model
        return await self.ask(
            "offer",
            PRICE,
            n_eaters=model.eaters,
            n_rivals=len(model.growers) - 1,
            harvest=model.harvest,
            price=self.price,
            sold=self.sold,
            lowest=min(grower.price for grower in model.growers),
        )


class Eater(SmartAgent):
    """An eater with strength and coins."""

    model: Market
    columns = ("energy", "money")
    classical_minds: ClassVar = {"default": Cheapest}
    scenario_prompt = "eater"
    energy, money = 6, INCOME

    async def shop(self) -> Decision:
        """Choose a grower among those that have bread left; one of all when none has."""
        growers = self.model.growers
        growers = [grower for grower in growers if grower.sold < self.model.harvest] or growers
        offers = {str(grower.unique_id): round(grower.price, 2) for grower in growers}
        return await self.ask(
            "shop",
            Choice(tuple(offers)),
            energy=self.energy,
            money=round(self.money, 2),
            offers=offers,
            income=INCOME,
            birth=BIRTH,
        )


class Market(SmartModel):
    """A market with births; see the docstring of the module."""

    title, source = "A market with births", "Walras 1874"
    prompt_file = Path(__file__).with_name("market.toml")
    phases = (Phase("offer", who=Grower), Phase("shop", who=Eater, order="shuffled"))
    model_columns: ClassVar = {"mean_price": "price", "bread_sold": "sold", "eaters": "eaters"}
    score = Score("Coins earned in a run", "n_growers", column="earned", of="Grower")

    def __init__(
        self,
        n_growers: Annotated[int, Ge(1)] = 3,
        n_eaters: Annotated[int, Ge(0)] = 6,
        harvest: Annotated[int, Ge(1)] = 8,
        n_rounds: int = 12,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.harvest, self.price, self.sold, self.eaters = harvest, Grower.price, 0, n_eaters
        self.growers, _ = self.populate({Grower: n_growers, Eater: n_eaters})

    def after_offer(self, grower: Grower, price: Decision) -> None:
        """Take over the price; nothing is sold yet."""
        grower.price, grower.sold = price.value if price.valid else grower.price, 0

    def after_shop(self, eater: Eater, choice: Decision) -> None:
        """Sell what the eater can pay and carry, and there is."""
        for grower in [g for g in self.growers if str(g.unique_id) == choice.value]:
            loaves = min(CARRIED, self.harvest - grower.sold, int(eater.money / grower.price))
            eater.energy, eater.money = eater.energy + loaves, eater.money - loaves * grower.price
            grower.sold += loaves

    def update(self) -> None:
        """Pay the incomes, and let eaters die or have children; measure."""
        for grower in self.growers:
            grower.earned = grower.sold * grower.price
        for eater in [agent for agent in self.agents if isinstance(agent, Eater)]:
            eater.energy, eater.money = eater.energy - NEEDED, eater.money + INCOME
            if eater.energy <= 0:
                eater.remove()
            elif eater.energy > BIRTH:
                child = self.born(Eater, of=eater)
                child.energy, child.money = eater.energy // 2, eater.money / 2
                eater.energy, eater.money = eater.energy - child.energy, child.money
        self.eaters = sum(isinstance(agent, Eater) for agent in self.agents)
        self.price = sum(grower.price for grower in self.growers) / len(self.growers)
        self.sold = sum(grower.sold for grower in self.growers)
