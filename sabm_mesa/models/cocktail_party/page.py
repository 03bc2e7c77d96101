"""The page of the cocktail party: fewer charts while it is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.models.cocktail_party import plots
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    from sabm_mesa.models.cocktail_party.model import CocktailParty


def charts(model: CocktailParty, subtitle: str, at_rest: bool) -> Mapping[str, Any]:
    """The plots of the scenario; while rounds follow one another, only the quickly drawn ones.

    Args:
        model: the party.
        subtitle: the condition, minds and seed.
        at_rest: whether the party is paused.
    """
    model_data, agent_data = model.model_frame(), model.agent_frame()
    if model_data.empty:
        return {}
    if at_rest:
        return plots.figures(model_data, agent_data, subtitle)
    return {
        "ratios": plots.ratios_by_round(model_data, agent_data, subtitle),
        "network": plots.network_by_period(agent_data, subtitle),
    }


PAGE = ScenarioPage(card_chart="network", charts=charts)
