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
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
    """All texts of a language: ``TABLE.NAME`` → text, with placeholders in braces.

    Args:
        language: its code, one of `LANGUAGES`.
    """
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
    """One table of a language, for a script of a page: name → text.

    Args:
        language: its code.
        table: the name of the table.
    """
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
    """An English text with translations."""

    def in_(self, language: str) -> str:
        """The text in a language.

        Args:
            language: its code.
        """
        raise NotImplementedError


class Phrase(Localized):
    """A text by its key.

    Args:
        key: the key, ``TABLE.NAME``.
        values: placeholder → value: a text, a number, or several of them; ``n`` chooses between
            singular and plural.

    Attributes:
        key: the key.
        values: the values.
    """

    key: str
    values: dict[str, Any]
    _capital: bool

    def __new__(cls, key: str, /, **values: Any) -> Phrase:
        """Create the English text, and keep the key and values."""
        capital = bool(values.pop("_capital", False))
        made = super().__new__(cls, _rendered(ENGLISH, key, values, capital=capital))
        made.key, made.values, made._capital = key, values, capital
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Copy it by its key."""
        return (self.key,), {**self.values, "_capital": self._capital}

    def in_(self, language: str) -> str:
        """The text in a language.

        Args:
            language: its code.
        """
        return _rendered(language, self.key, self.values, capital=self._capital)

    def capitalize(self) -> Phrase:
        """The same text with a capital first letter, in each language."""
        return Phrase(self.key, **{**self.values, "_capital": True})


class Amount(Localized):
    """A number as a text.

    Args:
        value: the number.

    Attributes:
        value: the number.
    """

    value: float

    def __new__(cls, value: float) -> Amount:
        """Create the English text, and keep the number."""
        made = super().__new__(cls, number_in(ENGLISH, value))
        made.value = value
        return made

    def __getnewargs__(self) -> tuple[float]:  # type: ignore[override]
        """Copy it by its number."""
        return (self.value,)

    def in_(self, language: str) -> str:
        """The number in the notation of a language.

        Args:
            language: its code.
        """
        return number_in(language, self.value)


class Lines(Localized):
    """Texts below one another.

    Args:
        lines: the texts.

    Attributes:
        lines: the texts.
    """

    lines: tuple[str, ...]

    def __new__(cls, lines: Iterable[str]) -> Lines:
        """Create the English text, and keep its lines."""
        parts = tuple(lines)
        made = super().__new__(cls, "\n".join(parts))
        made.lines = parts
        return made

    def __getnewargs__(self) -> tuple[tuple[str, ...]]:  # type: ignore[override]
        """Copy it by its lines."""
        return (self.lines,)

    def in_(self, language: str) -> str:
        """The lines in a language.

        Args:
            language: its code.
        """
        return "\n".join(translated(list(self.lines), language))


class Drawing(Localized):
    """A picture with texts, as SVG; it is drawn once for each requested language.

    Args:
        draw: returns the picture in a language.
    """

    _draw: Callable[[str], str]
    _drawn: dict[str, str]

    def __new__(cls, draw: Callable[[str], str]) -> Drawing:
        """Draw the English version, and keep the function for the others."""
        english = draw(ENGLISH)
        made = super().__new__(cls, english)
        made._draw, made._drawn = draw, {ENGLISH: english}
        return made

    def in_(self, language: str) -> str:
        """The picture in a language.

        Args:
            language: its code.
        """
        if language not in self._drawn:
            self._drawn[language] = self._draw(language)
        return self._drawn[language]


def known(key: str, english: str, **values: Any) -> str:
    """The text with the key of an English text; the English text itself if it has no key.

    Args:
        key: the key.
        english: the text without a key.
        values: as of a `Phrase`.
    """
    return Phrase(key, **values) if key in texts_of(ENGLISH) else english


def slug(text: str) -> str:
    """A text as the second part of a key, such as ``"payoff_points"`` of "Payoff (points)".

    Args:
        text: the English text; braces stand for a name.
    """
    return re.sub("[^a-z0-9]+", "_", text.replace("{}", "name").lower()).strip("_")


def ordinal(n: int) -> Phrase:
    """A place, such as ``"3rd"``.

    Args:
        n: the place, from 1.
    """
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
    """The same value with all its texts in a language.

    Args:
        value: a text, or lists and mappings with texts in them.
        language: the code of the language.
    """
    if isinstance(value, Localized):
        return value.in_(language)
    if isinstance(value, Mapping):
        return {name: translated(part, language) for name, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [translated(part, language) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else parts
    return value


def _rendered(language: str, key: str, values: Mapping[str, Any], *, capital: bool) -> str:
    text = texts_of(language)[key]
    if isinstance(text, dict):
        n = values["n"]
        one = n == 1 or (language == "fr" and n == 0)
        text = text["one" if one else "many"]
    shown = {name: _shown(language, value) for name, value in values.items()}
    sentence = text.format_map(shown)
    return sentence[:1].upper() + sentence[1:] if capital else sentence


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
