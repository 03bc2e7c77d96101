"""Classical minds of the commons: conditional cooperation with agreements, and two benchmarks."""

from __future__ import annotations

from sabm_mesa.agents.commons_view import CommonsView
from sabm_mesa.agents.commons_words import Catch
from sabm_mesa.analysis.human_contributions import (
    first_belief,
    published,
    scheduled,
    type_names,
    type_shares,
    whole_amount,
)
from sabm_mesa.analysis.messages import stated_numbers
from sabm_mesa.analysis.theory.commons import regrown, threshold
from sabm_mesa.asks import Ask

FREE_RIDER = "free_rider"
SELFISH = "newcomer"
"""The persona with which one is a free rider (our choice); others change nothing here."""
ORDINARY = 5
"""How important classical minds find everything (our choice)."""


class Villager:
    """What all classical minds of the commons do when they talk and remember.

    They propose the amount that keeps next month's stock what it will be, in order, each once.
    Whoever keeps the minutes finds an agreement when at least two have named numbers and all
    named the same one last. What they write down to remember does not matter to them.

    Args:
        spec: how the mind is named in the data.
    """

    instant = True
    paid = False

    def __init__(self, spec: str) -> None:
        self.spec = spec

    async def answer(self, ask: Ask) -> object:
        """Answer a question.

        Args:
            ask: the question; its observation is a `CommonsView`.
        """
        view = ask.observation
        assert isinstance(view, CommonsView)
        match ask.name:
            case "act":
                return self.amount(ask, view)
            case "communicate":
                return self._say(ask, view)
            case "next_speaker":
                spoken = {message.speaker for message in view.talk}
                silent = [name for name in view.names if name not in spoken]
                return silent[0] if silent else ask.book.render("nobody", {})
            case "agreed":
                return ask.book.render("no" if _agreed(view) is None else "yes", {})
            case "limit":
                return _agreed(view)
            case "importance":
                return ORDINARY
            case "plan" | "reflect":
                self.learn(view)
        return ask.book.render(f"classical_{ask.name}", {})

    def amount(self, ask: Ask, view: CommonsView) -> int:
        """The units that it wants."""
        raise NotImplementedError

    def learn(self, view: CommonsView) -> None:
        """Learn from the month that is over; most learn nothing."""

    def _say(self, ask: Ask, view: CommonsView) -> str:
        if not view.catches:
            return ask.book.render("classical_silent", {})
        left = view.stock - sum(each.harvest for each in view.catches)
        limit = threshold(regrown(left, view.capacity), len(view.names))
        proposed = any(stated_numbers(each.text)[-1:] == (limit,) for each in view.talk)
        entry = "classical_accepts" if proposed else "classical_proposes"
        return ask.book.render(entry, {"limit": limit})


class ConditionalHarvester(Villager):
    """One of the types that people are in public goods games, carried over to a commons.

    Its type is drawn with the frequencies of Fischbacher & Gächter 2010. A contribution stands for
    a degree of cooperation, its share of their endowment: full cooperation is to take the
    sustainable amount of a person, none to take an equal share of the whole stock (a mapping of
    our choice; no human data support it). It contributes what the schedule of its type says at
    what it expects of the others: what the subjects expected at first, then what the others did
    last month, as far as their harvests are known. All types but free riders take no more than
    what was agreed (communication makes groups keep to agreements: Ostrom, Walker & Gardner 1992;
    that it is always so is our choice).

    Args:
        spec: how the mind is named in the data.

    Attributes:
        type: ``"conditional_cooperator"``, ``"free_rider"``, ``"triangle_cooperator"`` or
            ``"other"``; ``""`` until it is first asked for an amount.
        belief: the average contribution that it expects of the others, 0 to 20.

    Source: Fischbacher & Gächter 2010, AER 100(1) (types, schedules, first belief): see
        `sabm_mesa.analysis.human_contributions`.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.type, self.belief = "", first_belief()

    def amount(self, ask: Ask, view: CommonsView) -> int:
        """The units that its type takes."""
        self.type = self.type or _drawn_type(ask, view)
        expected = whole_amount(self.belief)
        cooperation = scheduled(type_names().index(self.type), expected) / _endowment()
        low, high = _span(view)
        amount = round(float(high - cooperation * (high - low)))
        if self.type != FREE_RIDER and view.agreed_limit is not None:
            amount = min(amount, view.agreed_limit)
        return amount

    def learn(self, view: CommonsView) -> None:
        """See how much the others cooperated."""
        others = [each for each in view.catches if each.name != view.name]
        if others:
            degrees = [_cooperation(each, view) for each in others]
            self.belief = _endowment() * sum(degrees) / len(degrees)


class Sustainable(Villager):
    """Takes what keeps the stock as it is when all do the same.

    Args:
        spec: how the mind is named in the data.

    Source: the Kantian optimization of Roemer 2010, Scandinavian Journal of Economics 112(1).
    """

    def amount(self, ask: Ask, view: CommonsView) -> int:
        """The sustainable amount of a person."""
        del ask
        return threshold(view.stock, len(view.names))


class OpenAccess(Villager):
    """Asks for all there is, as a myopic harvester does where nobody owns anything.

    Args:
        spec: how the mind is named in the data.

    Source: Gordon 1954, Journal of Political Economy 62(2).
    """

    def amount(self, ask: Ask, view: CommonsView) -> int:
        """The whole stock."""
        del ask
        return view.stock


def _drawn_type(ask: Ask, view: CommonsView) -> str:
    """The type of a person, by the shares of the types."""
    drawn = type_names()[ask.rng.choice(type_shares().size, p=type_shares())]
    return FREE_RIDER if view.persona == SELFISH else drawn


def _endowment() -> int:
    """The largest contribution in the experiment, to which a full cooperation belongs."""
    return int(published()["endowment"])


def _span(view: CommonsView) -> tuple[int, int]:
    """The amounts of full and of no cooperation."""
    n = len(view.names)
    return threshold(view.stock, n), view.stock // n


def _cooperation(catch: Catch, view: CommonsView) -> float:
    """The degree of cooperation of a harvest, from 0 to 1."""
    low, high = _span(view)
    if high == low:
        return float(catch.harvest <= low)
    return min(1.0, max(0.0, (high - catch.harvest) / (high - low)))


def _agreed(view: CommonsView) -> int | None:
    """The number that all who named one named last, if they are at least two."""
    last = {
        message.speaker: numbers[-1]
        for message in view.talk
        if (numbers := stated_numbers(message.text))
    }
    if len(last) < 2 or len(set(last.values())) > 1:
        return None
    number = next(iter(last.values()))
    return int(number) if number == int(number) and 0 <= number <= view.capacity else None
