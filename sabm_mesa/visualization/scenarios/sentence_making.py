"""The page of the joint sentence making: who hears whom, and the picture of its card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sabm_mesa.models.pair_chats import Message, PairChats

CARD: tuple[dict[str, Any], str] = ({}, "scores")
"""The run whose scores are the picture on the home page."""
TITLES = {
    "valid_ratio": "Valid sentences (share)",
    "valid_ratio_at_once": "Valid at once (share)",
    "variance": "Variance of the sentence vectors (0 to 1)",
}
"""Columns that are called otherwise than they are written."""


def hearers(_model: PairChats, message: Message) -> str:
    """Who heard a message: the other one of the talk.

    Args:
        message: what was said.
    """
    return f"Writer {message.hearer}"
