"""Descriptions of scenarios, each made once, and their sections."""

from __future__ import annotations

from functools import cache
from typing import Any

from sabm_mesa.describe import describe
from sabm_mesa.models.registry import scenario


@cache
def described(name: str) -> dict[str, Any]:
    """The description of a scenario with its defaults."""
    return describe(scenario(name))


def blocks(description: dict[str, Any], title: str) -> list[Any]:
    """The blocks of the section with a title."""
    return next(each["blocks"] for each in description["odd"] if each["title"] == title)


def section(description: dict[str, Any], title: str) -> str:
    """The section with a title as one text."""
    return str(blocks(description, title))


def said(description: dict[str, Any], *numbers: str) -> str:
    """The text of the sections with some numbers, or of all."""
    return " ".join(
        str(each["blocks"])
        for each in description["odd"]
        if not numbers or each["number"] in numbers
    )


def words(text: str) -> str:
    """A text as one line."""
    return " ".join(text.split())
