"""Caps on asks, tokens and dollars that stop a run before they are passed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BudgetExceeded, ParameterError
from sabm_mesa.llm.client import Client, Completion, Request
from sabm_mesa.llm.prices import Price, PriceTable

TOKENS_PER_MESSAGE = 8
CAPS = ("max_usd", "max_asks", "max_tokens")
ANSWER_TOKENS = 4096
"""Assumed for an answer whose length the request does not limit."""


@dataclass(slots=True)
class Budget:
    """Caps that hold together over all runs they are given to.

    Before a request is sent, the most it can cost is set aside; when that could pass a cap, the
    request is not sent. Tokens are counted as the server reports them; when it reports none, what
    was set aside counts as spent. Requests that were not answered are not counted, and one with
    several answers counts as so many asks.

    Attributes:
        max_usd: dollars at most, or None.
        max_asks: requests at most, or None.
        max_tokens: tokens sent and received at most, or None.
        spent: the amount spent.
        reserved: the amount set aside for requests under way.
        waiting: requests that wait for those under way.
    """

    max_usd: float | None = None
    max_asks: int | None = None
    max_tokens: int | None = None
    spent: Usage = field(default_factory=Usage)
    reserved: Usage = field(default_factory=Usage)
    waiting: list[asyncio.Future[None]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        """Refuse caps below zero."""
        for name in CAPS:
            cap = getattr(self, name)
            if cap is not None and not cap >= 0:
                raise ParameterError(
                    f"The budget {name} has to be 0 or more (got {cap}).", parameter=name
                )

    def after(self, spent: Usage) -> Budget:
        """A budget with the same caps of which something is spent: by runs that are resumed.

        Args:
            spent: the amount they have spent.
        """
        return Budget(self.max_usd, self.max_asks, self.max_tokens, spent)

    async def reserve(self, most: Usage) -> None:
        """Set the most that a request can cost aside.

        When it fits only after requests under way have cost less than was set aside for them,
        their end is awaited first.

        Args:
            most: the highest cost of the request.

        Raises:
            BudgetExceeded: when it could pass a cap.
        """
        while (cap := self._short_of(most)) is not None:
            name, limit, unit = cap
            used = getattr(self.spent, name)
            if used + getattr(most, name) > limit:
                raise BudgetExceeded(
                    f"The budget of {limit:g} {unit} is used up: {used:.6g} spent, and the next "
                    f"ask could cost {getattr(most, name):.6g}. "
                    "What was answered is in the recording; use a larger budget."
                )
            waiter = asyncio.get_running_loop().create_future()
            self.waiting.append(waiter)
            await waiter
        self.reserved.add(most)

    def settle(self, most: Usage, spent: Usage | None) -> None:
        """Give back what was set aside, and count what was spent.

        Args:
            most: the amount set aside.
            spent: the cost of the request; None when it was not answered.
        """
        self.reserved.subtract(most)
        if spent is not None:
            self.spent.add(spent)
        waiting, self.waiting = self.waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _short_of(self, most: Usage) -> tuple[str, float, str] | None:
        """The first cap under which the request does not fit now."""
        caps = (
            ("asks", self.max_asks, "asks"),
            ("tokens", self.max_tokens, "tokens"),
            ("cost_usd", self.max_usd, "dollars"),
        )
        for name, limit, unit in caps:
            used = getattr(self.spent, name) + getattr(self.reserved, name)
            if limit is not None and used + getattr(most, name) > limit:
                return name, limit, unit
        return None


class BudgetClient:
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
            request: the request.

        Raises:
            BudgetExceeded: when the request could pass a cap.
            LLMError: raised by the client.
        """
        most = self._most(request)
        await self._budget.reserve(most)
        spent = None
        try:
            done = await self._client.complete(request)
            spent = _spent(done, most)
        finally:
            self._budget.settle(most, spent)
        return done

    def _most(self, request: Request) -> Usage:
        contents = [content for _, content in request.messages]
        return most_of(contents, request.max_tokens, self._prices.of(request.model), request.n)


def most_of(
    contents: Iterable[str], max_tokens: int | None, price: Price | None, n: int = 1
) -> Usage:
    """Return the highest possible cost of a request.

    Args:
        contents: its messages.
        max_tokens: tokens of an answer at most, or None.
        price: the price of the model, or None when it is not known.
        n: how many answers it asks for.
    """
    prompt = sum(_most_tokens(content) for content in contents)
    answer = n * (ANSWER_TOKENS if max_tokens is None else max_tokens)
    return Usage(
        asks=n,
        prompt_tokens=prompt,
        completion_tokens=answer,
        cost_usd=price.cost(prompt, 0, answer) if price else 0.0,
    )


def check_price(model: str, budget: Budget | None, prices: PriceTable) -> None:
    """Check that a budget in dollars can be kept.

    Args:
        model: the name of the model.
        budget: the caps, or None.
        prices: the price table.

    Raises:
        ParameterError: when the price of the model is not known.
    """
    if budget is not None and budget.max_usd is not None and prices.of(model) is None:
        raise ParameterError(
            f"The price of {model!r} is not known, so a budget in dollars cannot be kept: "
            "list it in a price file (--prices) or give a budget in asks or tokens."
        )


def _most_tokens(text: str) -> int:
    """A cautious count: one token for two characters, nearly one for each byte of other signs.

    Common languages have three to five characters a token; signs beyond ASCII have at most one
    token a byte of UTF-8.
    """
    return len(text.encode(errors="replace")) - len(text) // 2 + TOKENS_PER_MESSAGE


def _spent(done: Completion, most: Usage) -> Usage:
    """Return the cost of a completion; what the server does not report counts as the most."""
    reported = done.prompt_tokens + done.completion_tokens
    tokens = reported if done.prompt_tokens else max(most.tokens, reported)
    return Usage(
        asks=max(1, len(done.parts)),
        prompt_tokens=tokens - done.completion_tokens,
        completion_tokens=done.completion_tokens,
        cost_usd=most.cost_usd if math.isnan(done.cost_usd) else done.cost_usd,
    )
