"""How columns, numbers and those who decide are called on the pages."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import SabmError
from sabm_mesa.llm.prices import IN_A_FILE

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

_log = logging.getLogger(__name__)

FREE, PAID = "free", "paid"
_FREE_OF_CHARGE = ("classical", "fixed:", "py:", IN_A_FILE)
DIGITS = 4
"""Significant digits of a number that is no whole one, at the most."""
DIGITS_TYPED = 9
"""Digits of a number that somebody types, at the most."""
SCENARIOS = "sabm_mesa.visualization.scenarios"
PARTS = {
    "escaped": "Escaped, {} (people)",
    "congestion": "Crowd near {} (people)",
    "price": "Price of {}",
    "demand": "Demand for {}",
    "profit": "Profit of {}",
}
"""What is before the name or number in columns that there are several of."""


def module_of(scenario_name: str) -> ModuleType | None:
    """What is particular to a scenario's page, where there is anything.

    Args:
        scenario_name: the name of the scenario.
    """
    place = f"{SCENARIOS}.{scenario_name.replace('-', '_')}"
    return import_module(place) if find_spec(place) is not None else None


def titles_of(model: SmartModel) -> Titles:
    """What the columns of a scenario are called: ``TITLES`` of its page's module.

    Args:
        model: the model.
    """
    return Titles(getattr(module_of(model.scenario_name), "TITLES", {}), names_in(model))


@dataclass(frozen=True)
class Titles:
    """What people call the columns of a scenario.

    Attributes:
        own: columns that are called otherwise than they are written.
        names: the names of the agents, for columns that end with the number of one.
    """

    own: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()

    def __getitem__(self, column: str) -> str:
        """What people call a column, by its name in the data."""
        if column == "round":
            return "Round (from 0)"
        if column in self.own:
            return self.own[column]
        kind, _, rest = column.partition("_")
        if kind in PARTS and rest:
            numbered = rest.isdecimal() and 0 < int(rest) <= len(self.names)
            return PARTS[kind].format(self.names[int(rest) - 1] if numbered else rest)
        words = re.sub("^n_", "", column).replace("_", " ").strip() or column
        return words[:1].upper() + words[1:] if len(words) > 1 else words


def counting(model: SmartModel) -> tuple[str, int]:
    """What people call a round, and the number of the first: as the plots of the scenario say.

    Args:
        model: the model.

    Returns:
        ``ROUND`` of the module of its plots; ``("round", 0)`` where there is none.
    """
    plots = import_module(model.plots) if model.plots else None
    found: tuple[str, int] = getattr(plots, "ROUND", ("round", 0))
    return found


def round_of(model: SmartModel, number_: int) -> str:
    """A round as people call it, such as ``"round 3"`` or ``"month 4"``.

    Args:
        model: the model.
        number_: the round in the data, from 0.
    """
    noun, first = counting(model)
    return f"{noun} {number_ + first}"


def number(value: Any) -> str:
    """A value as it is shown: a dash for none, and four significant digits at the most."""
    if type(value).__name__ in {"bool", "bool_"}:
        return "yes" if value else "no"
    if not isinstance(value, float):
        return "–" if value is None else str(value)
    if math.isnan(value):
        return "–"
    if math.isfinite(value) and abs(value) >= 10 ** (DIGITS - 1):
        return f"{value:,.0f}"
    return f"{value:.{DIGITS}g}"


def told(error: Exception) -> str:
    """What went wrong, in a line; what is no error of the package is logged with its place too.

    Args:
        error: the error.
    """
    if isinstance(error, SabmError):
        return str(error)
    _log.error("An error that is none of the package's.", exc_info=error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def whole_in(text: str) -> int | None:
    """The whole number that somebody has typed, if it is one of a size that there are.

    Args:
        text: the text.
    """
    typed = text.strip()
    return int(typed) if typed.isdecimal() and len(typed) <= DIGITS_TYPED else None


def count(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def name_of(model: SmartModel, agent: int | str) -> str:
    """What an agent is called: by its name where the scenario gives one, else by its number."""
    if isinstance(agent, str):  # in some scenarios people speak by their names
        return agent
    names = names_in(model)
    if 0 < agent <= len(names):
        return names[agent - 1]
    return f"{noun_of(model).capitalize()} {agent}"


def names_in(model: SmartModel) -> Sequence[str]:
    """The names of the agents in the order of their ids, where the scenario gives any."""
    names = getattr(model, "names", ())
    return [str(name) for name in names] if isinstance(names, list | tuple) else ()


def noun_of(model: SmartModel) -> str:
    """What the agents of a model are called, such as ``"player"``."""
    return type(model.population[0]).__name__.lower() if model.population else "agent"


def who_decides(model: SmartModel) -> tuple[str, str]:
    """Which minds decide, in a sentence, and whether answers cost money.

    Args:
        model: the model.

    Returns:
        The sentence, and ``"paid"`` or ``"free"``.
    """
    paid = any(agent.mind.paid for agent in model.population)
    return _sentence(model.minds_in_use(), noun_of(model), paid)


def who_would_decide(minds: str | Mapping[str, int], noun: str) -> tuple[str, str]:
    """Which minds would decide in a model that is still to be made.

    Args:
        minds: one for all, or a mapping → count.
        noun: what an agent is called.

    Returns:
        As `who_decides`.
    """
    counts = {minds: 0} if isinstance(minds, str) else dict(minds)
    counts = {spec: n if type(n) is int else 0 for spec, n in counts.items()}  # JSON may say else
    return _sentence(counts, noun, any(spec.startswith("llm:") for spec in counts))


def _sentence(minds: Mapping[str, int], noun: str, paid: bool) -> tuple[str, str]:
    if len(minds) == 1:
        spec, n = next(iter(minds.items()))
        if spec.startswith("classical"):
            return f"Classical behavioural rules decide ({spec}): no language model.", FREE
        sentence = f"{_who(spec)} decides for {count(n, noun) if n else f'all {noun}s'}"
    else:
        parts = [f"{_who(spec)} for {n}" for spec, n in minds.items()]
        sentence = f"Different minds decide for the {count(sum(minds.values()), noun)}: "
        sentence += "; ".join(parts)
    if paid and not all(spec.startswith(_FREE_OF_CHARGE) for spec in minds):
        return f"{sentence}: answers may cost money.", PAID
    if any(spec.startswith(IN_A_FILE) for spec in minds):
        return f"{sentence}: the model runs on this machine, and costs nothing.", FREE
    return f"{sentence}: no language model.", FREE


def _who(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    names = {
        "llm": "Language model", "gguf": "Language model", "fixed": "The fixed answer",
        "classical": "Classical rule",
    }  # fmt: skip
    return f"{names[kind]} {rest}".strip() if kind in names else spec
