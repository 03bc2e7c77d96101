"""Classical minds of the commons: conditional cooperation with agreements, and two benchmarks."""

from __future__ import annotations

from sabm_mesa.analysis.contributions import (
    first_belief,
    published,
    scheduled,
    type_names,
    type_shares,
    whole_amount,
)
from sabm_mesa.analysis.messages import stated_numbers
from sabm_mesa.core.answers import Number
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.commons.theory import cooperation, regrown, threshold

FREE_RIDER = "free_rider"
SELFISH = "newcomer"
"""The persona of a free rider (our choice); other personas change nothing."""
ORDINARY = 5
"""The importance that classical minds give to everything (our choice)."""


class ClassicalHarvester(ClassicalMind):
    """The talk and the memory of all classical minds of the commons.

    Each speaks once, in order, and proposes the threshold of the next month. The keeper of the
    minutes records an agreement if at least two harvesters named numbers and their last numbers are
    all equal. Remembered texts do not change their decisions. In the talk they know the stock of
    the month from the question about the harvest.

    Attributes:
        stock: units at the beginning of the month, from the last question on its harvest.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.stock = 0

    async def answer(self, ask: Ask) -> object:
        """Answer a question."""
        facts = ask.facts
        match ask.name:
            case "act":
                self.stock = facts.stock
                return self.amount(ask, facts)
            case "communicate":
                return self._say(ask, facts)
            case "next_speaker":
                spoken = {message.name for message in facts.said}
                silent = [name for name in facts.names if name not in spoken]
                return silent[0] if silent else ask.book.render("nobody", {})
            case "agreed":
                return ask.book.render("no" if _agreed(facts) is None else "yes", {})
            case "limit":
                agreed = _agreed(facts)
                assert isinstance(ask.spec, Number)
                return agreed if agreed is None else min(agreed, int(ask.spec.high))
            case "importance":
                return ORDINARY
            case "plan" | "reflect":
                self.learn(facts)
        return ask.book.render(f"classical_{ask.name}", {})

    def amount(self, ask: Ask, facts: Facts) -> int:
        """The amount that it requests (units)."""
        raise NotImplementedError

    def learn(self, facts: Facts) -> None:
        """Learn from the finished month; does nothing by default."""

    def _say(self, ask: Ask, facts: Facts) -> str:
        if not facts.catches:
            return ask.book.render("classical_silent", {})
        left = self.stock - sum(catch["harvest"] for catch in facts.catches)
        limit = threshold(regrown(left, facts.capacity), len(facts.names))
        proposed = any(stated_numbers(message.text)[-1:] == (limit,) for message in facts.said)
        entry = "classical_accepts" if proposed else "classical_proposes"
        return ask.book.render(entry, {"limit": limit})


class ConditionalHarvester(ClassicalHarvester):
    """A type of players of public goods games, transferred to a commons.

    Its type is drawn with the frequencies of Fischbacher & Gächter 2010. A contribution, as a share
    of their endowment, is a degree of cooperation: full cooperation is to take the threshold, no
    cooperation is to take an equal share of the whole stock (our choice, without support from human
    data). The schedule of its type gives the contribution at the expected contribution of the
    others: first the belief of the subjects, then the known cooperation of the others last month.
    All types except free riders take at most the agreed amount (communication makes groups keep
    agreements: Ostrom, Walker & Gardner 1992; that they always do is our choice).

    Attributes:
        type: ``"conditional_cooperator"``, ``"free_rider"``, ``"triangle_cooperator"`` or
            ``"other"``; ``""`` before its first amount.
        belief: the mean contribution that it expects of the others, 0 to 20.

    Source: Fischbacher & Gächter 2010, AER 100(1) (types, schedules, first belief): see
        `sabm_mesa.analysis.contributions`.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.type, self.belief = "", first_belief()

    def amount(self, ask: Ask, facts: Facts) -> int:
        """The amount by its type (units)."""
        self.type = self.type or _drawn_type(ask, facts)
        expected = whole_amount(self.belief)
        given = scheduled(type_names().index(self.type), expected) / _endowment()
        low, high = _span(facts.stock, len(facts.names))
        amount = round(float(high - given * (high - low)))
        if self.type != FREE_RIDER and facts.agreed_limit is not None:
            amount = min(amount, facts.agreed_limit)
        return amount

    def learn(self, facts: Facts) -> None:
        """Revise the belief by the cooperation of the others."""
        others = [catch for catch in facts.catches if catch["name"] != facts.name]
        if others:
            n = len(facts.names)
            degrees = [cooperation(other["harvest"], self.stock, n) for other in others]
            self.belief = _endowment() * sum(degrees) / len(degrees)


class Sustainable(ClassicalHarvester):
    """Takes the amount that keeps the stock constant if all do the same.

    Source: the Kantian optimization of Roemer 2010, Scandinavian Journal of Economics 112(1).
    """

    def amount(self, ask: Ask, facts: Facts) -> int:
        """The sustainable amount of a person (units)."""
        del ask
        return threshold(facts.stock, len(facts.names))


class OpenAccess(ClassicalHarvester):
    """Asks for the whole stock, as a myopic harvester without property rights does.

    Source: Gordon 1954, Journal of Political Economy 62(2).
    """

    def amount(self, ask: Ask, facts: Facts) -> int:
        """The whole stock (units)."""
        del ask
        return int(facts.stock)


def _drawn_type(ask: Ask, facts: Facts) -> str:
    """A type, drawn by the shares of the types; the selfish persona is a free rider."""
    drawn = type_names()[ask.rng.choice(type_shares().size, p=type_shares())]
    return FREE_RIDER if facts.persona == SELFISH else drawn


def _endowment() -> int:
    """The largest contribution in the experiment, which counts as full cooperation."""
    return int(published()["endowment"])


def _span(stock: int, n: int) -> tuple[int, int]:
    """The amounts of full and of no cooperation, of `n` harvesters."""
    return threshold(stock, n), stock // n


def _agreed(facts: Facts) -> int | None:
    """The common last number of two or more harvesters, or None."""
    last = {
        message.name: numbers[-1]
        for message in facts.said
        if (numbers := stated_numbers(message.text))
    }
    if len(last) < 2 or len(set(last.values())) > 1:
        return None
    number = next(iter(last.values()))
    return int(number) if number == int(number) and number >= 0 else None
