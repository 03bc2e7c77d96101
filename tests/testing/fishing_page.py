"""A page whose card names a parameter that there is not."""

from sabm_mesa.models.declarations import ScenarioPage

PAGE = ScenarioPage(card_run={"n_boats": 3})
