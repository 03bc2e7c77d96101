"""Replication of Wu et al. 2024: firms set prices round after round, and may talk before they do.

To write a scenario of your own, start from ``examples/market``.

Firms with the same marginal cost set prices at once; demand is ``linear`` (differentiated goods) or
``logit`` (see ``theory.py``). Before, they may talk (3 turns each); every 20 rounds they write down
a strategy. The run ends after ``stop_after`` rounds of collusion. The rules in full are in
``odd.toml``. Round 0 has given prices, and is in no measure.

Unreadable answers
    A firm with an unreadable price keeps its price, and ``kept`` is true. An unreadable message is
    not sent; after an unreadable strategy, the firm keeps its last one.

Deviations
    The paper describes homogeneous goods; its program has differentiated linear demand, as here.
    Its figure 2 plans before communication, its procedure after it: `phase_order`; its text plans
    every round, its program every 20: `plan_every`; its printed prompt has no range of prices, its
    program "between 0 and a": `told_range`. Prompts are in our own words; silent firms also read
    the parts of a round. Not repeated: the first number in a text was the price, an unreadable
    answer the cost; profits were integers, personas could swap, shuffles were not seeded.

Source
    Wu et al. 2024, arXiv 2402.12327, section 5 and appendices A, B.2, C.2, D, E, G.2; Calvano,
    Calzolari, Denicolò and Pastorello 2020, American Economic Review 110(10), 3267-3297 (logit).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from annotated_types import Ge, Le

from sabm_mesa.core.answers import Decision, Number
from sabm_mesa.core.messages import Message
from sabm_mesa.core.parameters import (
    check_choice,
    check_float,
    parse_list,
)
from sabm_mesa.core.scheduler import Phase, action, communication, every, planning
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.bertrand.agents import (
    MESSAGE,
    PERIOD,
    STRATEGY,
    Firm,
    period_summary,
)
from sabm_mesa.models.bertrand.market import MarketParameters
from sabm_mesa.models.bertrand.minds import CLASSICAL_MINDS
from sabm_mesa.models.bertrand.study import (
    price_messages,
    run_measures,
)
from sabm_mesa.models.bertrand.theory import (
    Benchmarks,
    collusion_index,
)
from sabm_mesa.models.declarations import Score

Prices = float | Sequence[float] | None

PhaseOrder = Literal["communication,planning,action", "planning,communication,action"]
PHASE_ORDERS: tuple[PhaseOrder, ...] = get_args(PhaseOrder)
CHANGEABLE = (
    "communication", "cost", "a", "beta", "d", "mu", "a_0", "tolerance", "stop_after",
)  # fmt: skip
"""Parameters that can change during a run, in addition to the order of the phases."""
MOST_FIRMS = 26
"""The largest number of firms: each adds a line to plots and three columns to the data."""
LARGEST = 1e9
"""The largest value of a parameter; beyond it, profits lose precision."""
Money = Annotated[float, Ge(0), Le(LARGEST)]
Positive = Annotated[float, Ge(1e-9), Le(LARGEST)]
TURNS = 3
"""Number of turns of each firm in a round of talk."""
NAMES = ("Ed", "Gill")
"""The names of two firms (those of the published prompts)."""
PER_FIRM = ("price", "demand", "profit")
"""Columns of a firm; with its number, they are model columns."""
_PLANNING = (
    f"Each firm writes down a strategy (`plan`, at most {STRATEGY.max_words} words), from its "
    "statistics and its earlier strategies alone; the strategy is shown to it from then on."
)


def firms_talk(model: BertrandCompetition) -> bool:
    """Whether the firms talk in this round."""
    return model.communication and model.round > 0


_plans = every("plan_every", since=1)


def plan_first(model: BertrandCompetition) -> bool:
    """Whether the firms plan in this round, before they talk."""
    return model.plans_first and _plans(model)


def plan_second(model: BertrandCompetition) -> bool:
    """Whether the firms plan in this round, after they have talked."""
    return not model.plans_first and _plans(model)


def set_prices(model: BertrandCompetition) -> bool:
    """Whether the firms set prices in this round: in all rounds except round 0."""
    return model.round > 0


def _columns_by_firm(n: int) -> dict[str, str]:
    """The model columns of one firm, by its number."""
    return {f"{name}_{i}": f"{name}_{i}" for name in PER_FIRM for i in range(1, n + 1)}


class BertrandCompetition(SmartModel):
    """Firms that set prices round after round (Wu et al. 2024).

    Args:
        n_rounds: rounds at most; the prices of round 0 are the initial prices.
        communication: whether the firms talk.
        demand: the demand system.
        initial_prices: one price for all firms, or a sequence with one a firm; None: the cost.
        condition: ``"baseline"``, ``"cooperative"``, ``"uncooperative"`` or ``"greedy"``.
        minds: see `SmartModel`; classical minds are ``win_continue_lose_reverse`` (the
            default), ``best_response``, ``tit_for_tat``, ``keeps_agreements``, ``cheats``,
            ``q_learning``, ``q_learning_fast``.
        n_firms: number of firms.
        phase_order: the phases of a round in their order, as a sequence or a text with commas.
        plan_every: firms plan in every round that is a multiple of it; 1: in every round.
        told_range: whether prompts state the highest price, and no higher price is legal.
        tolerance: by how much prices may differ under collusion; None: a quarter of the distance
            between the reference prices (0.5 with linear demand).
        stop_after: rounds of collusion in a row that end the run; None: no such end.
        firm_names: the names, as a sequence or a text with commas; None: Ed and Gill, or numbers.
        cost: marginal cost of each firm; None: 2 with linear, 1 with logit demand.
        a: the price that chokes demand off; None: 14 with linear, 2 (a quality) with logit demand.
        beta: slope of inverse demand in the own quantity (linear).
        d: slope of inverse demand in the quantity of another firm (linear), at most `beta`.
        mu: how different the products are (logit).
        a_0: quality of buying nothing (logit).
        settings: the other parameters of `SmartModel`.

    Attributes:
        market: the demand system; `benchmarks`: its reference prices and profits.
        market_parameters: the parameters of the current round.
        legal_price: the answer spec of a price.
        highest_price: the highest price of the range that `told_range` states.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "bertrand"
    title = "Bertrand competition"
    source = "Wu et al. 2024, arXiv 2402.12327, section 5"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        planning(when=plan_first, doc=_PLANNING),
        communication(
            when=firms_talk,
            turns=TURNS,
            doc="Each firm says something to the other firms (`communicate`, at most "
            f"{MESSAGE.max_words} words); later speakers hear it.",
        ),
        planning(when=plan_second, doc=_PLANNING),
        action(
            when=set_prices,
            doc="Each firm sets a price (`act`); a firm whose answer is unreadable keeps its "
            "price.",
        ),
    )
    given_rounds = 1
    model_columns: ClassVar[dict[str, str]] = {
        **_columns_by_firm(2),
        **{name: name for name in ("collusion", "spell", "collusive_share", "collusion_index")},
        "communication": "communication",
        **{name: name for name in (*Benchmarks.__slots__, "messages", "price_messages")},
    }
    agent_columns = (*PER_FIRM, "kept")
    score = Score("Profit a round", "n_firms", column="profit", over="round", pairs=True)
    changeable = frozenset({*CHANGEABLE, "phase_order", "plan_every", "told_range"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.7, "max_tokens": 128}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = CLASSICAL_MINDS

    def __init__(
        self,
        n_rounds: int = 1200,
        communication: bool = True,
        demand: Literal["linear", "logit"] = "linear",
        initial_prices: Prices = None,
        n_firms: Annotated[int, Ge(2), Le(MOST_FIRMS)] = 2,
        phase_order: PhaseOrder | Sequence[str] = PHASE_ORDERS[0],
        plan_every: Annotated[int, Ge(1)] = PERIOD,
        told_range: bool = False,
        tolerance: Money | None = None,
        stop_after: Annotated[int, Ge(1)] | None = 200,
        firm_names: str | Sequence[str] | None = None,
        cost: Money | None = None,
        a: Money | None = None,
        beta: Positive = 1 / 150,
        d: Annotated[float, Ge(0)] = 1 / 300,
        mu: Positive = 1 / 4,
        a_0: Annotated[float, Ge(-LARGEST), Le(LARGEST)] = 0.0,
        **settings: Any,
    ) -> None:
        market_parameters = MarketParameters(
            communication, demand, n_firms, cost, a, beta, d, mu, a_0, tolerance, stop_after
        )
        super().__init__(n_rounds=n_rounds, **settings)
        self.plan_every, self.told_range = plan_every, told_range
        self._set(market_parameters)
        self.n_firms, self.plans_first = n_firms, _read_phase_order(phase_order)
        self.names = _read_names(firm_names, self.n_firms)
        self.collusion, self.spell, self.collusion_index = False, 0, math.nan
        self.collusive_rounds, self.collusive_share = 0, math.nan
        self.messages = self.price_messages = 0
        self.firms = self.populate(Firm, self.n_firms)
        start = _read_initial_prices(initial_prices, self.n_firms, self.market.cost)
        for firm, first in zip(self.firms, start, strict=True):
            firm.price = first

    def columns(self) -> Mapping[str, str]:
        """Return the model columns, including those of every firm."""
        return _columns_by_firm(int(self.parameters["n_firms"])) | self.model_columns

    def apply_fork(self, clone: Self, changed: frozenset[str]) -> None:
        """Apply the changed parameters.

        Args:
            clone: the same competition with the changed parameters.
            changed: their names.
        """
        super().apply_fork(clone, changed - self.changeable)
        self.plans_first = clone.plans_first
        self.plan_every, self.told_range = clone.plan_every, clone.told_range
        new = {name: getattr(clone.market_parameters, name) for name in changed & set(CHANGEABLE)}
        self._set(replace(self.market_parameters, **new))

    def after_communicate(self, firm: Firm, message: Decision) -> None:
        """Let the other firms hear a message."""
        self.say(firm, message.value)

    def after_plan(self, firm: Firm, strategy: Decision) -> None:
        """Keep the written strategy of a firm."""
        if strategy.valid:
            firm.strategies.add(Message(self.round, firm.unique_id, strategy.value))

    def after_act(self, firm: Firm, price: Decision) -> None:
        """Set the price of a firm; an unreadable answer leaves it unchanged."""
        firm.kept = not price.valid
        if price.valid:
            firm.price = price.value

    def update(self) -> None:
        """Compute demands, profits and measures, and stop the run after long collusion."""
        prices = [firm.price for firm in self.firms]
        demands = self.market.demands(prices)
        profits = self.market.profits(prices, demands)
        for i, firm in enumerate(self.firms):
            firm.demand, firm.profit = demands[i], profits[i]
            summary = prices[i], demands[i], profits[i], (*prices[:i], *prices[i + 1 :])
            firm.memory.add(period_summary(self.round, self.round, *summary))
            for name in PER_FIRM:
                setattr(self, f"{name}_{i + 1}", getattr(firm, name))
        if self.round >= self.given_rounds:
            self._measure_collusion(prices, profits)
        self.messages = len(self.said)
        self.price_messages = price_messages(self.said, self.market.cost, self.highest_price)
        stop_after = self.market_parameters.stop_after
        if stop_after is not None and self.spell >= stop_after:
            self.end(f"collusion for {stop_after} rounds")

    def _measure_collusion(self, prices: Sequence[float], profits: Sequence[float]) -> None:
        """Compute the collusion measures of this round."""
        self.collusion = self.benchmarks.is_collusive(prices, self.tolerance)
        self.spell = self.spell + 1 if self.collusion else 0
        self.collusive_rounds += self.collusion
        self.collusive_share = self.collusive_rounds / (self.round + 1 - self.given_rounds)
        self.collusion_index = collusion_index(
            profits, self.benchmarks.bertrand_profit, self.benchmarks.cartel_profit
        )

    def end_measures(self) -> dict[str, Any]:
        """Return the convergence of prices, the share of collusive rounds, Δ, and the talk."""
        return run_measures(
            self.datacollector.model_vars, self.n_firms, self.tolerance, self.given_rounds
        )

    @property
    def firm_names(self) -> list[str]:
        """The names of the firms, with their minds if these differ."""
        minds = [firm.mind.spec for firm in self.firms]
        if len(set(minds)) == 1:
            return list(self.names)
        return [f"{name} ({mind})" for name, mind in zip(self.names, minds, strict=True)]

    def _set(self, new: MarketParameters) -> None:
        self.market_parameters, self.market = new, new.market()
        self.communication = new.communication
        self.benchmarks = Benchmarks.of(self.market)
        self.highest_price = self.benchmarks.highest_price(self.market)
        self.legal_price = Number(
            0, self.highest_price if self.told_range else math.inf, label="price"
        )
        self.tolerance = (
            self.benchmarks.default_tolerance if new.tolerance is None else new.tolerance
        )
        for name in Benchmarks.__slots__:
            setattr(self, name, getattr(self.benchmarks, name))


@about("initial_prices")
def _read_initial_prices(given: Any, n: int, cost: float) -> list[float]:
    """The price of each of `n` firms in round 0: a common price, one per firm, or the cost."""
    if given is None:
        given = cost
    several = isinstance(given, Iterable) and not isinstance(given, str)
    prices = list(given) if several else [given] * n
    if len(prices) != n:
        raise ParameterError(f"initial_prices: {len(prices)} are given for {n} firms.")
    return [check_float("initial_prices", price, 0, LARGEST) for price in prices]


@about("firm_names")
def _read_names(given: str | Sequence[str] | None, n: int) -> tuple[str, ...]:
    """The names of `n` firms: distinct, one line each."""
    if given is None:
        return NAMES if n == len(NAMES) else tuple(f"Firm {number}" for number in range(1, n + 1))
    names = parse_list("firm_names", given)
    usable = all(name and name.isprintable() for name in names)
    if len(names) != n or not usable or len({name.casefold() for name in names}) != n:
        raise ParameterError(f"firm_names: {n} different names are needed (got {given!r}).")
    return tuple(names)


def _read_phase_order(given: str | Sequence[str]) -> bool:
    """Whether the firms plan before they talk."""
    order = ",".join(parse_list("phase_order", given))
    return check_choice("phase_order", order, PHASE_ORDERS) == PHASE_ORDERS[1]
