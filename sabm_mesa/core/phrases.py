"""Texts of the class pages in the language of each person.

Texts for all scenarios are in ``visualization/web/texts``, one file per language; those of a family
of scenarios are in its ``class_texts.toml``, with tables for each language. A `Phrase` is an
English text with its key and values, so a page can show it in another language (`translated`).
Prompts, recordings and tables of data stay English, and so do texts of external scenarios.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

ENGLISH = "en"
LANGUAGES = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "zh": "中文",
    "ja": "日本語",
}
"""Code → the name of the language in that language."""
DIGITS = 4
"""The maximum number of significant digits of a decimal number."""
Text = str | dict[str, str]
"""A text, or two: ``one`` for the singular, ``many`` for the plural."""


@cache
def texts_of(language: str) -> dict[str, Text]:
    """All texts of a language: ``TABLE.NAME`` → text, with placeholders in braces."""
    package = Path(__file__).parents[1]
    tables = [_read(package / "visualization" / "web" / "texts" / f"{language}.toml")]
    tables += [_read(f)[language] for f in sorted((package / "models").glob("*/class_texts.toml"))]
    return {
        f"{table}.{name}": text
        for of_file in tables
        for table, entries in of_file.items()
        for name, text in entries.items()
    }


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def table_of(language: str, table: str) -> dict[str, Text]:
    """One table of a language, for a script of a page: name → text."""
    start = f"{table}."
    known = texts_of(language).items()
    return {key.removeprefix(start): text for key, text in known if key.startswith(start)}


def language_for(asked: str | None, accepted: str | None = "") -> str:
    """The language of a page: the requested one, else the first accepted one, else English.

    Args:
        asked: the code in the address, or a longer tag such as ``zh-Hans``.
        accepted: the header ``Accept-Language`` of the browser.
    """
    tags = []
    for index, part in enumerate((accepted or "").split(",")[:30]):
        tag, _, rest = part.partition(";")
        quality = re.search(r"q=([01](?:\.\d{1,3})?)\s*$", rest)
        tags.append((-float(quality[1]) if quality else -1.0, index, tag))
    for tag in (asked or "", *(tag for quality, _, tag in sorted(tags) if quality)):
        code = tag.strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return code
    return ENGLISH


class Localized(str):
    """An English text with translations.

    Args:
        in_: the text in a language, by its code.
    """

    in_: Callable[[str], str]

    def __new__(cls, in_: Callable[[str], str]) -> Self:
        """Create the English text, and keep the function for the others."""
        made = super().__new__(cls, in_(ENGLISH))
        made.in_ = in_
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy it by its function."""
        return Localized, (self.in_,)

    def capitalize(self) -> Localized:
        """The same text with a capital first letter, in each language."""
        return Localized(partial(_capitalized, self))


def _capitalized(text: Localized, language: str) -> str:
    words = text.in_(language)
    return words[:1].upper() + words[1:]


class Phrase(Localized):
    """A text by its key, ``TABLE.NAME``.

    Args:
        key: the key.
        values: placeholder → value: a text, a number, or several of them; ``n`` chooses between
            singular and plural.
    """

    key: str
    values: dict[str, Any]

    def __new__(cls, key: str, /, **values: Any) -> Self:
        """Create the English text, and keep the key and values."""
        made = super().__new__(cls, partial(_rendered, key=key, values=values))
        made.key, made.values = key, values
        return made


class Amount(Localized):
    """A number as a text."""

    def __new__(cls, value: float) -> Self:
        """Create the English text."""
        return super().__new__(cls, partial(number_in, value=value))


class Lines(Localized):
    """Texts below one another."""

    def __new__(cls, lines: Iterable[str]) -> Self:
        """Create the English text."""
        return super().__new__(cls, partial(_joined, tuple(lines)))


def _joined(lines: Sequence[str], language: str) -> str:
    return "\n".join(translated(list(lines), language))


class Drawing(Localized):
    """A picture with texts, as SVG; it is drawn once for each requested language."""

    def __new__(cls, draw: Callable[[str], str]) -> Self:
        """Draw the English version."""
        return super().__new__(cls, cache(draw))


def known(key: str, english: str, **values: Any) -> str:
    """The text with a key; the English text if there is no such key."""
    return Phrase(key, **values) if key in texts_of(ENGLISH) else english


def slug(text: str) -> str:
    """An English text as the second part of a key: ``"payoff_points"`` of "Payoff (points)"."""
    return re.sub("[^a-z0-9]+", "_", text.replace("{}", "name").lower()).strip("_")


def ordinal(n: int) -> Phrase:
    """A place from 1 on, such as ``"3rd"``."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if n % 100 in {11, 12, 13} else ends.get(n % 10, "th")
    return Phrase("ordinal.first" if n == 1 else f"ordinal.{end}", n=n)


def number_in(language: str, value: float) -> str:
    """A number with four significant digits, or more if its integer part needs them; – for NaN."""
    if math.isnan(value):
        return "–"
    large = math.isfinite(value) and abs(value) >= 10 ** (DIGITS - 1)
    text = f"{value:,.0f}" if large else f"{value + 0.0:.{DIGITS}g}"  # a zero has no sign
    marks = {
        ord(","): _text(language, "number.thousands"),
        ord("."): _text(language, "number.point"),
    }
    return text.translate(marks)


def translated(value: Any, language: str) -> Any:
    """The same value, such as lists and mappings, with all its texts in a language."""
    if isinstance(value, Localized):
        return value.in_(language)
    if isinstance(value, Mapping):
        return {name: translated(part, language) for name, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [translated(part, language) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else parts
    return value


def _rendered(language: str, key: str, values: Mapping[str, Any]) -> str:
    text = texts_of(language)[key]
    if isinstance(text, dict):
        n = values["n"]
        one = n == 1 or (language == "fr" and n == 0)
        text = text["one" if one else "many"]
    shown = {name: _shown(language, value) for name, value in values.items()}
    return text.format_map(shown)


def _shown(language: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return _text(language, "number.list").join(_shown(language, part) for part in value)
    if isinstance(value, Localized):
        return value.in_(language)
    return number_in(language, value) if isinstance(value, float) else str(value)


def _text(language: str, key: str) -> str:
    text = texts_of(language)[key]
    assert isinstance(text, str)
    return text
