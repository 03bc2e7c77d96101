"""The page of the public goods game: its card shows a laboratory session."""

from sabm_mesa.models.declarations import ScenarioPage

PAGE = ScenarioPage(
    card_run={
        "n_players": 24,
        "group_size": 4,
        "matching": "stranger",
        "endowment": 20,
        "multiplier": 1.6,
    },
    card_chart="contributions",
)
