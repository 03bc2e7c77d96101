"""The page of the cocktail party: its card and its charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis.charts import Chart, lines
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.cocktail_party.model import CocktailParty


def charts(model: CocktailParty, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """The ratios, the number of conversations, and the semantic distance.

    Args:
        model: the party.
        model_data: one row per round.
        agent_data: not used.
    """
    del model, agent_data
    ratios = {
        "distinct_conversation_ratio": "different conversations",
        "distinct_invitation_ratio": "different invitations",
        "repeat_rate": "repeated partners",
    }
    counts = {"conversations": "conversations", "invitations": "invitations"}
    distance = {"semantic_distance": "mean distance"}
    return [
        Chart("ratios", "Who meets by round", lines(model_data, ratios), "Ratio", high=1),
        Chart("meetings", "Conversations by round", lines(model_data, counts), "Number"),
        Chart(
            "distance", "Distance of what is said by round", lines(model_data, distance), "0 to 1"
        ),
    ]


PAGE = ScenarioPage(charts=charts)
