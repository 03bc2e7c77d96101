"""What every answer spec has in common: strict reading, two formats, and no guessing.

A text that is not exactly what was asked for raises `Unusable`, with a code that the prompt book
turns into the reason the mind is told when it is asked again.

Two formats: ``"paper"`` (plain text, as in the published studies) and ``"json"`` (an object with
the field ``answer`` and, where reasoning is asked for, ``reasoning``).
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from sabm_mesa.errors import one_line

Format = Literal["paper", "json"]
FORMATS: tuple[Format, ...] = ("paper", "json")

SPACE = re.compile(r"\s+")
_FENCE = re.compile(r"\s*```[ \t]*\w*[ \t]*\n(?P<inside>(?:(?!```).)*)```\s*", re.DOTALL)
DRESS = " \t\"'`*_"
"""What may stand around a bare answer without changing it: quotes, emphasis, blanks."""


class Unusable(ValueError):
    """An answer that cannot be read or is not legal.

    Attributes:
        code: an entry of ``[answers.reasons]`` in the prompt file.
        fields: the placeholders of that entry.
    """

    def __init__(self, code: str, **fields: object) -> None:
        super().__init__(code)
        self.code, self.fields = code, fields


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one usable answer.

    Attributes:
        value: the legal value: a number, an option, or a text.
        reasoning: the private reasoning that came with it, or ``""``.
    """

    value: Any
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class AnswerSpec(ABC):
    """What a legal answer is; the base of `Number`, `Choice` and `Text`.

    Attributes:
        reasoning: whether one sentence of private reasoning comes before the answer.
    """

    reasoning: bool = field(default=False, kw_only=True)

    kind: ClassVar[str]
    json_type: ClassVar[type | tuple[type, ...]]

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return the legal value in its canonical type.

        Raises:
            Unusable: when the value is not legal.
        """

    @abstractmethod
    def placeholders(self) -> dict[str, Any]:
        """What the entries under ``[answers]`` say about this spec."""

    def read(self, text: str, answer_format: Format = "paper") -> Reading:
        """Read a text that was written by a mind.

        Args:
            text: the whole answer.
            answer_format: ``"paper"`` or ``"json"``.

        Raises:
            Unusable: when the text is not exactly what was asked for, or not legal.
        """
        text = unfenced(text)
        if not text.strip():
            raise Unusable("empty")
        if answer_format == "json":
            return self._read_json(text)
        lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
        reasoning = ""
        if self.reasoning and len(lines) > 1:
            reasoning = SPACE.sub(" ", " ".join(lines[:-1]))
            lines = lines[-1:]
        return Reading(self._read_plain(lines), reasoning)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer in the ``"json"`` format."""
        properties: dict[str, Any] = {"reasoning": {"type": "string"}} if self.reasoning else {}
        properties["answer"] = self._value_schema()
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    @abstractmethod
    def _value_schema(self) -> dict[str, Any]:
        """The JSON schema of the field ``answer``."""

    def _read_plain(self, lines: list[str]) -> Any:
        if len(lines) > 1:
            raise Unusable("one_line")
        return self.check(undress(lines[0]))

    def _read_json(self, text: str) -> Reading:
        try:
            found = json.loads(text, object_pairs_hook=_no_field_twice)
        except (ValueError, RecursionError):
            raise Unusable("not_json") from None
        wanted = {"answer", "reasoning"} if self.reasoning else {"answer"}
        if not isinstance(found, dict) or not wanted <= set(found):
            raise Unusable("not_json")
        reasoning = found.get("reasoning", "")
        if not isinstance(reasoning, str):
            raise Unusable("not_json")
        if not isinstance(found["answer"], self.json_type):
            raise Unusable("not_json")
        answer = found["answer"]
        value = self.check(sound(answer) if isinstance(answer, str) else answer)
        return Reading(value, SPACE.sub(" ", sound(reasoning)).strip())


def unfenced(text: str) -> str:
    """Take a code fence from around a whole answer: many models put one there."""
    fence = _FENCE.fullmatch(text) if "```" in text else None
    return fence["inside"] if fence else text


def undress(text: str) -> str:
    """Take the quotes, emphasis and blanks from around a bare answer."""
    return text.strip(DRESS).removesuffix(".").strip(DRESS)


def sound(text: str) -> str:
    """Put "?" for halves of surrogate pairs, which can be neither sent nor recorded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands there twice")
    return found


def shorten(text: str, limit: int = 60) -> str:
    """Return a text in quotes, on one line and cut at `limit` characters: for a reason."""
    text = one_line(text)
    return f'"{text if len(text) <= limit else text[:limit] + "…"}"'
