"""Pages of reports: Markdown from a template, HTML from that Markdown, and numbers in words."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sabm_mesa.errors import one_line

NONE = "–"
DIGITS = 3
"""Significant digits of the largest number of a group."""
MOST_DECIMALS = 6
LEAST = 10**-MOST_DECIMALS / 2
VERDICT = "verdict"
"""The heading of the column whose words are verdicts."""
_SPECIAL = re.compile(
    r"[\\`*_\[\]<>|#~&$@]"
    r"|:(?=//)|(?<=www)\."  # some renderers make a link of these
    r"|^[-+=](?=[-+=\s]|$)"  # a list, rule or heading
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_PICTURE = "picture:"
_SAFE = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
    "style-src 'unsafe-inline'\">"
)
_STYLE = files(__package__).joinpath("page.css").read_text("utf-8")


def numbers(*values: float) -> list[str]:
    """Numbers of one group with the same number of decimals; a dash for NaN, ∞ for infinity.

    The largest has three significant digits, and integer parts are complete.
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    # A number smaller than the last decimal is a rest of rounding.
    places = DIGITS - 1 - math.floor(math.log10(largest)) if largest > LEAST else DIGITS - 1
    return [_fixed(value, min(max(places, 0), MOST_DECIMALS)) for value in values]


def number(value: float) -> str:
    """A number with three significant digits, or its whole integer part; a dash for NaN."""
    return numbers(value)[0]


def estimate(value: float, low: float, high: float) -> str:
    """An estimate with its interval, as in ``4.58 (2.42 to 7.33)``."""
    text, *ends = numbers(value, low, high)
    return text if math.isnan(low) else f"{text} ({' to '.join(ends)})"


def exact(value: float) -> str:
    """A published number with all its digits; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:,.10g}".replace("-", "−")


def effect(value: float) -> str:
    """The size of an effect in two decimals; a dash for NaN."""
    return _fixed(value, 2)


def p_value(p: float) -> str:
    """A p-value in two digits, or that it is below 0.001; a dash for NaN."""
    if math.isnan(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def p_in_words(p: float) -> str:
    """A p-value as in ``p = 0.02`` or ``p < 0.001``."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def percent(share: float) -> str:
    """A share from 0 to 1 in per cent; a dash for NaN."""
    return NONE if math.isnan(share) else f"{100 * share:.0f} %"


def _fixed(value: float, places: int) -> str:
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    text = f"{abs(value):,.{places}f}"
    return text if value > 0 or not text.strip("0.,") else f"−{text}"


class Verbatim(str):
    """A trusted text of this package, or a text within a block of code."""

    __slots__ = ()


def markdown(
    template: str, values: Mapping[str, Any], pictures: Mapping[str, str] | None = None
) -> str:
    """A text in Markdown; values in the template cannot act as Markdown or HTML.

    Pictures have their addresses, or ``picture:NAME`` for the HTML page when None.
    """
    environment = Environment(
        finalize=plain, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
        autoescape=False,
    )  # fmt: skip

    def address(name: str) -> Verbatim:
        return Verbatim(f"{_PICTURE}{name}" if pictures is None else pictures[name])

    text = environment.from_string(template).render(**values, address=address)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def fence(lines: Sequence[str]) -> Verbatim:
    """The marks around a block of code that marks in its lines cannot end."""
    longest = max((len(match) for line in lines for match in re.findall("`+", line)), default=0)
    return Verbatim("`" * max(3, longest + 1))


def html_page(title: str, text: str, pictures: Mapping[str, bytes]) -> str:
    """A self-contained HTML file: with styles and pictures, without scripts.

    Images have the address ``picture:NAME``; HTML in the text is shown as text.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = list(_dressed(parser.parse(text), pictures))
    body = parser.renderer.render(tokens, parser.options, {})
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{_SAFE}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _dressed(tokens: Sequence[Token], pictures: Mapping[str, bytes]) -> Iterator[Token]:
    """The tokens of a text with embedded pictures, and tables for narrow screens."""
    heading = ""
    for i, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                heading = _text_of(tokens[i + 1])
            case "inline":
                for image in (image for image in token.children or [] if image.type == "image"):
                    image.attrSet("src", _inline(pictures, str(image.attrGet("src"))))
            case "table_open":
                heads = _heads(tokens[i:])
                _dress_cells(tokens[i:], heads)
                kind = "table claims" if VERDICT in heads else "table"
                label = f'tabindex="0" role="region" aria-label="{escape(heading)}"'
                yield _html(f'<div class="{kind}" {label}>\n')
        yield token
        if token.type == "table_close":
            yield _html("</div>\n")


def _dress_cells(tokens: Sequence[Token], heads: Sequence[str]) -> None:
    """Name the cells of the table that begins here, and mark rows that begin a group."""
    column = 0
    ends = next(i for i, token in enumerate(tokens) if token.type == "table_close")
    for i, token in enumerate(tokens[:ends]):
        if token.type == "tr_open":
            column = 0
            if _text_of(tokens[i + 2]):
                token.attrSet("class", "group")
        elif token.type == "td_open":
            token.attrSet("data-label", heads[column])
            if heads[column] == VERDICT:
                _pill(tokens[i + 1])
            column += 1


def _heads(tokens: Sequence[Token]) -> list[str]:
    """The headings of the columns of the table that begins here."""
    ends = next(i for i, token in enumerate(tokens) if token.type == "thead_close")
    return [_text_of(tokens[i + 1]) for i in range(ends) if tokens[i].type == "th_open"]


def _text_of(token: Token) -> str:
    return "".join(child.content for child in token.children or [])


def _pill(token: Token) -> None:
    """Mark a verdict by its kind."""
    kind = _text_of(token).partition(" ")[0]
    if kind in {"agrees", "disagrees", "cannot", "robust", "fragile", "fails"}:
        opened = _html(f'<span class="verdict {kind}">', "html_inline")
        token.children = [opened, *(token.children or []), _html("</span>", "html_inline")]


def _html(text: str, kind: str = "html_block") -> Token:
    return Token(kind, "", 0, content=text)


def _inline(pictures: Mapping[str, bytes], address: str) -> str:
    picture = pictures[address.removeprefix(_PICTURE)]
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def plain(value: Any) -> Any:
    """A text without effects as Markdown or HTML."""
    if isinstance(value, Verbatim) or not isinstance(value, str):
        return value
    text = _SPECIAL.sub(lambda match: f"\\{match[0]}", one_line(value))
    return Verbatim(_NUMBERED.sub(r"\1\\\2", text))
