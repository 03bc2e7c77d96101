"""The guests of the cocktail party."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.models.pairs.agents import PairAgent

if TYPE_CHECKING:
    from sabm_mesa.models.pairs.cocktail_party.model import CocktailParty


class Guest(PairAgent):
    """A guest of the party.

    Args:
        model: the party.

    Attributes:
        distances: ``PARTNER:DISTANCE`` of each partner in the window, separated by spaces.
    """

    model: CocktailParty

    def __init__(self, model: CocktailParty) -> None:
        super().__init__(model)
        self.distances = ""
