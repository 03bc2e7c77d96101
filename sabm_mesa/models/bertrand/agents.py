"""The firms of the Bertrand competition: memory, facts and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory import Remembers
from sabm_mesa.core.answers import Decision, Text
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.models.bertrand.model import BertrandCompetition


RECENT = 20
"""Number of recent rounds that are remembered separately."""
PERIOD = 20
"""Number of rounds in a period; older rounds are remembered as averages by period."""
PERIODS = 20
"""Number of remembered periods: up to 400 rounds before the recent ones."""
STRATEGIES = 20
"""Number of remembered strategies of the firm."""
MESSAGE = Text(max_words=60, label="message")
STRATEGY = Text(max_words=60)


def period_summary(
    first: int, last: int, price: float, demand: float, profit: float, rivals: tuple[float, ...]
) -> Facts:
    """A round in the memory of a firm, or the averages of several rounds."""
    return Facts({
        "first": first, "last": last, "price": price, "demand": demand, "profit": profit,
        "rivals": rivals,
    })  # fmt: skip


class PriceHistory:
    """The rounds that a firm remembers, with bounded size and constant cost per round.

    A period consists of `PERIOD` consecutive rounds, starting at a multiple of `PERIOD`. A round
    that is no longer recent is added to the averages of its period, and the oldest period is
    dropped.

    Source: Wu et al. 2024, appendix C.2.

    Attributes:
        recent: the last `RECENT` rounds.
        periods: averages of the older rounds by period; the last one may still be incomplete.
    """

    def __init__(self) -> None:
        self.recent: tuple[Facts, ...] = ()
        self.periods: tuple[Facts, ...] = ()

    def add(self, played: Facts) -> None:
        """Remember the last round."""
        recent = (*self.recent, played)
        if len(recent) > RECENT:
            self._average(recent[0])
        self.recent = recent[-RECENT:]

    def _average(self, old: Facts) -> None:
        if old.first % PERIOD == 0:
            self.periods = (*self.periods, old)[-PERIODS:]
            return
        *earlier, period = self.periods
        weight: float = 1 / (old.last - period.first + 1)

        def mean(before: float, now: float) -> float:
            return before + weight * (now - before)

        averages = period_summary(
            first=period.first,
            last=old.last,
            price=mean(period.price, old.price),
            demand=mean(period.demand, old.demand),
            profit=mean(period.profit, old.profit),
            rivals=tuple(map(mean, period.rivals, old.rivals)),
        )
        self.periods = (*earlier, averages)


class Firm(SmartAgent):
    """A firm, which talks to the others, writes down a strategy, and sets its price.

    Args:
        model: the market.

    Attributes:
        price: its price.
        demand: the quantity it sold in the last round.
        profit: its profit in the last round.
        kept: whether it kept its price in the last round after an unreadable answer.
        memory: the remembered rounds.
        strategies: its own latest strategies, oldest first.
    """

    model: BertrandCompetition

    def __init__(self, model: BertrandCompetition) -> None:
        super().__init__(model)
        self.price = self.demand = self.profit = 0.0
        self.kept = False
        self.memory = PriceHistory()
        self.strategies: Remembers[Message] = Remembers(STRATEGIES)

    async def communicate(self) -> Decision:
        """Send a message to the other firms; later speakers hear it."""
        return await self.ask("communicate", MESSAGE, **self.facts())

    async def plan(self) -> Decision:
        """Write down a strategy, using only the statistics and earlier strategies."""
        strategies = self.strategies.recall()
        return await self.ask(
            "plan", STRATEGY, **self.facts() | {"said": (), "strategies": strategies}
        )

    async def act(self) -> Decision:
        """Set a price."""
        return await self.ask("act", self.model.legal_price, **self.facts())

    def facts(self) -> dict[str, Any]:
        """Facts of the firm: its results, all prices, its strategy, and the messages of the round.

        It does not know the demand and profit of others; only `informed` minds know the ``market``
        (`Market.figures`), and all rules the highest price that they set.
        """
        model, me = self.model, self.unique_id
        return {
            "firm": me,
            "name": model.names[me - 1],
            "names": model.names,
            "rivals": ", ".join(model.names[: me - 1] + model.names[me:]),
            "n_firms": model.n_firms,
            "round": model.round,
            "cost": model.market.cost,
            "high": model.highest_price,
            "condition": model.condition,
            "communication": model.communication,
            "plans_first": model.plans_first,
            "plan_every": model.plan_every,
            "periods": self.memory.periods,
            "recent": self.memory.recent,
            "said": self.conversation(),
            "strategies": self.strategies.recall(1),
            "market": model.market.figures if "market" in self.mind.informed else None,
        }
