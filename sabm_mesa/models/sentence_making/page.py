"""The page of the joint sentence making: the picture of its card."""

from __future__ import annotations

from typing import Any

CARD: tuple[dict[str, Any], str] = ({}, "scores")
"""The run whose scores are the picture on the home page."""
TITLES = {
    "valid_ratio": "Valid sentences (share)",
    "valid_ratio_at_once": "Valid at once (share)",
    "variance": "Variance of the sentence vectors (0 to 1)",
}
"""Titles of columns that differ from their names."""
