"""The public goods game: contributions to a pot are multiplied and split equally.

Source:
    Isaac and Walker (1988), "Group Size Effects in Public Goods Provision: The Voluntary
    Contributions Mechanism", Quarterly Journal of Economics 103(1), 179-199: the linear game and
    its marginal per capita return.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def marginal_return(multiplier: float, n_players: int) -> float:
    """The return of one unit to the player that contributes it, ``multiplier / n_players``.

    Args:
        multiplier: factor by which the pot grows, more than 0.
        n_players: players that share the pot, 1 or more.

    Raises:
        ValueError: for an argument outside its range.
    """
    if not multiplier > 0 or n_players < 1:
        raise ValueError(f"need multiplier > 0 and n_players >= 1, not {multiplier}, {n_players}")
    return multiplier / n_players


def payoffs(contributions: Sequence[float], endowment: float, multiplier: float) -> Floats:
    """The payoff of each player: ``endowment − c_i + multiplier · Σ c / n``.

    Args:
        contributions: the contributions of the n players, from 0 to `endowment`.
        endowment: money of each at the start.
        multiplier: factor by which the pot grows, more than 0.

    Returns:
        Array of n payoffs, in units of the endowment's money; empty without players. They add up
        to ``n · endowment + (multiplier − 1) · Σ c``.

    Raises:
        ValueError: for a contribution outside its range, or a multiplier that is not positive.
    """
    given = np.asarray(contributions, dtype=np.float64)
    if given.size == 0:
        return given
    if not ((given >= 0) & (given <= endowment)).all():
        raise ValueError(f"contributions must lie between 0 and {endowment}")
    paid: Floats = endowment - given + marginal_return(multiplier, given.size) * given.sum()
    return paid


def dominant_contribution(endowment: float, multiplier: float, n_players: int) -> float | None:
    """The contribution that pays best against all contributions of the others.

    Args:
        endowment: money of each at the start.
        multiplier: factor by which the pot grows, more than 0.
        n_players: players that share the pot, 1 or more.

    Returns:
        0 when the return of a unit is below one (the dilemma, with a multiplier below the number
        of players), the endowment when it is above, None when all contributions pay the same.
    """
    back = marginal_return(multiplier, n_players)
    if back == 1:
        return None
    return 0.0 if back < 1 else float(endowment)


def optimal_contribution(endowment: float, multiplier: float) -> float | None:
    """The common contribution that is best for all together.

    Args:
        endowment: money of each at the start.
        multiplier: factor by which the pot grows, more than 0.

    Returns:
        The endowment when the pot grows, 0 when it shrinks, None when it stays the same.
    """
    if multiplier == 1:
        return None
    return float(endowment) if multiplier > 1 else 0.0
