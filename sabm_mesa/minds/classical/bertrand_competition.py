"""Classical minds of the Bertrand competition: pricing rules from economics.

Where talk is on they name the price that their rule is about to set, and agree to another's only
where they will keep it. Only `TitForTat` lets talk change its price.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sabm_mesa.agents.bertrand_competition import FirmView, figure
from sabm_mesa.asks import Ask
from sabm_mesa.errors import MindError
from sabm_mesa.minds.classical.bertrand_signs import last_success, proposals
from sabm_mesa.minds.classical.q_learning import DECAY, FAST_DECAY, QLearner

if TYPE_CHECKING:
    import numpy as np

STEP = 0.01
"""Step of trial and error, as a share of the range of legal prices (our choice)."""
ERROR = 0.05
"""Probability of a step in a random direction (our choice; it must be small and positive)."""
SAME = 0.005
"""Prices that differ by this share of the range or less are as good as equal in talk."""


class PricingRule(ABC):
    """A firm that prices by a rule, and says so.

    Args:
        spec: how the mind is named in the data.

    Attributes:
        informed: whether the firm knows the demand system, as the theory of the rule assumes.
    """

    instant = True
    paid = False
    informed = False

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self._decided = -1
        self._price = 0.0

    @abstractmethod
    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """The price of this round, from what is known before anybody has spoken."""

    async def answer(self, ask: Ask) -> object:
        """Name a price, write down the rule, or set the price.

        Args:
            ask: the question; its observation is a `FirmView`.
        """
        view = ask.observation
        assert isinstance(view, FirmView)
        if self._decided != view.round:
            self._decided = view.round
            self._price = _legal(self.price(view, ask.rng), view)
        if ask.name == "plan":
            return ask.book.render("classical_plans", {})
        if ask.name == "communicate":
            return self._speak(ask, view)
        return _legal(self.settled(view), view)

    def settled(self, view: FirmView) -> float:
        """The price that is set when the talk is over."""
        del view
        return self._price

    def proposal(self, view: FirmView) -> float:
        """The price that the firm names for all."""
        del view
        return self._price

    def accepts(self, price: float, view: FirmView) -> bool:
        """Whether the firm agrees to a price: when it is the one that it will set."""
        return abs(price - self._price) <= SAME * (view.high - view.low)

    def _speak(self, ask: Ask, view: FirmView) -> str:
        others = [price for firm, price in proposals(view).items() if firm != view.firm]
        if others and self.accepts(others[-1], view):
            return ask.book.render("classical_accepts", {"price": figure(others[-1])})
        return ask.book.render("classical_proposes", {"price": figure(self.proposal(view))})


class BestResponse(PricingRule):
    """The myopic best reply to the rivals' last prices; talk is cheap to it.

    Source: Cournot 1838, chapter 7, for prices Bertrand 1883; with linear demand the dynamics
    converge to the Nash equilibrium (Vives 1999, "Oligopoly Pricing", chapter 6).
    """

    informed = True

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """The best reply."""
        del rng
        assert view.market is not None
        return view.market.best_response(view.recent[-1].rivals)


class WinContinueLoseReverse(PricingRule):
    """Trial and error: go on in the direction that raised profit, turn round when it fell.

    The price moves by one step a round. The first direction is drawn, and so is the direction
    when the last step changed nothing, and now and then by mistake.

    Source: Huck, Normann and Oechssler 2003, "Zero-knowledge cooperation in dilemma games",
    Journal of Theoretical Biology 220(1), 47-54.
    """

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """One step from the last price."""
        direction = last_success(view)
        if direction == 0 or rng.random() < ERROR:
            direction = int(rng.choice((-1, 1)))
        return view.recent[-1].price + direction * STEP * (view.high - view.low)


class TitForTat(PricingRule):
    """Charges what the cheapest rival charged last; with talk it seeks and keeps agreements.

    It proposes one step further in the direction that raised its profit (up, at first), agrees to
    any price in that direction, and sets the agreed price when all have named the same. For one
    round after a rival has set less than was agreed it agrees to nothing. In the uncooperative
    condition, and with that persona, it never agrees.

    It is not informed of demand, so it cannot stop at the cartel price: two of them go a step
    beyond, see profit fall and turn round, for ever (7.88 to 8.12 with the default market). As a
    price beyond it ends a spell of collusion, such a run goes on to its last round.

    Source: Axelrod 1984, "The Evolution of Cooperation"; the talk is our own addition.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._agreed: tuple[int, float] | None = None

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """The lowest price of the rivals."""
        del rng
        return min(view.recent[-1].rivals)

    def settled(self, view: FirmView) -> float:
        """The agreed price, or else the lowest price of the rivals."""
        named = proposals(view)
        if len(named) < len(view.names) or self._refuses(view):
            return self._price
        if max(named.values()) - min(named.values()) > SAME * (view.high - view.low):
            return self._price
        agreed = min(named.values())
        self._agreed = (view.round, agreed)
        return agreed

    def proposal(self, view: FirmView) -> float:
        """One step from the last price, unless agreements are off."""
        if self._refuses(view):
            return self._price
        step = (last_success(view) or 1) * STEP * (view.high - view.low)
        return _legal(view.recent[-1].price + step, view)

    def accepts(self, price: float, view: FirmView) -> bool:
        """Whether a price lies in the direction in which it would go itself."""
        if self._refuses(view):
            return super().accepts(price, view)
        return (price - view.recent[-1].price) * (last_success(view) or 1) > 0

    def _refuses(self, view: FirmView) -> bool:
        if "uncooperative" in (view.condition, view.persona):
            return True
        if self._agreed is None or self._agreed[0] != view.round - 1:
            return False
        broken_below = self._agreed[1] - SAME * (view.high - view.low)
        return min(view.recent[-1].rivals) < broken_below


class QLearning(PricingRule):
    """Q-learning with a memory of one round; other firms' prices are read to the nearest point.

    Args:
        spec: how the mind is named in the data.
        decay: how fast exploration fades: its probability in round t is ``exp(-decay * t)``.

    Attributes:
        learner: the learner; None before the first round.

    Source: Calvano, Calzolari, Denicolò and Pastorello 2020, American Economic Review 110(10),
    sections II and III.
    """

    informed = True

    def __init__(self, spec: str, decay: float = DECAY) -> None:
        super().__init__(spec)
        self._decay = decay
        self.learner: QLearner | None = None
        self._last: tuple[tuple[int, ...], int] | None = None

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """Learn from the last round, and choose a price of the grid."""
        assert view.market is not None
        if self.learner is None:
            try:
                self.learner = QLearner(view.market, self._decay)
            except ValueError as error:
                raise MindError(f"{error}: choose another mind.") from None
        learner, last = self.learner, view.recent[-1]
        state = (learner.place(last.price), *map(learner.place, last.rivals))
        if self._last is not None:
            learner.learn(*self._last, last.profit, state)
        choice = learner.choose(state, rng)
        self._last = (state, choice)
        return learner.grid[choice]


CLASSICAL_MINDS: dict[str, Callable[[str], PricingRule]] = {
    "default": BestResponse,
    "best_response": BestResponse,
    "win_continue_lose_reverse": WinContinueLoseReverse,
    "tit_for_tat": TitForTat,
    "q_learning": QLearning,
    "q_learning_fast": partial(QLearning, decay=FAST_DECAY),
}


def _legal(price: float, view: FirmView) -> float:
    return min(max(price, view.low), view.high)
