"""The page of the Bertrand competition: its plots serve; only the picture of its card is chosen."""

from __future__ import annotations

from typing import Any

CARD: tuple[dict[str, Any], str] = (
    {"minds": "classical:win_continue_lose_reverse", "n_rounds": 120},
    "prices",
)
"""The run whose prices are the picture on the home page."""
