"""What theory says of an experiment, as marks for its plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis.plots.conditions import Mark
from sabm_mesa.analysis.theory.guessing_game import level_k_marks
from sabm_mesa.errors import UnknownName

if TYPE_CHECKING:
    from sabm_mesa.experiments.running import Outcome


def marks(name: str, outcome: Outcome) -> list[Mark]:
    """The marks of a theory.

    Args:
        name: ``levels`` (Nash and level-k picks, Nagel 1995), ``bertrand`` (the equilibrium and
            the cartel price), ``profits`` (the profits of a firm at these) or ``collusion`` (0 and
            1 of the collusion index, Calvano et al. 2020).
        outcome: the experiment.

    Raises:
        UnknownName: for another name.
    """
    check(name)
    return _MARKS[name](outcome)


def check(name: str) -> None:
    """Check that there is a theory of that name.

    Args:
        name: the name.

    Raises:
        UnknownName: when there is none.
    """
    if name not in _MARKS:
        raise UnknownName("theory", name, _MARKS)


def _levels(_: Outcome) -> list[Mark]:
    found = {0.0: "Nash\n0"}
    found |= {pick: f"k={k}\n{round(pick, 1):g}" for k, pick in level_k_marks(3).items()}
    return [Mark(label, (pick,)) for pick, label in found.items()]


def _first(outcome: Outcome, column: str) -> float:
    return float(outcome.model_data[column].iloc[0])


def _bertrand(outcome: Outcome) -> list[Mark]:
    return [
        Mark("Bertrand equilibrium price", (_first(outcome, "bertrand_price"),)),
        Mark("cartel price", (_first(outcome, "cartel_price"),)),
    ]


def _profits(outcome: Outcome) -> list[Mark]:
    return [
        Mark("profit at the Bertrand equilibrium", (_first(outcome, "bertrand_profit"),)),
        Mark("profit of a cartel", (_first(outcome, "cartel_profit"),)),
    ]


def _collusion(_: Any) -> list[Mark]:
    return [Mark("Bertrand equilibrium", (0.0,)), Mark("cartel", (1.0,))]


_MARKS: Mapping[str, Callable[[Outcome], list[Mark]]] = {
    "levels": _levels,
    "bertrand": _bertrand,
    "profits": _profits,
    "collusion": _collusion,
}
