"""The page of the Keynesian beauty contest: the titles of its columns."""

TITLES = {
    "mean": "Mean pick",
    "target": "Target (⅔ of the mean)",
    "variance": "Variance (picks squared)",
    "agreement": "Agreement (share of messages)",
    "payoff": "Payoff (credits)",
    "level": "Level k",
}
"""Column → title, where the title does not follow from the name."""
