"""The page of the Keynesian beauty contest: the titles of its columns."""

from sabm_mesa.models.declarations import ScenarioPage

PAGE = ScenarioPage(
    titles={
        "mean": "Mean pick",
        "target": "Target (⅔ of the mean)",
        "variance": "Variance (picks squared)",
        "agreement": "Agreement (share of messages)",
        "payoff": "Payoff (credits)",
        "level": "Level k",
    }
)
