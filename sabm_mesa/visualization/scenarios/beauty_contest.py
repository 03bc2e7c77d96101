"""The page of the repeated beauty contest: what its columns are called."""

TITLES = {
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
"""Columns that are called otherwise than they are written."""
