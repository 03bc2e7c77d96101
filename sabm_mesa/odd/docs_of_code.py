"""What the code says of itself: the parts of its docstrings, as plain paragraphs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

_PART = re.compile(r"(Args|Attributes|Raises|Returns|Source|Sources):$")
_ENTRY = re.compile(r"    (\w+)(?: \([^)]*\))?: (.*)")
_BASE = re.compile(r"see `SmartModel`[;.]?\s*")
_LITERAL = re.compile(r"``(.+?)``", re.DOTALL)


def paragraphs(text: str) -> str:
    """A text with one line a paragraph, and code between single backticks.

    Args:
        text: a text with line breaks within its paragraphs.
    """
    found = re.split(r"\n\s*\n", inspect.cleandoc(text))
    joined = (" ".join(line.strip() for line in each.splitlines()) for each in found)
    return _LITERAL.sub(r"`\1`", "\n\n".join(each for each in joined if each))


def main_part(of: Any) -> str:
    """What a docstring says before it comes to arguments and the like, with its source.

    Args:
        of: a class or function.
    """
    kept, part = [], ""
    for line in inspect.cleandoc(of.__doc__ or "").splitlines():
        if found := _PART.match(line):
            part = found[1]
        elif line and not line.startswith(" "):
            part = ""
        if part in {"", "Source", "Sources"}:
            kept.append(line)
    return paragraphs("\n".join(kept))


def sentence(of: Any) -> str:
    """The first paragraph of a docstring.

    Args:
        of: a class or function.
    """
    return main_part(of).partition("\n\n")[0]


def entries(of: type, part: str) -> dict[str, str]:
    """Name → meaning, from one part of the docstring of a class alone.

    Args:
        of: the class.
        part: ``Args`` or ``Attributes``.
    """
    found: dict[str, list[str]] = {}
    name, inside = "", False
    for line in inspect.cleandoc(vars(of).get("__doc__") or "").splitlines():
        if line and not line.startswith(" "):
            inside, name = line == f"{part}:", ""
        elif inside and (entry := _ENTRY.match(line)):
            name = entry[1]
            found[name] = [entry[2]]
        elif inside and name and line.strip():
            found[name].append(line)
    return {name: paragraphs("\n".join(map(str.strip, lines))) for name, lines in found.items()}


def all_entries(of: type, part: str, below: Iterable[type] = ()) -> dict[str, str]:
    """The same with those of the base classes, the own ones first.

    Where a class refers to `SmartModel` for a meaning, it is put in its place.

    Args:
        of: the class.
        part: ``Args`` or ``Attributes``.
        below: classes that are left out, with all above them.
    """
    left_out = {each for cls in below for each in cls.__mro__}
    found: dict[str, str] = {}
    for cls in (cls for cls in of.__mro__ if cls not in left_out):
        for name, meaning in entries(cls, part).items():
            said = found.get(name)
            if said is None:
                found[name] = meaning
            elif _BASE.match(said):
                found[name] = f"{meaning} {_BASE.sub('', said, count=1)}".strip()
    return found


def sheet_of(model: type) -> str:
    """The spec sheet of a scenario: the docstring of its module.

    Args:
        model: the model class.
    """
    return inspect.cleandoc(sys.modules[model.__module__].__doc__ or "")


def sheet_sections(sheet: str) -> Mapping[str, str]:
    """Heading → paragraphs of a spec sheet; what has no heading is left out.

    Args:
        sheet: the spec sheet: headings at the margin, and their texts indented below them.
    """
    found: dict[str, list[str]] = {}
    heading = ""
    lines = sheet.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line and not line.startswith(" "):
            heading = line.strip() if after.startswith("    ") else ""
        elif heading:
            found.setdefault(heading, []).append(line)
    return {name: paragraphs("\n".join(text)) for name, text in found.items()}
