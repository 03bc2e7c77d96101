"""The firms of the Bertrand competition: what they see and do."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.bertrand_memory import Memory, Stretch
from sabm_mesa.analysis.theory.bertrand import Market
from sabm_mesa.asks import Observation
from sabm_mesa.decisions import Decision, Text

if TYPE_CHECKING:
    from sabm_mesa.models.bertrand_competition import BertrandCompetition
    from sabm_mesa.prompts import PromptBook

STRATEGIES = 20
"""Own strategies that are remembered."""
MESSAGE = Text(max_words=60)
STRATEGY = Text(max_words=60)


class Message(NamedTuple):
    """What one firm said to the others.

    Attributes:
        speaker: the number of the firm, from 1.
        text: the words.
    """

    speaker: int
    text: str


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy that a firm wrote down.

    Attributes:
        round: the round in which it was written.
        text: the words.
    """

    round: int
    text: str


@dataclass(frozen=True, slots=True)
class FirmView(Observation):
    """What a firm knows: its own results, all prices, and what was said in this round.

    It does not hold the demand or profit of others, nor how demand comes about, but for `market`.

    Attributes:
        firm: its own number, from 1.
        names: the names of all firms, in the order of their numbers.
        round: the round, from 0.
        cost: its cost of a unit.
        low: the lowest price it may set.
        high: the highest price it may set.
        condition: the condition of the run.
        communication: whether the firms talk.
        plans_first: whether the firms plan before they talk.
        periods: averages of older rounds by period, oldest first.
        recent: the last rounds, oldest first.
        said: what was said in this round so far; nothing when it plans.
        strategies: its own latest strategies, oldest first.
        market: the demand system, for the minds of theory that are said to know it; else None.
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
    periods: tuple[Stretch, ...]
    recent: tuple[Stretch, ...]
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
                    "strategy_of", {"round": each.round, "text": self._quote(book, each.text)}
                )
                for each in self.strategies
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
        for name, stretches in (("periods", self.periods), ("rounds", self.recent)):
            lines = [book.render(f"{name}_line", _line(stretch)) for stretch in stretches]
            if lines:
                blocks.append("\n".join([book.render(f"{name}_head", {"prices": prices}), *lines]))
        return "\n\n".join(blocks)

    def _conversation(self, book: PromptBook) -> str:
        lines = [
            book.render(
                "said_own" if message.speaker == self.firm else "said_other",
                {
                    "speaker": self.names[message.speaker - 1],
                    "text": self._quote(book, message.text),
                },
            )
            for message in self.said
        ]
        said = "\n".join(lines) or book.render("said_nothing", {})
        return book.render("conversation", {"said": said})


class Firm(SmartAgent):
    """A firm: talks to the others, writes down a strategy, and sets its price.

    Args:
        model: the market.

    Attributes:
        price: its price.
        demand: the quantity it sold in the last round.
        profit: its profit in the last round.
        kept: whether it kept its price in the last round because its answer could not be used.
        memory: what it remembers of the past.
        strategies: its own latest strategies, oldest first.
    """

    model: BertrandCompetition

    def __init__(self, model: BertrandCompetition) -> None:
        super().__init__(model)
        self.price = self.demand = self.profit = 0.0
        self.kept = False
        self.memory = Memory()
        self.strategies: deque[Strategy] = deque(maxlen=STRATEGIES)

    async def communicate(self) -> Decision:
        """Say something to the other firms; later speakers hear it."""
        return await self.ask("communicate", MESSAGE, self.observe())

    async def plan(self) -> Decision:
        """Write down a strategy, from the statistics and its earlier strategies alone."""
        return await self.ask("plan", STRATEGY, replace(self.observe(STRATEGIES), said=()))

    async def act(self) -> Decision:
        """Set a price."""
        return await self.ask("act", self.model.legal_price, self.observe())

    def observe(self, n_strategies: int = 1) -> FirmView:
        """What the firm knows now.

        Args:
            n_strategies: how many of its latest strategies it looks at.
        """
        model = self.model
        return FirmView(
            firm=self.unique_id,
            names=model.names,
            round=model.round,
            cost=model.market.cost,
            low=model.legal_price.low,
            high=model.legal_price.high,
            condition=model.condition,
            communication=model.communication,
            plans_first=model.plans_first,
            periods=tuple(self.memory.periods),
            recent=tuple(self.memory.recent),
            said=tuple(model.said),
            strategies=tuple(self.strategies)[-n_strategies:],
            market=model.market if getattr(self.mind, "informed", False) else None,
            persona=self.persona,
        )


def figure(value: float) -> str:
    """A number with five digits, as the firms are told it; never with an exponent."""
    if abs(value) >= 99_999.5:
        return f"{value:.0f}"
    return f"{value:.5g}" if abs(value) >= 1e-4 else f"{value:.4f}".rstrip("0").rstrip(".")


def _line(stretch: Stretch) -> dict[str, object]:
    return {
        "first": stretch.first,
        "last": stretch.last,
        "price": figure(stretch.price),
        "demand": figure(stretch.demand),
        "profit": figure(stretch.profit),
        "rivals": ", ".join(map(figure, stretch.rivals)),
    }
