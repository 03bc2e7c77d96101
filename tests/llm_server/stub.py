"""The `stub` brain: readable, legal answers that depend on the request's text alone."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Sequence
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from .wire import message_text, prompt_text

_NUMERAL = r"-?\d+(?:\.\d+)?"
#: "an integer from 0 to 100", "a number between 1.5 and 2.5", "a price from 1 to 13".
NUMBER_RANGE = re.compile(
    r"\b(?:integer|number|price|amount|value)\s+(?:\w+\s+){0,3}?"
    rf"(?:from|between)\s+(?P<low>{_NUMERAL})\s+(?:to|and)\s+(?P<high>{_NUMERAL})",
    re.IGNORECASE,
)
#: The answer when a number is wanted and no range is given.
ANY_RANGE = ("2.0", "10.0")
#: The message wants the number and nothing else.
NUMBER_ALONE = re.compile(
    r"\b(?:number|integer|price|amount|value)\s+(?:alone|only)\b"
    r"|\b(?:only|just|nothing but)\s+(?:the|a|an|one|that)\s+"
    r"(?:\w+\s+)?(?:number|integer|price|amount|value)\b",
    re.IGNORECASE,
)
#: The message wants a number after a label.
NUMBER_LABELLED = re.compile(r"begins with Answer: and after it an? (?:number|integer)\b")
REASONED = re.compile(r"your reasoning in|step by step first")
#: "one of: red, green, blue", "one of these and nothing else: red, green, blue".
ONE_OF = re.compile(
    r"\bone of(?:\s+(?:the|these|following|options))*(?:\s+and nothing else)?\s*:"
    r"[ \t]*(?P<names>[^\n]+)",
    re.IGNORECASE,
)
#: "A: go left" on a line of its own; two or more such lines in a row are a list of options.
OPTION_LINE = re.compile(r"^\s*(?:[-*]\s*)?(?P<name>\w{1,16})\s*:\s+\S")
#: The message asks for a choice among the options that it lists.
WANTS_ONE = re.compile(
    r"\b(?:one|which|choose|pick|select|option|letter|answer|reply)\b", re.IGNORECASE
)

SENTENCES = (
    "The middle looks safest to me.",
    "Others will probably stay close to before.",
    "My last result suggests a small change.",
    "Everyone seems to wait for someone else.",
    "The nearest way is good enough now.",
    "Caution pays when little is known.",
    "We should keep doing what works.",
    "Moving early is better than moving late.",
)


def stub(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """Answer legally and deterministically; the same request text gives the same answer.

    With a JSON schema in `response_format` the answer is a JSON object valid for it. Otherwise
    the last user message decides: a number (a sentence of reasoning on the first line, the bare
    number on the second; or the number alone), one of the listed options, or a short sentence.

    Args:
        messages: The request's messages.
        body: The whole request; `response_format` and the messages matter, nothing else.
    """
    digest = hashlib.sha256(prompt_text(messages).encode("utf-8", "surrogatepass")).digest()
    schema = _schema(body.get("response_format"))
    ask = next((message_text(m) for m in reversed(messages) if m.get("role") == "user"), "")
    draw = _Draw(digest)
    return _prose(ask, draw) if schema is None else json.dumps(_value(schema, schema, draw))


class _Draw:
    """Draws from a digest, built on `random()` alone: its stream never changes between Pythons."""

    def __init__(self, digest: bytes) -> None:
        self._random = random.Random(digest + b"\0").random

    def integer(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def number(self, low: float, high: float) -> float:
        return low + self._random() * (high - low)

    def one(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def text(self, options: Sequence[str]) -> str:
        return options[self.integer(0, len(options) - 1)]


def _prose(ask: str, draw: _Draw) -> str:
    labelled = NUMBER_LABELLED.search(ask) is not None and not REASONED.search(ask)
    alone = labelled or NUMBER_ALONE.search(ask) is not None
    ranges = list(NUMBER_RANGE.finditer(ask))
    if ranges:
        number = _in_range(ranges[-1]["low"], ranges[-1]["high"], draw)
        return number if alone else f"{draw.text(SENTENCES)}\n{number}"
    if alone:
        return _in_range(*ANY_RANGE, draw)
    options = _options(ask)
    return draw.text(options or SENTENCES)


def _in_range(low: str, high: str, draw: _Draw) -> str:
    """A number as precise as its bounds are written: "0 to 100" asks for an integer."""
    places = max(len(bound.partition(".")[2]) for bound in (low, high))
    scale = 10**places
    ends = sorted(round(float(bound) * scale) for bound in (low, high))
    return f"{draw.integer(*ends) / scale:.{places}f}"


def _options(ask: str) -> list[str]:
    named = ONE_OF.findall(ask)
    if named:
        parts = re.split(r"\s*[,;]\s*(?:or\s+)?|\s+or\s+", named[-1].strip().rstrip("."))
        return [part.strip("\"'`") for part in parts if part.strip("\"'`")]
    blocks: list[list[str]] = [[]]
    for line in ask.splitlines():
        match = OPTION_LINE.match(line)
        if match:
            blocks[-1].append(match["name"])
        elif blocks[-1]:
            blocks.append([])
    lists = [block for block in blocks if len(block) > 1]
    return lists[-1] if lists and WANTS_ONE.search(ask) else []


def _schema(response_format: Any) -> dict[str, Any] | None:
    if not isinstance(response_format, dict):
        return None
    if response_format.get("type") == "json_schema":
        schema: dict[str, Any] = response_format["json_schema"].get("schema", {"type": "object"})
        return schema
    if response_format.get("type") == "json_object":
        inline: dict[str, Any] | None = response_format.get("schema")
        return inline or {"type": "object", "properties": {"answer": {"type": "string"}}}
    return None


def _value(schema: dict[str, Any], root: dict[str, Any], draw: _Draw) -> Any:
    """A value valid for the part of JSON Schema that structured outputs allow."""
    if "$ref" in schema:
        target: Any = root
        for key in schema["$ref"].lstrip("#/").split("/"):
            target = target[key]
        return _value(target, root, draw)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.one(schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _value(schema[union][0], root, draw)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    return _KINDS[kind](schema, root, draw)


def _object(schema: dict[str, Any], root: dict[str, Any], draw: _Draw) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: _value(part, root, draw) for name, part in properties.items()}


def _array(schema: dict[str, Any], root: dict[str, Any], draw: _Draw) -> list[Any]:
    low = schema.get("minItems", 1)
    length = draw.integer(low, max(low, schema.get("maxItems", low + 2)))
    length = min(length, schema.get("maxItems", length))
    return [_value(schema.get("items", {}), root, draw) for _ in range(length)]


def _matching(parts: Any, draw: _Draw) -> str:
    """A text that matches a parsed pattern of literals, classes, groups and repetitions."""
    text = ""
    for kind, value in parts:
        match str(kind):
            case "LITERAL":
                text += chr(value)
            case "IN":
                ((inner, found),) = value
                text += chr(draw.integer(*found) if str(inner) == "RANGE" else found)
            case "MAX_REPEAT":
                low, high, inner = value
                text += "".join(_matching(inner, draw) for _ in range(draw.integer(low, high)))
            case "SUBPATTERN":
                text += _matching(value[-1], draw)
            case "BRANCH":
                text += _matching(draw.one(value[1]), draw)
            case "AT":
                pass
            case _:
                raise ValueError(f"no text can be drawn for {kind}")
    return text


def _string(schema: dict[str, Any], _root: dict[str, Any], draw: _Draw) -> str:
    if "pattern" in schema:
        return _matching(_parser.parse(schema["pattern"]), draw)
    text = draw.text(SENTENCES)
    while len(text) < schema.get("minLength", 0):
        text += " " + draw.text(SENTENCES)
    return text[: schema.get("maxLength", len(text))]


def _bounds(schema: dict[str, Any], width: float, nudge: float) -> tuple[float, float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        low = 0 if high is None or high >= 0 else high - width
    if high is None:
        high = low + width
    if "minimum" not in schema and "exclusiveMinimum" in schema:
        low += nudge
    if "maximum" not in schema and "exclusiveMaximum" in schema:
        high -= nudge
    return low, high


def _integer(schema: dict[str, Any], _root: dict[str, Any], draw: _Draw) -> int:
    step: int = schema.get("multipleOf", 1)
    low, high = _bounds(schema, width=100, nudge=1)
    return step * draw.integer(math.ceil(low / step), math.floor(high / step))


def _number(schema: dict[str, Any], _root: dict[str, Any], draw: _Draw) -> float:
    low, high = _bounds(schema, width=100, nudge=1e-6)
    return min(max(round(draw.number(low, high), 2), low), high)


_KINDS: dict[str, Any] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": lambda _schema, _root, draw: draw.one((False, True)),
    "null": lambda _schema, _root, _draw: None,
}
