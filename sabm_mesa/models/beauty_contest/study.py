"""Behavioural models of guessing games: levels of reasoning with errors.

They read these facts, all of shape (n,): ``reference`` (the pick of level 0: the middle of the
range, or the last mean) and ``p`` (factor of the target).

Sources:
    Nagel 1995, American Economic Review 85(5), 1313-1326: levels, from a reference.
    Stahl and Wilson 1995, Games and Economic Behavior 10(1), 218-254: levels as types.
"""

from __future__ import annotations

import numpy as np

from sabm_mesa.analysis.behaviour import (
    LIMITS,
    BehaviouralModel,
    Floats,
    FreeParameter,
    Mixture,
    NumberModel,
    Panel,
    PublishedEstimate,
    Uniform,
)

K_MAX = 3
"""The deepest level of the mixture."""
REAL_STEPS = 100
"""Number of steps between the ends of the range for real picks."""


class LevelOfReasoning(NumberModel):
    """A player of level k, who picks the reference times p to the power of k, with an error.

    The standard deviation of the error is a share of the reference, since picks come closer to each
    other as they fall (our choice). Level 1 is the noisy best reply to the last mean.
    """

    source = "Nagel 1995"
    parameters = (
        FreeParameter("sigma", "standard deviation of a pick, as a share of the reference",
                      0.001, 1.0, log=True),
    )  # fmt: skip
    needs = (*LIMITS, "reference", "p")

    def __init__(self, k: int) -> None:
        self.k, self.name, self.title = k, f"level_{k}", f"level {k}, with errors"

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The pick of the level."""
        del parameters
        known = panel.known
        return np.minimum(known["reference"] * known["p"] ** self.k, known["high"])

    def deviation(self, parameters: Floats, panel: Panel) -> Floats:
        """In proportion to the reference, but no less than the rounding to legal picks."""
        known = panel.known
        deviations: Floats = np.maximum(parameters[0] * known["reference"], known["step"] / 2)
        return deviations


class LevelZero(Uniform):
    """A player of level 0, who picks at random."""

    name, title, source = "level_0", "uniform picks", "Nagel 1995"


def guessing_models() -> tuple[BehaviouralModel, ...]:
    """The mixture of levels with the same size of errors, level 1 alone, and chance."""
    levels = LevelZero(), *(LevelOfReasoning(k) for k in range(1, K_MAX + 1))
    source = "Nagel 1995; Stahl & Wilson 1995"
    return Mixture("level_k", "mixture of levels", source, levels), LevelOfReasoning(1), Uniform()


def guessing_facts(
    reference: float, p: float, low: float, high: float, *, whole: bool
) -> dict[str, float]:
    """The facts of a player that picks a whole or a real number from a range."""
    step = 1.0 if whole else (high - low) / REAL_STEPS
    return {"reference": reference, "p": p, "low": low, "high": high, "step": step}


PEOPLE = (
    PublishedEstimate(
        "67 students, shares of picks near a step",
        "level_k",
        {"share_level_1": 0.269, "share_level_2": 0.239, "share_level_3": 0.015},
        "Nagel 1995, figure 2B",
    ),
)
"""Shares of classes of picks, not of mixture types."""
