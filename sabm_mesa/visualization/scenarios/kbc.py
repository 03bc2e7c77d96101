"""The page of the Keynesian beauty contest: what its columns are called."""

TITLES = {
    "mean": "Mean pick",
    "target": "Target (⅔ of the mean)",
    "variance": "Variance (picks squared)",
    "agreement": "Agreement (share of messages)",
    "payoff": "Payoff (credits)",
    "level": "Level k",
}
"""Columns that are called otherwise than they are written."""
