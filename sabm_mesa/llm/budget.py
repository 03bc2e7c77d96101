"""Caps on asks, tokens and dollars that stop a run before they are passed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sabm_mesa.errors import BudgetExceeded, ParameterError
from sabm_mesa.llm.client import Client, Completion, Request
from sabm_mesa.llm.prices import PriceTable

TOKENS_PER_MESSAGE = 8
ANSWER_TOKENS = 4096
"""Assumed for an answer whose length the request does not limit."""


@dataclass(slots=True)
class Spent:
    """Requests, tokens and dollars, spent or set aside."""

    asks: int = 0
    tokens: int = 0
    usd: float = 0.0

    def add(self, other: Spent, sign: int = 1) -> None:
        """Add (or, with sign -1, take away) another sum."""
        self.asks += sign * other.asks
        self.tokens += sign * other.tokens
        self.usd += sign * other.usd


@dataclass(slots=True)
class Budget:
    """Caps that hold together over all runs they are given to.

    Before a request is sent, the most it can cost is set aside; when that could pass a cap, the
    request is not sent. Tokens are counted as the server reports them; when it reports none, what
    was set aside counts as spent. Requests that were not answered are not counted.

    Attributes:
        max_usd: dollars at the most, or None.
        max_asks: requests at the most, or None.
        max_tokens: tokens sent and received at the most, or None.
        spent: what was spent.
        reserved: what is set aside for requests under way.
    """

    max_usd: float | None = None
    max_asks: int | None = None
    max_tokens: int | None = None
    spent: Spent = field(default_factory=Spent)
    reserved: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        """Refuse caps below zero."""
        for name in ("max_usd", "max_asks", "max_tokens"):
            cap = getattr(self, name)
            if cap is not None and not cap >= 0:
                raise ParameterError(f"The budget {name} has to be 0 or more (got {cap}).")

    def reserve(self, most: Spent) -> None:
        """Set the most that a request can cost aside.

        Raises:
            BudgetExceeded: when that could pass a cap.
        """
        for name, cap, unit in (
            ("asks", self.max_asks, "asks"),
            ("tokens", self.max_tokens, "tokens"),
            ("usd", self.max_usd, "dollars"),
        ):
            used, held = getattr(self.spent, name), getattr(self.reserved, name)
            if cap is not None and used + held + getattr(most, name) > cap:
                raise BudgetExceeded(
                    f"The budget of {cap:g} {unit} is used up: {used:.6g} spent{_under_way(held)}, "
                    "the next ask could pass it. "
                    "What was answered is in the recording; use a larger budget."
                )
        self.reserved.add(most)


class Budgeted:
    """Keeps the requests of a client within a budget.

    Args:
        client: the client.
        budget: the caps.
        prices: the price table, for a cap in dollars.
    """

    def __init__(self, client: Client, budget: Budget, prices: PriceTable) -> None:
        self._client, self._budget, self._prices = client, budget, prices

    async def complete(self, request: Request) -> Completion:
        """Complete a chat within the budget.

        Args:
            request: what is asked.

        Raises:
            BudgetExceeded: when the request could pass a cap.
            LLMError: what the client raises.
        """
        most = self._most(request)
        self._budget.reserve(most)
        try:
            done = await self._client.complete(request)
        finally:
            self._budget.reserved.add(most, -1)
        reported = done.prompt_tokens + done.completion_tokens
        self._budget.spent.add(
            Spent(
                1,
                reported if done.prompt_tokens else max(most.tokens, reported),
                most.usd if math.isnan(done.cost_usd) else done.cost_usd,
            )
        )
        return done

    def _most(self, request: Request) -> Spent:
        prompt = sum(_most_tokens(content) for _, content in request.messages)
        answer = request.max_tokens or ANSWER_TOKENS
        price = self._prices.of(request.model)
        if price is None and self._budget.max_usd is not None:
            raise BudgetExceeded(
                f"The price of {request.model!r} is not known, so a budget in dollars cannot be "
                "kept: list it in a price file (--prices) or give a budget in asks or tokens."
            )
        return Spent(1, prompt + answer, price.cost(prompt, 0, answer) if price else 0.0)


def _most_tokens(text: str) -> int:
    """A cautious count: one token for two letters, nearly one for each byte of other signs.

    Common languages have three to five letters a token; signs beyond ASCII have at most one token
    a byte of UTF-8.
    """
    return len(text.encode(errors="replace")) - len(text) // 2 + TOKENS_PER_MESSAGE


def _under_way(held: float) -> str:
    return f" and {held:.6g} set aside for asks under way" if held else ""
