"""Descriptions from the code: docstrings in Google style, and the spec sheets of scenarios.

Docstrings are parsed by the library `docstring-parser`. A spec sheet is the docstring of a
scenario's module, whose headings the scenario chooses freely.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import zip_longest
from typing import Any

from docstring_parser import Docstring, ParseError
from docstring_parser.google import GoogleParser

_PARSER = GoogleParser()
_BASE = re.compile(r"see `SmartModel`[;.]?\s*")
_LITERAL = re.compile(r"``(.+?)``", re.DOTALL)


def paragraphs(text: str) -> str:
    """A text with one line per paragraph, and code between single backticks.

    Args:
        text: a text with line breaks within its paragraphs.
    """
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text))
    joined = (" ".join(line.strip() for line in block.splitlines()) for block in blocks)
    return _LITERAL.sub(r"`\1`", "\n\n".join(paragraph for paragraph in joined if paragraph))


def description(of: Any) -> str:
    """The docstring of a class or function up to its first section, such as ``Args``.

    Args:
        of: the class or function.
    """
    return paragraphs(_parsed(of.__doc__).description or "")


def summary(of: Any) -> str:
    """The first paragraph of the docstring of a class or function.

    Args:
        of: the class or function.
    """
    return description(of).partition("\n\n")[0]


def arguments(of: type) -> dict[str, str]:
    """Argument → meaning, from the docstrings of a class and its base classes.

    References to `SmartModel` are replaced by the meaning there.

    Args:
        of: the class.
    """
    return _meanings("param", of.__mro__)


def attributes(of: type, without: type = object) -> dict[str, str]:
    """Attribute → meaning, from the docstrings of a class and its base classes.

    Args:
        of: the class.
        without: a class that is left out together with its base classes.
    """
    return _meanings("attribute", (cls for cls in of.__mro__ if cls not in without.__mro__))


def spec_sheet(model: type) -> str:
    """The spec sheet of a scenario: the docstring of its module."""
    return inspect.cleandoc(sys.modules[model.__module__].__doc__ or "")


def sheet_sections(sheet: str) -> Mapping[str, str]:
    """Heading → paragraphs of a spec sheet; text without a heading is left out.

    Args:
        sheet: the spec sheet: headings at the margin, and their texts indented below them.
    """
    sections: dict[str, list[str]] = {}
    heading = ""
    lines = sheet.splitlines()
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if line and not line.startswith(" "):
            heading = line.strip() if after.startswith("    ") else ""
        elif heading:
            sections.setdefault(heading, []).append(line)
    return {name: paragraphs("\n".join(text)) for name, text in sections.items()}


@cache
def _parsed(docstring: str | None) -> Docstring:
    """The parts of a docstring; only its description if its sections have another style."""
    text = docstring or ""
    try:
        return _PARSER.parse(text)
    except ParseError:
        return _PARSER.parse(_PARSER.titles_re.split(inspect.cleandoc(text))[0])


def _meanings(key: str, classes: Iterable[type]) -> dict[str, str]:
    """Name → meaning; the first class that has the name counts."""
    meanings: dict[str, str] = {}
    for cls in classes:
        for param in _parsed(cls.__doc__).params:
            if param.args[0] != key:
                continue
            meaning = paragraphs(param.description or "")
            for name in param.arg_name.split(", "):
                if name not in meanings:
                    meanings[name] = meaning
                elif _BASE.match(meanings[name]):
                    meanings[name] = f"{meaning} {_BASE.sub('', meanings[name], count=1)}".strip()
    return meanings
