"""The page of finite games."""

from sabm_mesa.models.declarations import ScenarioPage

PAGE = ScenarioPage(card_run={"n_players": 24, "matching": "stranger", "n_rounds": 10})
