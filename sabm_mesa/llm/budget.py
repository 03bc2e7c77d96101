"""Caps on asks, tokens and dollars that stop a run before they are passed."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BudgetExceeded, ParameterError
from sabm_mesa.llm.prices import Price, PriceTable
from sabm_mesa.llm.request import Request

TOKENS_PER_MESSAGE = 8
CAPS = ("max_usd", "max_asks", "max_total_tokens")
ANSWER_TOKENS = 4096
"""Assumed tokens of an answer when the request sets no limit."""
LONGEST_TOKEN = 8
"""The maximum number of bytes per token in a longer text."""
_ROUNDING = 1e-9
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Reservation:
    """Tokens and dollars set aside for a request under way.

    Attributes:
        target: server and model that are asked.
        asked: the highest cost of the request when the server respects its limits.
        most: the amount set aside: more than `asked` for a server that exceeded its limits.
        spent: what counts as spent: the amount set aside, until the cost is known.
        free: whether the request was refused, so that nothing is billed.
    """

    target: tuple[str, str]
    asked: Usage
    most: Usage
    spent: Usage | None = None
    free: bool = False

    def count(self, reply: Reply, price: Price | None) -> None:
        """Note the cost of the answer; unreported numbers count at their maximum."""
        prompt, answer, cost = reply.prompt_tokens, reply.completion_tokens, reply.cost_usd
        text, most = str(reply.answer), self.most
        if not prompt or (not answer and text and most.completion_tokens):
            prompt, answer = prompt or most.prompt_tokens, max(answer, most.completion_tokens)
            room = most.completion_tokens * LONGEST_TOKEN
            if 0 < room < len(text.encode()):
                answer = max(answer, _most_tokens(text))
            cost = price.most(prompt, answer) if price else math.nan
        self.spent = Usage(
            asks=1,
            prompt_tokens=prompt,
            completion_tokens=answer,
            cost_usd=most.cost_usd if math.isnan(cost) else cost,
        )


@dataclass(slots=True)
class Budget:
    """Caps on the sum of all runs that share them.

    Before a request is sent, the most it can cost is set aside; when that could pass a cap, the
    request is not sent. Tokens are counted as the server reports them. When it reports none, the
    amount set aside counts as spent. The same holds for a request that may be billed without a
    usable answer: after a timeout, a lost connection or an unreadable response. Refused requests
    are not counted.

    A server may use more tokens than allowed, such as one that ignores ``max_tokens``. Under a cap
    in dollars or tokens the first request to a model is therefore sent alone. Once an answer took
    too much, that amount is set aside for each later answer of that model. So only the requests
    that are under way at the first such answer can pass a cap.

    Attributes:
        max_usd: the maximum cost in dollars, or None.
        max_asks: the maximum number of requests, or None.
        max_total_tokens: the maximum number of tokens sent and received, or None.
        spent: the amount spent.
        reserved: the amount set aside for requests under way.
        under_way: the requests under way.
        largest: target → the highest cost of one answer, for targets that exceeded their limits.
        met: target → whether the first request to it has ended.
        waiting: requests that wait for those under way.
    """

    max_usd: float | None = None
    max_asks: int | None = None
    max_total_tokens: int | None = None
    spent: Usage = field(default_factory=Usage)
    reserved: Usage = field(default_factory=Usage)
    under_way: set[Reservation] = field(default_factory=set, repr=False)
    largest: dict[tuple[str, str], Usage] = field(default_factory=dict, repr=False)
    met: dict[tuple[str, str], bool] = field(default_factory=dict, repr=False)
    waiting: list[asyncio.Future[None]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        """Refuse caps below zero."""
        for name in CAPS:
            cap = getattr(self, name)
            if cap is not None and not cap >= 0:
                raise ParameterError(
                    f"The budget {name} must be 0 or more (got {cap}).", parameter=name
                )

    def after(self, spent: Usage) -> Budget:
        """A budget with the same caps of which resumed runs have spent a part."""
        return Budget(self.max_usd, self.max_asks, self.max_total_tokens, spent)

    @asynccontextmanager
    async def spending(self, where: str, model: str, asked: Usage) -> AsyncIterator[Reservation]:
        """Set aside the highest cost of a request; then count what it cost.

        When it does not fit yet, the requests under way are awaited first: they may cost less than
        was set aside for them.

        Raises:
            BudgetExceeded: when it could pass a cap.
        """
        reservation = await self._reserve((where, model), asked)
        try:
            yield reservation
        finally:
            self._settle(reservation)

    async def _reserve(self, target: tuple[str, str], asked: Usage) -> Reservation:
        awaited: set[Reservation] | None = None
        while True:
            most = self._most(target, asked)
            cap = self._short_of(most)
            # The first request to a server is on trial: others wait for its cost.
            if cap is None and not (self._counts_tokens and self.met.get(target) is False):
                break
            if cap is not None and getattr(self.spent, cap[0]) + getattr(most, cap[0]) > cap[1]:
                awaited = set(self.under_way) if awaited is None else awaited & self.under_way
                if not awaited:
                    name, limit, unit = cap
                    raise BudgetExceeded(
                        f"The budget of {limit:g} {unit} is used up: "
                        f"{getattr(self.spent, name):.6g} spent, and the next ask could cost "
                        f"{getattr(most, name):.6g}. All answers so far are in the recording; use "
                        "a larger budget."
                    )
            waiter = asyncio.get_running_loop().create_future()
            self.waiting.append(waiter)
            await waiter
        reservation = Reservation(target, asked, most)
        self.met.setdefault(target, False)
        self.under_way.add(reservation)
        self.reserved.add(most)
        return reservation

    def _settle(self, reservation: Reservation) -> None:
        """Give back the reserve, and count the cost."""
        self.met[reservation.target] = True
        self.under_way.discard(reservation)
        self.reserved.subtract(reservation.most)
        if not reservation.free:
            spent = reservation.spent or reservation.most
            self.spent.add(spent)
            if self._counts_tokens and _is_more(spent, reservation.asked):
                self._set_more_aside(reservation, spent)
        waiting, self.waiting = self.waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    @property
    def _counts_tokens(self) -> bool:
        return self.max_usd is not None or self.max_total_tokens is not None

    def _most(self, target: tuple[str, str], asked: Usage) -> Usage:
        """The highest cost of a request to a target, given its answers so far."""
        if (largest := self.largest.get(target)) is None:
            return asked
        return Usage(
            asks=1,
            prompt_tokens=max(asked.prompt_tokens, largest.prompt_tokens),
            completion_tokens=max(asked.completion_tokens, largest.completion_tokens),
            cost_usd=max(asked.cost_usd, largest.cost_usd),
        )

    def _set_more_aside(self, reservation: Reservation, spent: Usage) -> None:
        """Set aside as much for each answer of a target as its largest one took."""
        target = reservation.target
        known = self.largest.get(target)
        if known is None:
            took, expected = _in_excess(spent, reservation.asked)
            _log.warning(
                "%s took %s for an answer of %r where at most %s were expected: from now on that "
                "amount is set aside for each of its answers.",
                target[0], took, target[1], expected,
            )  # fmt: skip
        known = known or Usage()
        self.largest[target] = Usage(
            prompt_tokens=max(known.prompt_tokens, spent.prompt_tokens),
            completion_tokens=max(known.completion_tokens, spent.completion_tokens),
            cost_usd=max(known.cost_usd, spent.cost_usd),
        )
        for other in self.under_way:
            if other.target == target:
                self.reserved.subtract(other.most)
                other.most = self._most(target, other.asked)
                self.reserved.add(other.most)

    def _short_of(self, most: Usage) -> tuple[str, float, str] | None:
        """The first cap under which the request does not fit now."""
        caps = (
            ("asks", self.max_asks, "asks"),
            ("tokens", self.max_total_tokens, "tokens"),
            ("cost_usd", self.max_usd, "dollars"),
        )
        for name, limit, unit in caps:
            used = getattr(self.spent, name) + getattr(self.reserved, name)
            if limit is not None and used + getattr(most, name) > limit:
                return name, limit, unit
        return None


def longest_answer(request: Request) -> int:
    """The maximum tokens of an answer and its thoughts; an assumption when no limit is sent."""
    if request.limit is None:
        return ANSWER_TOKENS + (request.max_thought_tokens or 0)
    return request.limit


def most_of(contents: Iterable[str], max_tokens: int | None, price: Price | None) -> Usage:
    """Return the highest possible cost of a request."""
    prompt = sum(map(_most_tokens, contents))
    answer = ANSWER_TOKENS if max_tokens is None else max_tokens
    return Usage(
        asks=1,
        prompt_tokens=prompt,
        completion_tokens=answer,
        cost_usd=price.most(prompt, answer) if price else 0.0,
    )


def check_price(model: str, budget: Budget | None, prices: PriceTable) -> None:
    """Check that a budget in dollars can be enforced.

    Raises:
        ParameterError: when the price of the model is not known.
    """
    if budget is not None and budget.max_usd is not None and prices.of(model) is None:
        raise ParameterError(
            f"The price of {model!r} is not known, so a budget in dollars cannot be enforced: list "
            "it in a price file (--prices) or give a budget in asks or tokens."
        )


def _most_tokens(text: str) -> int:
    """A cautious count: one token per two characters, nearly one per byte beyond ASCII.

    Common languages have three to five characters per token; characters beyond ASCII have at most
    one token per byte of UTF-8.
    """
    return len(text.encode(errors="replace")) - len(text) // 2 + TOKENS_PER_MESSAGE


def _in_excess(spent: Usage, asked: Usage) -> tuple[str, str]:
    """The excess of an answer over the expected amount, and the expected amount."""
    if spent.completion_tokens > asked.completion_tokens:
        return f"{spent.completion_tokens:,} tokens", f"{asked.completion_tokens:,}"
    if spent.prompt_tokens > asked.prompt_tokens:
        return f"{spent.prompt_tokens:,} tokens of the prompt", f"{asked.prompt_tokens:,}"
    return f"${spent.cost_usd:.4g}", f"${asked.cost_usd:.4g}"


def _is_more(spent: Usage, asked: Usage) -> bool:
    """Whether a request took more than its limits allow."""
    return (
        spent.prompt_tokens > asked.prompt_tokens
        or spent.completion_tokens > asked.completion_tokens
        or spent.cost_usd > asked.cost_usd + _ROUNDING
    )
