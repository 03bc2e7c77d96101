"""A description as text: plain for the terminal, or Markdown for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

WIDTH = 100


def plain(block: Any) -> str:
    """A block as plain text of `WIDTH` columns.

    Args:
        block: see `sabm_mesa.odd.elements.Block`.
    """
    if isinstance(block, str):
        return "\n\n".join(_filled(each) for each in block.split("\n\n"))
    if isinstance(block, Mapping):
        return "\n".join(_hanging(_line((name, text))) for name, text in block.items())
    if block and isinstance(block[0], str):
        return "\n".join(_hanging(f"{n}. {text}") for n, text in enumerate(block, 1))
    return "\n".join(_hanging(_line(row)) for row in block[1:])


def markdown(block: Any) -> str:
    """A block as Markdown.

    Args:
        block: see `sabm_mesa.odd.elements.Block`.
    """
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping):
        return "\n".join(
            f"- `{name}`" + (f": {_one(text)}" if text else "") for name, text in block.items()
        )
    if block and isinstance(block[0], str):
        return "\n".join(f"{n}. {_one(text)}" for n, text in enumerate(block, 1))
    return table(block)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first cell of each row is code.

    Args:
        rows: the head, and the rows below it.
    """
    head, *body = rows
    lines = [head, ["---"] * len(head), *([f"`{name}`", *cells] for name, *cells in body)]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """A text as a block of code, whatever is in it.

    Args:
        text: the text.
    """
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text.strip()}\n{fence}"


def _line(row: Iterable[str]) -> str:
    name, *cells = row
    said = [_one(cell) for cell in cells if cell]
    return f"{name}: {' · '.join(said)}" if said else name


def _hanging(text: str) -> str:
    return _filled(_one(text), "  ", "      ")


def _filled(text: str, first: str = "", later: str = "") -> str:
    """A text in lines, in which no path or name is broken."""
    return fill(
        text, WIDTH, initial_indent=first, subsequent_indent=later,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _one(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _one(text).replace("|", "\\|")
