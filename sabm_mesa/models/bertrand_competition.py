"""Bertrand competition: firms set prices round after round, and may talk before they do.

Rules
    n firms with the same constant marginal cost each set one price a round, all at the same
    moment; demand depends on all prices. A price is a number from the cost to `a` (with logit
    demand and many firms up to a little above the cartel price, where that is higher).

Demand
    ``linear``: ``q_i = (a(beta - d) - beta p_i + d p_j) / (beta² - d²)`` for two firms, from the
    inverse demand ``p_i = a - beta q_i - d (sum of the others' q)`` for n; a negative quantity is
    cut to 0. In the limit ``beta = d`` (homogeneous goods) the cheapest firm sells (a - p)/d, and
    a tie shares it equally. ``logit``: ``q_i = exp((a - p_i)/mu) / (sum_j exp((a - p_j)/mu) +
    exp(a_0/mu))``. Profit is (p - cost) q. Reference prices with the defaults: Bertrand
    equilibrium 6 and cartel 8 (linear), 1.473 and 1.925 (logit).

Round
    0: the prices are the initial prices; nobody is asked. From round 1 on: communication (when it
    is on), 3 turns each in an order shuffled every round, hearing this round's talk so far;
    planning, every 20 rounds from round 20 on: each firm writes down its strategy; action: all set
    their prices at the same moment; update.

Memory
    A firm is told the last 20 rounds (own price, demand and profit, the others' prices) one by
    one, the averages of older rounds by periods of 20 rounds, 20 periods at the most, the talk of
    this round, and its latest strategy; when it plans, its last 20 strategies and no talk. It is
    told neither the profit or demand of others nor how demand comes about.

Stop
    After `n_rounds`, or after `stop_after` rounds of collusion in a row: all prices above the
    Bertrand and not above the cartel price, and at most `tolerance` apart.

Parameters (sources: Wu et al. 2024, section 5; Calvano et al. 2020, section II, for logit)
    See the class. Prices are in money, quantities in units of the good (linear) or shares of the
    consumers (logit). The default of `tolerance` is ours: the paper says "very close".
    Conditions: ``baseline``, ``cooperative`` (encouraged, figure 7), ``uncooperative``. Personas:
    ``explorer``, ``aggressive``, ``greedy``, ``uncooperative``, ``cooperative``, and the general
    ones. Variants: ``default``, ``told_range``.

Measures
    By round: prices, demands and profits, collusion, ``spell`` (rounds of collusion in a row),
    ``collusion_index`` (Δ of Calvano et al.: 0 at the Bertrand profit, 1 at the cartel profit),
    the reference prices and profits, ``messages``, and ``price_messages`` (naming a price or
    agreeing to one). Of a run: convergence price (mean of the last 50 rounds) and round (from
    which all prices stay within `tolerance` of it), and Δ over the last 50 rounds.

Q-learning
    ``q_learning`` decays as in Calvano et al. and needs hundreds of thousands of periods to learn;
    ``q_learning_fast`` over 1200 rounds is a demonstration that has not learned to collude: its Δ
    is about 0.2 to 0.3 (linear; mean 0.24), and the greedy reply to its start values has 0.29.

Unreadable answers
    A firm whose price could not be read keeps its price, and ``kept`` says so. One whose message
    could not be read says nothing; one whose strategy could not be read keeps the last.

Deviations
    The paper's text speaks of homogeneous goods, its program has differentiated linear demand, and
    so have we. Its figure 2 has planning before communication, its procedure after: see
    `phase_order`. The prompts are in our own words. As published they do not tell the range of
    legal prices (its middle is the default cartel price); the variant ``told_range`` does. Not
    repeated from the authors' program: the first number in a text was the price, an unreadable
    answer became the cost, profits were cut to integers, firm 2 could get the persona of firm 1,
    shuffles were not seeded.

Source
    Wu et al. 2024, "Shall We Team Up: Exploring Spontaneous Cooperation of Competing LLM Agents",
    arXiv 2402.12327, section 5 and appendices A, B.2, C.2, D, E, G.2; Calvano, Calzolari, Denicolò
    and Pastorello 2020, American Economic Review 110(10), 3267-3297.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from sabm_mesa.agents.bertrand_competition import Firm, Message, Strategy
from sabm_mesa.agents.bertrand_memory import Stretch
from sabm_mesa.analysis.convergence import run_measures
from sabm_mesa.analysis.price_talk import price_messages
from sabm_mesa.decisions import Decision
from sabm_mesa.minds import Minds
from sabm_mesa.minds.classical.bertrand_competition import CLASSICAL_MINDS
from sabm_mesa.models import bertrand_setup as setup
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.bertrand_setup import Prices
from sabm_mesa.models.bertrand_terms import CHANGEABLE, Reference, Terms
from sabm_mesa.population import Personas
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase


class BertrandCompetition(SmartModel):
    """Firms that set prices round after round.

    Args:
        n_rounds: rounds at the most; the prices of round 0 are the initial prices.
        communication: whether the firms talk.
        demand: ``"linear"`` or ``"logit"``.
        initial_prices: one price for all firms, or a sequence with one a firm; None: the cost.
        condition: ``"baseline"``, ``"cooperative"`` or ``"uncooperative"``.
        personas: see `SmartModel`.
        minds: see `SmartModel`; classical minds are ``best_response`` (the default),
            ``win_continue_lose_reverse``, ``tit_for_tat``, ``q_learning``, ``q_learning_fast``.
        rng: the seed.
        n_firms: number of firms (2 to 26).
        phase_order: ``"communication,planning,action"`` or ``"planning,communication,action"``.
        tolerance: by how much prices may differ under collusion; None: a quarter of the distance
            between the reference prices (0.5 with linear demand).
        stop_after: rounds of collusion in a row that end the run; None: no such end.
        firm_names: the names, as a sequence or a text with commas; None: Ed and Gill, or numbers.
        changes: round → {parameter: value} from that round on, for ``communication``, ``cost``,
            ``a``, ``beta``, ``d``, ``mu``, ``a_0``, ``tolerance`` and ``stop_after``.
        cost: marginal cost of each firm; None: 2 with linear, 1 with logit demand.
        a: the price that chokes demand off; None: 14 with linear, 2 (a quality) with logit demand.
        beta: slope of inverse demand in the own quantity (linear).
        d: slope of inverse demand in the quantity of another firm (linear), 0 to `beta`.
        mu: how different the products are (logit).
        a_0: quality of buying nothing (logit).
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        settings: the other parameters of `SmartModel`.

    Attributes:
        market: the demand system; `reference`: its reference prices and profits.
        legal_price: what a legal price is; `said`: what was said in this round.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "bertrand"
    title = "Bertrand competition"
    source = "Wu et al. 2024, arXiv 2402.12327, section 5"
    prompt_file = "bertrand"
    plots = "sabm_mesa.analysis.plots.bertrand_competition"
    phases: ClassVar[tuple[Phase, ...]] = setup.PHASES
    model_columns: ClassVar[dict[str, str]] = {
        **setup.columns_by_firm(2),
        **{name: name for name in ("collusion", "spell", "collusion_index", "communication")},
        **{name: name for name in (*Reference.__slots__, "messages", "price_messages")},
    }
    agent_columns: ClassVar[dict[str, str]] = {name: name for name in (*setup.PER_FIRM, "kept")}
    score = setup.SCORE
    changeable = frozenset({*CHANGEABLE, "phase_order"})
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = CLASSICAL_MINDS

    def __init__(
        self,
        n_rounds: int = 1200,
        communication: bool = True,
        demand: str = "linear",
        initial_prices: Prices = None,
        condition: str = "baseline",
        personas: Personas = "none",
        minds: Minds = "classical",
        rng: Seed = None,
        n_firms: int = 2,
        phase_order: str | Sequence[str] = setup.PHASE_ORDERS[0],
        tolerance: float | None = None,
        stop_after: int | None = 200,
        firm_names: str | Sequence[str] | None = None,
        changes: Mapping[Any, Mapping[str, Any]] | None = None,
        cost: float | None = None,
        a: float | None = None,
        beta: float = 1 / 150,
        d: float = 1 / 300,
        mu: float = 1 / 4,
        a_0: float = 0.0,
        temperature: float | None = 0.7,
        max_tokens: int | None = 128,
        **settings: Any,
    ) -> None:
        terms = Terms(
            communication, demand, n_firms, cost, a, beta, d, mu, a_0, tolerance, stop_after
        )
        super().__init__(
            n_rounds=n_rounds, condition=condition, personas=personas, minds=minds, rng=rng,
            temperature=temperature, max_tokens=max_tokens, **settings,
        )  # fmt: skip
        self._set(terms)
        self._changes = changes or {}
        self._planned = setup.planned_changes(changes, terms)
        self.n_firms, self.plans_first = int(n_firms), setup.is_plan_first(phase_order)
        self.names = setup.names_of(firm_names, self.n_firms)
        self.said: list[Message] = []
        self.collusion, self.spell, self.collusion_index = False, 0, math.nan
        self.messages = self.price_messages = 0
        self.firms = self.populate(Firm, self.n_firms)
        start = setup.starting_prices(initial_prices, self.n_firms, self.legal_price)
        for firm, first in zip(self.firms, start, strict=True):
            firm.price = first

    def columns(self) -> Mapping[str, str]:
        """The model columns, with those of every firm."""
        return setup.columns_by_firm(int(self.parameters["n_firms"])) | self.model_columns

    def begin_round(self) -> None:
        """Let what is planned for this round come about; the talk starts anew."""
        if self.round in self._planned:
            self._set(self._planned[self.round])
        self.said = []

    def take_over(self, twin: Self, changed: frozenset[str]) -> None:
        """Take over the changed terms, on top of what is planned for this round.

        What is planned for later is then planned on top of them.

        Args:
            twin: the same competition with the changed parameters.
            changed: their names.
        """
        super().take_over(twin, changed - self.changeable)
        self.plans_first = twin.plans_first
        of_terms = {name: getattr(twin.terms, name) for name in changed & set(CHANGEABLE)}
        now = self.round + 1
        self._set(self._planned.get(now, self.terms).changed(**of_terms))
        later = {key: new for key, new in self._changes.items() if setup.as_round(key) > now}
        self._planned = setup.planned_changes(later, self.terms)

    def after_communicate(self, firm: Firm, message: Decision) -> None:
        """Let the others hear what a firm said."""
        if message.valid:
            self.said.append(Message(firm.unique_id, message.value))

    def after_plan(self, firm: Firm, strategy: Decision) -> None:
        """Keep the strategy that a firm wrote down."""
        if strategy.valid:
            firm.strategies.append(Strategy(self.round, strategy.value))

    def after_act(self, firm: Firm, price: Decision) -> None:
        """Take a firm's price; without a usable one it keeps the price it has."""
        firm.kept = not price.valid
        if price.valid:
            firm.price = price.value

    def update(self) -> None:
        """Sell, remember, and see whether there is collusion."""
        prices = [firm.price for firm in self.firms]
        demands, profits = self.market.demands(prices), self.market.profits(prices)
        for i, firm in enumerate(self.firms):
            firm.demand, firm.profit = demands[i], profits[i]
            told = prices[i], demands[i], profits[i], (*prices[:i], *prices[i + 1 :])
            firm.memory.add(Stretch(self.round, self.round, *told))
            for name in setup.PER_FIRM:
                setattr(self, f"{name}_{i + 1}", getattr(firm, name))
        self.collusion = self.reference.collusion(prices, self.tolerance)
        self.spell = self.spell + 1 if self.collusion else 0
        self.collusion_index = self.reference.index(profits)
        self.messages = len(self.said)
        low, high = self.legal_price.low, self.legal_price.high
        self.price_messages = price_messages(self.said, low, high)
        if self.terms.stop_after is not None and self.spell >= self.terms.stop_after:
            self.running = False

    def end_measures(self) -> dict[str, Any]:
        """Where prices settled and from when on, the last spell, and how much was said."""
        return run_measures(self.datacollector.model_vars, self.n_firms, self.tolerance)

    def plot_options(self) -> dict[str, Any]:
        """The names of the firms, with their minds where these differ."""
        return {"names": setup.labels_of(self.names, [firm.mind.spec for firm in self.firms])}

    def _set(self, terms: Terms) -> None:
        self.terms, self.market = terms, terms.market()
        self.communication = bool(terms.communication)
        self.reference = Reference.of(self.market)
        self.legal_price = self.reference.legal_price(self.market)
        self.tolerance = self.reference.tolerance(terms.tolerance)
        for name in Reference.__slots__:
            setattr(self, name, getattr(self.reference, name))
