"""Trading: an answer of several parts in one small scenario, as a student might write it.

Rules. All at once, traders with coins and goods buy from the shop, work for a coin or stop. They
name whom they invite, leave a note, and list their wishes. An unreadable answer does nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from sabm_mesa import ClassicalMind, SmartAgent, SmartModel, action


class Order(BaseModel):
    """Goods that a trader wants."""

    good: Literal["bread", "milk", "wood"]
    amount: int = Field(ge=0, le=5)


class Buy(BaseModel):
    """The action of buying."""

    action: Literal["buy"]
    order: Order


class Work(BaseModel):
    """The action of working for a coin."""

    action: Literal["work"]


class Stop(BaseModel):
    """No action."""

    action: Literal["stop"]


class Day(BaseModel):
    """All that a trader decides in a round."""

    act: Buy | Work | Stop
    invited: list[Literal["Ann", "Bob", "Carl"]] = Field(max_length=2)
    note: str = Field(max_length=90)
    wishes: list[Order] = Field(max_length=2)


class Thrifty(ClassicalMind):
    """Works until it has three coins, then buys bread."""

    async def answer(self, ask: Any) -> object:
        """Return a day as plain data."""
        buys = ask.facts.coins >= 3
        order = {"good": "bread", "amount": 1}
        act = {"action": "buy", "order": order} if buys else {"action": "work"}
        return {"act": act, "invited": ["Ann"], "note": "Hello.", "wishes": []}


class Trader(SmartAgent):
    """A trader with coins."""

    coins, goods, note = 2, 0, ""

    async def act(self):
        """Plan the day."""
        return await self.ask("act", Day, coins=self.coins)


class Trading(SmartModel):
    """Trading; see the docstring of the module."""

    scenario_name = "trading"
    title = "Trading"
    source = "none"
    prompt_file = Path(__file__).with_suffix(".toml")
    phases = (action(),)
    model_columns: ClassVar = {"goods": "goods", "wished": "wished"}
    agent_columns: ClassVar = {"coins": "coins", "owned": "goods", "note": "note"}
    classical_minds: ClassVar = {"default": Thrifty}

    def __init__(self, n_traders: int = 3, n_rounds: int = 2, **settings: Any) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.goods = self.wished = 0
        self.populate(Trader, n_traders)

    def after_act(self, trader: Any, day: Any) -> None:
        """Let the trader buy or work, and take its note."""
        if not day.valid:
            return
        match day.value.act:
            case Buy(order=order):
                trader.coins, trader.goods = (
                    trader.coins - order.amount,
                    trader.goods + order.amount,
                )
            case Work():
                trader.coins += 1
        trader.note = day.value.note
        self.wished += sum(wish.amount for wish in day.value.wishes)
        self.goods = sum(each.goods for each in self.agents)
