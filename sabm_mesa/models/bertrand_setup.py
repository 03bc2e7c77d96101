"""How a Bertrand competition starts: its phases, and the reading of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.bertrand_memory import PERIOD
from sabm_mesa.decisions import Number
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.bertrand_terms import Terms
from sabm_mesa.models.score import Score
from sabm_mesa.parameters import one_of, real, texts, whole
from sabm_mesa.scheduler import action, communication, planning

if TYPE_CHECKING:
    from sabm_mesa.models.bertrand_competition import BertrandCompetition

PHASE_ORDERS = ("communication,planning,action", "planning,communication,action")
NAMES = ("Ed", "Gill")
"""The names of two firms (those of the published prompts)."""
PER_FIRM = ("price", "demand", "profit")
SCORE = Score("Profit a round", "n_firms", column="profit", over="round", pairs=True)

Prices = float | Sequence[float] | None

TURNS = 3
"""How often each firm speaks in a round."""


def talk(model: BertrandCompetition) -> bool:
    """Whether the firms talk in this round."""
    return model.communication and model.round > 0


def plan_first(model: BertrandCompetition) -> bool:
    """Whether the firms plan in this round, before they talk."""
    return model.plans_first and model.round > 0 and model.round % PERIOD == 0


def plan_second(model: BertrandCompetition) -> bool:
    """Whether the firms plan in this round, after they have talked."""
    return not model.plans_first and model.round > 0 and model.round % PERIOD == 0


def price(model: BertrandCompetition) -> bool:
    """Whether the firms set prices in this round: in all but round 0."""
    return model.round > 0


PHASES = (
    planning(when=plan_first),
    communication(when=talk, turns=TURNS),
    planning(when=plan_second),
    action(when=price),
)
"""The phases of a round; of the two plannings one takes place, as `phase_order` says."""


def planned_changes(changes: Mapping[Any, Any] | None, terms: Terms) -> dict[int, Terms]:
    """Round → the terms from then on.

    Args:
        changes: round (a text of digits will do, as in JSON) → {parameter: value}.
        terms: the terms of the start.

    Raises:
        UsageError: when it is something else, or for a parameter or value that cannot be used.
    """
    if changes is None:
        return {}
    form = 'changes have to be a mapping such as {400: {"communication": false}}'
    if not isinstance(changes, Mapping):
        raise ParameterError(f"{form}, not {changes!r}.")
    by_round: dict[int, Mapping[str, Any]] = {}
    for key, values in changes.items():
        number = whole(
            "a round in changes",
            as_round(key),
            0,
        )
        if number in by_round or not isinstance(values, Mapping):
            raise ParameterError(f"{form}, with each round once (got {key!r}: {values!r}).")
        by_round[number] = values
    planned = {}
    for number in sorted(by_round):
        try:
            planned[number] = terms = terms.changed(**by_round[number])
        except ParameterError as error:
            raise ParameterError(f"changes at round {number}: {error}") from None
    return planned


def as_round(key: Any) -> Any:
    """A round as it is written in JSON, where keys are texts, as a number; else as it is."""
    return float(key) if isinstance(key, str) and key.removesuffix(".0").isdecimal() else key


def starting_prices(given: Any, n: int, legal: Number) -> list[float]:
    """The price of each firm in round 0.

    Args:
        given: one for all, or one for each; None: the cost.
        n: number of firms.
        legal: the legal prices.

    Raises:
        ParameterError: for prices that are not legal, or not one a firm.
    """
    if given is None:
        given = legal.low
    several = isinstance(given, Iterable) and not isinstance(given, str)
    prices = list(given) if several else [given] * n
    if len(prices) != n:
        raise ParameterError(f"initial_prices: {len(prices)} are given for {n} firms.")
    return [real("initial_prices", price, legal.low, legal.high) for price in prices]


def names_of(given: str | Sequence[str] | None, n: int) -> tuple[str, ...]:
    """The name of each firm.

    Args:
        given: a sequence, or a text with commas; None: those of the published prompts for two
            firms, else numbers.
        n: number of firms.

    Raises:
        ParameterError: for names that are not different, not one a firm, or not on one line.
    """
    if given is None:
        return NAMES if n == len(NAMES) else tuple(f"Firm {number}" for number in range(1, n + 1))
    names = texts("firm_names", given)
    usable = all(name and name.isprintable() for name in names)
    if len(names) != n or not usable or len({name.casefold() for name in names}) != n:
        raise ParameterError(f"firm_names: {n} different names are needed (got {given!r}).")
    return tuple(names)


def labels_of(names: Sequence[str], minds: Sequence[str]) -> list[str]:
    """How the firms are called in plots: by name, with their minds where these differ.

    Args:
        names: the name of each firm.
        minds: the spec of the mind of each firm.
    """
    if len(set(minds)) == 1:
        return list(names)
    return [f"{name} ({mind})" for name, mind in zip(names, minds, strict=True)]


def is_plan_first(given: str | Sequence[str]) -> bool:
    """Whether the firms plan before they talk.

    Args:
        given: the names of the phases in order, as a sequence or as a text with commas.

    Raises:
        UnknownName: for another order than those of `PHASE_ORDERS`.
    """
    order = ",".join(texts("phase_order", given))
    return one_of("phase_order", order, PHASE_ORDERS) == PHASE_ORDERS[1]


def columns_by_firm(n: int) -> dict[str, str]:
    """The model columns that stand for one firm, by its number."""
    return {f"{name}_{i}": f"{name}_{i}" for name in PER_FIRM for i in range(1, n + 1)}
