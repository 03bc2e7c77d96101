"""The charts of the joint sentence making: valid sentences, and how they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sabm_mesa.analysis.charts import Chart, lines
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    from sabm_mesa.models.pairs.sentence_making.model import SentenceMaking


def charts(
    _model: SentenceMaking, model_data: pd.DataFrame, _agent_data: pd.DataFrame
) -> list[Chart]:
    """The share of valid sentences, and how far sentences are from one another."""
    valid = lines(model_data, {"valid_ratio": "valid"})
    spread = lines(model_data, {"variance": "variance"})
    return [
        Chart("valid", "Valid sentences by round", valid, "Share", high=1),
        Chart("spread", "Variance of the sentence vectors by round", spread, "Variance", high=1),
    ]


def table(model: SentenceMaking, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame] | None:
    """The first sentence of each writer to the last word set.

    Args:
        model_data: one row per word set.
    """
    if model_data.empty:
        return None
    rows = [
        (writer.unique_id, f"{writer.valid} of {model.n_sentences}", str(decisions[0].value))
        for writer in model.writers
        if (decisions := [sentence for sentence in writer.decisions if sentence.valid])
    ]
    caption = f"Sentences with {', '.join(model.words)}"
    return caption, pd.DataFrame(rows, columns=["writer", "valid", "first sentence"])


PAGE = ScenarioPage(
    questions={
        "Everybody writes alone: are sentences less alike?": {"interaction": "individual"},
        "Talks of two sentences: what happens?": {"max_turns": "2"},
        "Four writers instead of ten: what happens?": {"n_agents": 4},
    },
    charts=charts,
    table=table,
    round_name=("word set", 1),
    titles={
        "valid_ratio": "Valid sentences (share)",
        "variance": "Variance of the sentence vectors (0 to 1)",
    },
)
