"""The page of the public goods game: the picture of its card."""

from __future__ import annotations

from typing import Any

CARD: tuple[dict[str, Any], str] = (
    {
        "n_players": 24,
        "group_size": 4,
        "matching": "stranger",
        "endowment": 20,
        "multiplier": 1.6,
    },
    "contributions",
)
"""The run whose contributions are the picture on the home page: a laboratory session."""
