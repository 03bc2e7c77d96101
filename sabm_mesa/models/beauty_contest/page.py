"""The page of the repeated beauty contest: the titles of its columns."""

from sabm_mesa.models.declarations import ScenarioPage

PAGE = ScenarioPage(
    titles={
        "mean": "Mean pick",
        "target": "Target (p × mean)",
        "variance": "Variance (picks squared)",
        "median": "Median pick",
        "ratio": "Mean pick over the last one",
        "high": "Largest legal pick",
        "p": "p (factor of the target)",
        "payoff": "Payoff (points)",
        "level": "Level k",
    }
)
