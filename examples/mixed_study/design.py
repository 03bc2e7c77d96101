"""What the protocol fixes before the first group plays."""

from __future__ import annotations

from collections import Counter

SCENARIO = "beauty-contest"
GAME = {"n_players": 16, "n_rounds": 4}
"""All else is as the scenario has it by default, since the host's page can set no more."""
RULES = ("p", "high", "integer", "prize", "window", "revealed", "n_fixed", "notice", "elicitation")
"""Settings that must be equal in all groups, in addition to `GAME`, condition and personas."""
N_PEOPLE = 8
"""People in a mixed group; the other players are language models."""
GROUPS = 26
"""Groups in each condition."""
ALPHA, POWER = 0.05, 0.8
MOST_INVALID = 0.2
"""A group is left out when a larger share of its people's decisions is invalid."""

ONLY, MIXED = "people only", "mixed"
CONDITIONS = (ONLY, MIXED)
PEOPLE = "classical:empirical_step"
"""Stands in for people: picks drawn from what Nagel's subjects did. These are no people."""
MODELS = "classical:level_2"
"""Stands in for a language model: always two steps of reasoning. This is no language model."""


def populations(people: str, models: str) -> dict[str, dict[str, int]]:
    """Condition → mind spec → number of players.

    Args:
        people: the spec of those who are people, or stand in for them.
        models: the spec of those who are language models, or stand in for them.
    """
    n_players = GAME["n_players"]
    mixed = Counter({people: N_PEOPLE}) + Counter({models: n_players - N_PEOPLE})
    return {ONLY: {people: n_players}, MIXED: dict(mixed)}
