"""The page of the joint sentence making: its card, its columns, and the word for a round."""

from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.sentence_making.plots import ROUND

PAGE = ScenarioPage(
    card_chart="scores",
    round_name=ROUND,
    titles={
        "valid_ratio": "Valid sentences (share)",
        "valid_ratio_at_once": "Valid at once (share)",
        "variance": "Variance of the sentence vectors (0 to 1)",
    },
)
