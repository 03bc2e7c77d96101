"""Classical guests of the cocktail party in addition to the sociable one."""

from __future__ import annotations

from sabm_mesa.models.pairs.model import Sociable


class RandomPartners(Sociable):
    """A sociable agent without reinforcement: all others are equally likely (the null model)."""

    reinforcement = 0.0
