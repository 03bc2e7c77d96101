"""The page of the commons: the word for a round."""

from sabm_mesa.models.commons.plots import ROUND
from sabm_mesa.models.declarations import ScenarioPage

PAGE = ScenarioPage(round_name=ROUND)
