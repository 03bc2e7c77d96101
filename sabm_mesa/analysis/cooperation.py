"""Behavioural models of cooperation: conditional cooperators, free riders and unconditional ones.

A decision is a degree of cooperation, from 0 (none) to 1 (full). The models read the fact
``others``, shape (n,): the cooperation that the player expects of the others.

Sources:
    Fischbacher, Gächter and Fehr 2001, "Are people conditionally cooperative? Evidence from a
    public goods experiment", Economics Letters 71(3), 397-404; Fischbacher and Gächter 2010,
    American Economic Review 100(1), 541-556.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sabm_mesa.analysis.behaviour import (
    LIMITS,
    BehaviouralModel,
    Floats,
    FreeParameter,
    Mixture,
    NumberModel,
    Panel,
    Uniform,
    floored,
    n_legal,
)
from sabm_mesa.analysis.contributions import first_belief, published

SOURCE = "Fischbacher, Gächter & Fehr 2001; Fischbacher & Gächter 2010"
SIGMA = FreeParameter("sigma", "standard deviation of cooperation", 0.01, 2.0, log=True)


class ConditionalCooperator(NumberModel):
    """A conditional cooperator: cooperation rises with the expected cooperation of the others."""

    name, title, source = "conditional", "conditional cooperator", SOURCE
    parameters = (
        FreeParameter("intercept", "cooperation at none of the others", -1.0, 1.0),
        FreeParameter("slope", "rise with the cooperation of the others", 0.1, 2.0),
        SIGMA,
    )
    needs = (*LIMITS, "others")

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """A line."""
        means: Floats = parameters[0] + parameters[1] * panel.known["others"]
        return means


class UnconditionalCooperator(NumberModel):
    """An unconditional cooperator: cooperation does not depend on the others."""

    name, title, source = "unconditional", "unconditional cooperator", SOURCE
    parameters = (FreeParameter("level", "cooperation at any of the others", 0.05, 1.5), SIGMA)

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """A constant."""
        return np.full(len(panel), parameters[0])


class FreeRider(BehaviouralModel):
    """A free rider: does not cooperate, except for uniformly distributed slips."""

    name, title, source = "free_rider", "free rider", SOURCE
    parameters = (FreeParameter("slip", "probability that a free rider cooperates", 0.0, 0.5),)

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The logarithm of the probability of each degree."""
        slipped = parameters[0] / (n_legal(panel) - 1)
        return floored(np.where(panel.cells(panel.decisions) > 0, slipped, 1 - parameters[0]))

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw nothing, or any other degree."""
        slips, lots = rng.random((2, len(panel)))
        degree = panel.known["step"] * (1 + np.floor((n_legal(panel) - 1) * lots))
        return np.where(slips < parameters[0], degree, 0.0)


def cooperation_models() -> tuple[BehaviouralModel, ...]:
    """The mixture of the types of cooperation with common errors, each type alone, and chance.

    The type "other" of the source is the unconditional one here: the mean schedule of its "other"
    subjects is about flat. Hump-shaped cooperators count as conditional: both are alike if the
    others cooperate less than half.
    """
    types = ConditionalCooperator(), FreeRider(), UnconditionalCooperator()
    mixture = Mixture("cooperation_types", "types of cooperation", SOURCE, types)
    return mixture, *types, Uniform()


def cooperation_facts(others: Sequence[float], steps: int) -> dict[str, float]:
    """The facts of a player.

    Args:
        others: the last known cooperation of each of the others. Without any, the player expects
            the first belief of the subjects of Fischbacher and Gächter 2010.
        steps: number of steps from no to full cooperation.
    """
    belief = first_belief() / published()["endowment"]
    expected = sum(others) / len(others) if others else belief
    return {"others": expected, "low": 0.0, "high": 1.0, "step": 1 / steps}
