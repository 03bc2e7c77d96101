"""The page of the joint sentence making: its card, its columns, and the word for a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis.charts import Chart, lines
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.sentence_making.plots import ROUND

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.sentence_making.model import SentenceMaking


def charts(
    model: SentenceMaking, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The share of valid sentences, and how far sentences are from one another.

    Args:
        model: the model.
        model_data: one row per word set.
        agent_data: not used.
    """
    del model, agent_data
    valid = {"valid_ratio": "in the end", "valid_ratio_at_once": "at once"}
    spread = {"variance": "variance"}
    return [
        Chart("valid", "Valid sentences by round", lines(model_data, valid), "Share", (), 1),
        Chart("spread", "Variance of the sentences by round", lines(model_data, spread), "0 to 1"),
    ]


PAGE = ScenarioPage(
    charts=charts,
    round_name=ROUND,
    titles={
        "valid_ratio": "Valid sentences (share)",
        "valid_ratio_at_once": "Valid at once (share)",
        "variance": "Variance of the sentence vectors (0 to 1)",
    },
)
