"""Answer specs and decisions.

A spec says what a legal answer is and reads one strictly (see `sabm_mesa.answers`); a decision is
what came of an ask. No spec ever guesses a value.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from sabm_mesa.answers import DRESS, SPACE, AnswerSpec, Format, Reading, Unusable, shorten
from sabm_mesa.errors import ParameterError, one_line

__all__ = ["AnswerSpec", "Choice", "Decision", "Format", "Number", "Reading", "Text", "Unusable"]

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_NUMBER_ALONE = re.compile(rf"{_NUMBER}\Z")
_NUMBER_ANYWHERE = re.compile(_NUMBER)
_CUT = " […]"


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of an ask: a validated value, or an honest None.

    Attributes:
        value: the legal value, or None when no usable answer came within the allowed attempts.
        reasoning: the private reasoning that came with it, or ``""``.
        reason: why the decision is invalid, or ``""``.
        attempts: how often the mind was asked (at least 1).
    """

    value: Any
    reasoning: str = ""
    reason: str = ""
    attempts: int = 1

    @property
    def valid(self) -> bool:
        """Whether there is a usable value."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Number(AnswerSpec):
    """A number in a closed interval.

    Attributes:
        low: the smallest legal value.
        high: the largest legal value.
        integer: whether only integers are legal.

    Raises:
        ParameterError: when the interval is empty.
    """

    low: float
    high: float
    integer: bool = False

    kind = "number"
    json_type = (int, float)

    def __post_init__(self) -> None:
        """Refuse an empty interval."""
        if not self.low <= self.high:
            raise ParameterError(f"A number needs low <= high (got {self.low} and {self.high}).")

    def check(self, value: Any) -> int | float:
        """Return an int (``integer``) or a float inside the interval."""
        number = self._number(value)
        if not math.isfinite(number):
            raise Unusable("not_a_number", found=shorten(str(value)))
        if self.integer and number != math.floor(number):
            raise Unusable("not_an_integer", found=shorten(str(value)))
        if not self.low <= number <= self.high:
            raise Unusable("out_of_range", found=shorten(str(value)), **self._range())
        return int(number) if self.integer else float(number)

    def placeholders(self) -> dict[str, Any]:
        """The entry that names the kind of number, and its range."""
        return {"number": "integer" if self.integer else "real", **self._range()}

    def _range(self) -> dict[str, str]:
        return {"low": f"{self.low:.15g}", "high": f"{self.high:.15g}"}

    def _number(self, value: Any) -> float:
        if isinstance(value, bool):
            raise Unusable("not_a_number", found=str(value))
        if isinstance(value, str):
            if not _NUMBER_ALONE.match(value):
                several = len(_NUMBER_ANYWHERE.findall(value)) > 1
                raise Unusable(
                    "several_numbers" if several else "not_a_number", found=shorten(value)
                )
            return float(value)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise Unusable("not_a_number", found=shorten(str(value))) from None

    def _value_schema(self) -> dict[str, Any]:
        low, high = (int(self.low), int(self.high)) if self.integer else (self.low, self.high)
        kind = "integer" if self.integer else "number"
        return {"type": kind, "minimum": low, "maximum": high}


@dataclass(frozen=True, slots=True)
class Choice(AnswerSpec):
    """One of several options.

    Case does not matter, nor do blanks, quotes, emphasis and a period around an option.

    Attributes:
        options: the legal answers, different also without all that.

    Raises:
        ParameterError: when there is no option or two are the same.
    """

    options: tuple[str, ...]

    kind = "choice"
    json_type = str

    def __post_init__(self) -> None:
        """Refuse an empty or ambiguous list of options."""
        bare = {_bare(option) for option in self.options if option.isprintable()}
        if not bare or "" in bare or len(bare) != len(self.options):
            raise ParameterError(
                f"A choice needs different options of one line each (got {self.options})."
            )

    def check(self, value: Any) -> str:
        """Return the option as it stands in `options`."""
        text = str(value)
        if text in self.options:
            return text
        found = _bare(text)
        for option in self.options:
            if _bare(option) == found:
                return option
        raise Unusable("not_an_option", found=shorten(text))

    def placeholders(self) -> dict[str, Any]:
        """The options, comma-separated."""
        return {"options": ", ".join(self.options)}

    def _value_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class Text(AnswerSpec):
    """A text on one line.

    Line breaks and runs of blanks become one blank, so that a message cannot pose as another
    line of a prompt. A longer text is cut at `max_words` words and `max_chars` characters and
    marked with ``[…]``: it was paid for, and it can be read.

    Attributes:
        max_words: the number of words after which a text is cut.
        max_chars: the number of characters after which a text is cut.
        numbers: whether digits are allowed; without them a text that holds any is refused.

    Raises:
        ParameterError: when nothing would be left of a text.
    """

    max_words: int = 60
    max_chars: int = 1000
    numbers: bool = True

    json_type = str

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """Which entries say how the text is to be written."""
        return "text" if self.numbers else "text_without_numbers"

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing of a text."""
        if self.max_words < 1 or self.max_chars <= len(_CUT):
            raise ParameterError(
                f"A text needs at least 1 word and {len(_CUT) + 1} characters "
                f"(got {self.max_words} and {self.max_chars})."
            )

    def check(self, value: Any) -> str:
        """Return the text on one line, cut where it is too long."""
        if not isinstance(value, str):
            raise Unusable("not_text")
        text = one_line(value)
        if not text:
            raise Unusable("empty")
        if not self.numbers and any(map(str.isdigit, text)):
            raise Unusable("has_numbers")
        words = text.split(" ")
        if len(words) > self.max_words:
            text = " ".join(words[: self.max_words]) + _CUT
        if len(text) > self.max_chars:
            text = text[: self.max_chars - len(_CUT)].rstrip() + _CUT
        return self.with_end(text, value)

    def with_end(self, text: str, whole: str) -> str:
        """What was made of a text by cutting or filling it, with an end that must not be lost.

        Args:
            text: what was made of it.
            whole: the text itself.

        Returns:
            `text` as it is; a spec whose texts may end with a word that has a meaning of its own
            puts that word back.
        """
        del whole
        return text

    def placeholders(self) -> dict[str, Any]:
        """The number of words."""
        return {"max_words": self.max_words}

    def _value_schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def _read_plain(self, lines: list[str]) -> str:
        return self.check(" ".join(lines))


def _bare(option: str) -> str:
    return SPACE.sub(" ", option.strip(DRESS + ".")).casefold()
