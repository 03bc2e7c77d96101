"""The firms of the Bertrand competition: memory, observation and decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory import Remembers
from sabm_mesa.core.answers import Decision, Text
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message
from sabm_mesa.models.bertrand.theory import Market

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.bertrand.model import BertrandCompetition


# The memory of a firm.

RECENT = 20
"""Number of recent rounds that are remembered separately."""
PERIOD = 20
"""Number of rounds in a period; older rounds are remembered as averages by period."""
PERIODS = 20
"""Number of remembered periods: up to 400 rounds before the recent ones."""
STRATEGIES = 20
"""Number of remembered strategies of the firm."""
LINES = 2000
"""Maximum number of cached prompt lines, enough for fifty firms."""
MESSAGE = Text(max_words=60, label="message")
STRATEGY = Text(max_words=60)


@dataclass(frozen=True, slots=True)
class PeriodSummary:
    """A round in the memory of a firm, or the averages of several rounds.

    Attributes:
        first: the first round.
        last: the last round.
        price: own price.
        demand: own demand.
        profit: own profit.
        rivals: prices of the other firms, in the order of their numbers.
    """

    first: int
    last: int
    price: float
    demand: float
    profit: float
    rivals: tuple[float, ...]


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
        self.recent: tuple[PeriodSummary, ...] = ()
        self.periods: tuple[PeriodSummary, ...] = ()

    def add(self, played: PeriodSummary) -> None:
        """Remember the last round."""
        recent = (*self.recent, played)
        if len(recent) > RECENT:
            self._average(recent[0])
        self.recent = recent[-RECENT:]

    def _average(self, old: PeriodSummary) -> None:
        if old.first % PERIOD == 0:
            self.periods = (*self.periods, old)[-PERIODS:]
            return
        *earlier, period = self.periods
        weight = 1 / (old.last - period.first + 1)

        def mean(before: float, now: float) -> float:
            return before + weight * (now - before)

        averages = PeriodSummary(
            first=period.first,
            last=old.last,
            price=mean(period.price, old.price),
            demand=mean(period.demand, old.demand),
            profit=mean(period.profit, old.profit),
            rivals=tuple(map(mean, period.rivals, old.rivals)),
        )
        self.periods = (*earlier, averages)


@dataclass(frozen=True, slots=True)
class Strategy:
    """A written strategy of a firm.

    Attributes:
        round: the round in which it was written.
        text: its words.
    """

    round: int
    text: str


# The observation and the decisions of a firm.


@dataclass(frozen=True, slots=True)
class FirmView(Observation):
    """The observation of a firm: its results, all prices, and the messages of this round.

    It does not include the demand and profit of others; only `market` includes the demand system.

    Attributes:
        firm: its own number, from 1.
        names: the names of all firms, in the order of their numbers.
        round: the round, from 0.
        cost: its unit cost.
        low: the lowest price that classical firms set: the cost.
        high: the highest price that classical firms set (`Benchmarks.highest_price`).
        condition: the condition of the run.
        communication: whether the firms talk.
        plans_first: whether the firms plan before they talk.
        plans_always: whether they plan in every round.
        periods: averages of older rounds by period, oldest first.
        recent: the last rounds, oldest first.
        said: the messages of this round so far; empty when it plans.
        strategies: its own latest strategies, oldest first.
        market: the demand system for `informed` minds, otherwise None.
    """

    firm: int
    names: tuple[str, ...]
    round: int
    cost: float
    low: float
    high: float
    condition: str
    communication: bool
    plans_first: bool
    plans_always: bool
    periods: tuple[PeriodSummary, ...]
    recent: tuple[PeriodSummary, ...]
    said: tuple[Message, ...]
    strategies: tuple[Strategy, ...]
    market: Market | None = None

    @property
    def rivals(self) -> tuple[str, ...]:
        """The names of the other firms."""
        return self.names[: self.firm - 1] + self.names[self.firm :]

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value; `market` has none.

        Args:
            book: the prompts of the run.
        """
        common: dict[str, object] = {
            "name": self.names[self.firm - 1],
            "rivals": ", ".join(self.rivals),
            "n_firms": len(self.names),
            "cost": figure(self.cost),
            "low": figure(self.low),
            "high": figure(self.high),
            "round": self.round,
        }
        others = "one" if len(self.rivals) == 1 else "several"
        talk = "plan_first" if self.plans_first else "talk"
        structure = f"structure_{talk}" if self.communication else "structure_no_talk"
        often = "always" if self.plans_always else "sometimes"
        common["plans"] = book.render(f"plans_{often}", common)
        common["ahead"] = book.render(f"ahead_{often}", common)
        return common | {
            "others": book.render(f"others_{others}", common),
            "structure": book.render(structure, common),
            "attitude": book.render("attitude", common),
            "persona": book.persona(self.persona),
            "statistics": self._statistics(book),
            "conversation": self._conversation(book) if self.communication else "",
            "strategy": self._strategy(book),
            "strategies": "\n".join(
                book.render(
                    "strategy_of",
                    {"round": strategy.round, "text": self._quote(book, strategy.text)},
                )
                for strategy in self.strategies
            )
            or book.render("strategy_none", common),
        }

    def _quote(self, book: PromptBook, text: str) -> str:
        return book.quote(text, self.names)

    def _strategy(self, book: PromptBook) -> str:
        if not self.strategies:
            return ""
        return book.render("strategy", {"text": self._quote(book, self.strategies[-1].text)})

    def _statistics(self, book: PromptBook) -> str:
        prices = ", ".join(book.render("price_of", {"rival": rival}) for rival in self.rivals)
        blocks = []
        for name, summaries in (("periods", self.periods), ("rounds", self.recent)):
            lines = [_line(book, f"{name}_line", summary) for summary in summaries]
            if lines:
                blocks.append("\n".join([book.render(f"{name}_head", {"prices": prices}), *lines]))
        return "\n\n".join(blocks)

    def _conversation(self, book: PromptBook) -> str:
        lines = [
            book.render(
                "said_own" if message.sender == self.firm else "said_other",
                {
                    "speaker": self.names[message.sender - 1],
                    "text": self._quote(book, message.text),
                },
            )
            for message in book.quoted_in_order(self.said)
        ]
        text = "\n".join(lines) or book.render("said_nothing", {})
        return book.render("conversation", {"said": text})


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
        self.strategies: Remembers[Strategy] = Remembers(STRATEGIES)

    async def communicate(self) -> Decision:
        """Send a message to the other firms; later speakers hear it."""
        return await self.ask("communicate", MESSAGE, self.observe())

    async def plan(self) -> Decision:
        """Write down a strategy, using only the statistics and earlier strategies."""
        return await self.ask("plan", STRATEGY, replace(self.observe(STRATEGIES), said=()))

    async def act(self) -> Decision:
        """Set a price."""
        return await self.ask("act", self.model.legal_price, self.observe())

    def observe(self, n_strategies: int = 1) -> FirmView:
        """Return what the firm knows now.

        Args:
            n_strategies: number of its latest strategies to include.
        """
        model = self.model
        return FirmView(
            firm=self.unique_id,
            names=model.names,
            round=model.round,
            cost=model.market.cost,
            low=model.market.cost,
            high=model.highest_price,
            condition=model.condition,
            communication=model.communication,
            plans_first=model.plans_first,
            plans_always=model.plan_every == 1,
            periods=self.memory.periods,
            recent=self.memory.recent,
            said=self.conversation(),
            strategies=self.strategies.recall(n_strategies),
            market=model.market if "market" in self.mind.informed else None,
            persona=self.persona,
        )


def figure(value: float) -> str:
    """Format a number for the prompts: five digits, never an exponent or a negative zero."""
    if abs(value) >= 99_999.5:
        return f"{value:.0f}"
    if abs(value) >= 1e-4:
        return f"{value:.5g}"
    return f"{round(value, 4) + 0.0:.4f}".rstrip("0").rstrip(".")


@lru_cache(LINES)
def _line(book: PromptBook, entry: str, summary: PeriodSummary) -> str:
    """The prompt line of a round or a period, cached."""
    values = {
        "first": summary.first,
        "last": summary.last,
        "price": figure(summary.price),
        "demand": figure(summary.demand),
        "profit": figure(summary.profit),
        "rivals": ", ".join(map(figure, summary.rivals)),
    }
    return book.render(entry, values)
