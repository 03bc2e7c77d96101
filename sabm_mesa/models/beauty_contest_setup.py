"""The reading of a repeated beauty contest's parameters, and what its players are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import ParameterError
from sabm_mesa.parameters import one_of, real, whole

if TYPE_CHECKING:
    import numpy as np

    from sabm_mesa.agents.repeated_beauty_contest import Past
    from sabm_mesa.models.repeated_beauty_contest import RepeatedBeautyContest

REVEALED = ("choices", "mean", "target", "winners", "own")
NOTICES = ("some", "count", "none")
ELICITATIONS = ("none", "reason", "full")
SMALLEST_P = 0.001
MOST = 1e6
"""Largest upper bound of the picks, and largest p."""


def asks_for_rules(model: RepeatedBeautyContest) -> bool:
    """Whether the players restate the rules now: before round 0, with full elicitation."""
    return model.elicitation == "full" and model.round == 0


def factor(given: Any) -> float:
    """The factor of the target.

    Args:
        given: a number, or a fraction as a text.

    Raises:
        ParameterError: when it cannot be read, or is not above 0.
    """
    if isinstance(given, str):
        try:
            given = float(Fraction(given.replace(" ", "")))
        except (ValueError, ZeroDivisionError, OverflowError):
            raise ParameterError(
                f"p has to be a number or a fraction such as 2/3, not {given[:60]!r}."
            ) from None
    return real("p", given, SMALLEST_P, MOST)


def upper_bound(given: Any, integer: bool, rng: np.random.Generator) -> float:
    """The largest legal pick, drawn where two bounds of it are given.

    Args:
        given: the bound, or two whole numbers between which it is drawn.
        integer: whether picks are whole numbers, and so the bound.
        rng: where it is drawn from.

    Raises:
        ParameterError: when it is something else.
    """
    if isinstance(given, str):
        raise ParameterError(f"high has to be a number or two such as [50, 200], not {given!r}.")
    if isinstance(given, Sequence):
        if len(given) != 2:
            raise ParameterError(f"high has to be one number or two (got {len(given)}).")
        least = whole("the first number of high", given[0], 1, int(MOST))
        most = whole("the second number of high", given[1], least, int(MOST))
        return float(rng.integers(least, most + 1))
    if integer:
        return float(whole("high (with integer picks)", given, 1, int(MOST)))
    return real("high", given, 1 / MOST, MOST)


def items(given: Any) -> tuple[str, ...]:
    """What is told of earlier rounds, in the order in which it is told.

    Args:
        given: the names, as a sequence or as a text with commas; an empty one for nothing.

    Raises:
        UsageError: for a name that does not exist.
    """
    if given is None:
        given = ()
    if not isinstance(given, str | Sequence):
        raise ParameterError(f"revealed has to be names with commas between them, not {given!r}.")
    names = given.split(",") if isinstance(given, str) else [str(name) for name in given]
    found = {one_of("revealed", name.strip(), REVEALED) for name in names if name.strip()}
    return tuple(name for name in REVEALED if name in found)


def last(played: Sequence[Past], window: int | None) -> Sequence[Past]:
    """The rounds within the window.

    Args:
        played: all rounds.
        window: how many of the last are told of; None for all.
    """
    return played if window is None else played[max(len(played) - window, 0) :]


def as_revealed(past: Past, revealed: Sequence[str]) -> Past:
    """A round with what is not revealed left out.

    Args:
        past: the round.
        revealed: what is revealed.
    """
    hidden: dict[str, Any] = {name: None for name in REVEALED if name not in {*revealed, "own"}}
    return replace(past, payoffs=None, **hidden)


def own_results(played: Sequence[Past], player: int) -> tuple[tuple[float | None, float], ...]:
    """A player's own pick and payoff in each of some rounds.

    Args:
        played: the rounds, with all that is known of them.
        player: its number.
    """
    return tuple(
        ((past.choices or ())[player - 1], (past.payoffs or ())[player - 1]) for past in played
    )
