"""Answers of several parts: a pydantic model, or a union of models for one of several actions.

The answer is asked for as JSON in every answer format, with the schema of the model. The
constraints of its fields are the limits::

    class Offer(BaseModel):
        good: Literal["bread", "fish"]
        amount: int = Field(ge=1, le=10)


    decision = await self.ask("trade", Offer, stock=self.stock)
    decision.value.amount
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Any, get_args, get_origin

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from sabm_mesa.core.answers import (
    CHARS_A_WORD,
    AnswerSpec,
    Decision,
    Format,
    InvalidAnswer,
    replace_surrogates,
    shorten,
    strip_code_fence,
)
from sabm_mesa.core.objects import find_objects, no_field_twice
from sabm_mesa.core.reader import LONGEST
from sabm_mesa.errors import ParameterError, one_line

_WORDS = 60
"""The number of words that a text without a limit of its own may have."""
_ENDS = {
    "minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below",
}  # fmt: skip
"""Bounds of a number → the word that states them."""
_ITEMS = 10
"""The number of entries that a list without a limit of its own may have."""


@dataclass(frozen=True)
class Structured(AnswerSpec):
    """An answer that a pydantic model validates; created by `as_spec` from the model.

    Attributes:
        type: the pydantic model, or a union of pydantic models.

    Raises:
        ParameterError: when it is neither.
    """

    type: Any = field(default=None)

    kind = "object"

    def __post_init__(self) -> None:
        """Refuse anything but models."""
        AnswerSpec.__post_init__(self)
        union = get_args(self.type)[0] if get_origin(self.type) is Annotated else self.type
        if not all(
            isinstance(model, type) and issubclass(model, BaseModel)
            for model in get_args(union) or (union,)
        ):
            raise ParameterError(
                f"{self.type!r} is no legal answer: give Number(…), Choice(…), Text(…), a pydantic "
                "model or a union of pydantic models."
            )

    def check(self, value: Any) -> Any:
        """Return the instance of the model."""
        try:
            if isinstance(value, BaseModel):
                return self._adapter.validate_python(value)
            return self._adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise _invalid(error) from None
        except (TypeError, ValueError, RecursionError):
            raise InvalidAnswer("not_json") from None

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.type)

    @cached_property
    def _definitions(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The schema of a value, and the schemas that it names."""
        schema = _strict(self._adapter.json_schema())
        return schema, schema.pop("$defs", {})

    def schema(self) -> dict[str, Any]:
        """The schema of the model, without the definitions that it names."""
        return self._definitions[0]

    def answer_schema(self, *, reasoned: bool = True, bounded: bool = False) -> dict[str, Any]:
        """The schema of a whole answer."""
        schema = super().answer_schema(reasoned=reasoned, bounded=bounded)
        return schema | ({"$defs": self._definitions[1]} if self._definitions[1] else {})

    def placeholders(self) -> dict[str, Any]:
        """The form of the JSON: each field with what a legal value is."""
        return {"outline": "\n".join(self._forms(self.schema()))}

    def _forms(self, schema: dict[str, Any]) -> list[str]:
        """The alternatives of a schema in words."""
        schema = self.resolved(schema)
        if "anyOf" in schema:
            return [form for part in schema["anyOf"] for form in self._forms(part)]
        if "const" in schema:
            return [json.dumps(schema["const"], ensure_ascii=False)]
        match schema.get("type"):
            case "object":
                return ["{" + ", ".join(
                    f"{json.dumps(name)}: {' | '.join(self._forms(part))}"
                    for name, part in schema.get("properties", {}).items()
                ) + "}"]  # fmt: skip
            case "array":
                low, high = schema.get("minItems", 0), schema.get("maxItems", _ITEMS)
                return [f"[{' | '.join(self._forms(schema['items']))}, …] ({low} to {high})"]
            case "integer" | "number" as kind:
                ends = [f"{word} {schema[end]:g}" for end, word in _ENDS.items() if end in schema]
                what = "an integer" if kind == "integer" else "a number"
                return [f"<{' '.join([what, *ends])}>"]
            case "boolean":
                return ["<true or false>"]
        if "enum" in schema:
            return [" | ".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"])]
        about = schema.get("description") or f"a text of at most {_most_words(schema)} words"
        return [f"<{about}>"]

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema, or the definition that it names."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._definitions[1][name] if name else schema

    def as_text(self, value: Any) -> str:
        """The value as JSON."""
        return json.dumps(self._adapter.dump_python(value, mode="json"), ensure_ascii=False)

    @property
    def has_label(self) -> bool:
        """JSON needs no label."""
        return False

    def read_exactly(self, text: str, answer_format: Format) -> Decision:
        """Read a text that has exactly the requested form."""
        del answer_format
        if not text.strip():
            raise InvalidAnswer("empty")
        try:
            value = json.loads(strip_code_fence(text), object_pairs_hook=no_field_twice)
        except (ValueError, RecursionError):
            raise InvalidAnswer("not_json") from None
        if not _is_wrapped(value):
            return Decision(self.check(value))
        reasoning = replace_surrogates(str(value.get("reasoning", "")))
        return Decision(self.check(value["answer"]), one_line(reasoning))

    def _read_in_words(self, text: str, answer_format: Format, question: str) -> Decision | None:
        """The one legal object in a text."""
        del answer_format, question
        values: list[Any] = []
        problem: InvalidAnswer | None = None
        before = ""
        text = text[-LONGEST:]
        for start, _, entry in find_objects(text, "{"):
            try:
                value = self.check(entry["answer"] if _is_wrapped(entry) else entry)
            except InvalidAnswer as refused:
                problem = refused
                continue
            if value not in values:
                values.append(value)
                before = one_line(text[:start])
        if len(values) > 1:
            raise InvalidAnswer("several_answers")
        if not values:
            if problem is not None:
                raise problem
            return None
        return Decision(values[0], before if self.reasoning else "", "labelled")

    def example(self, rng: np.random.Generator) -> Any:
        """Return a random legal value."""
        cases = self.cases(rng)
        return cases[int(rng.integers(len(cases)))]

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return a legal value for each model of a union, with other random parts in each."""
        schema = self.schema()
        options = schema.get("anyOf", [schema])
        return [self.check(self._drawn(option, rng)) for option in options]

    def _drawn(self, schema: dict[str, Any], rng: np.random.Generator) -> Any:
        schema = self.resolved(schema)
        if "const" in schema:
            return schema["const"]
        for many in ("enum", "anyOf"):
            if many in schema:
                one = schema[many][int(rng.integers(len(schema[many])))]
                return one if many == "enum" else self._drawn(one, rng)
        match schema.get("type"):
            case "object":
                parts = schema.get("properties", {})
                return {name: self._drawn(part, rng) for name, part in parts.items()}
            case "array":
                low = schema.get("minItems", 0)
                high = min(max(low, 3), schema.get("maxItems", _ITEMS))
                n = int(rng.integers(low, high + 1))
                return [self._drawn(schema["items"], rng) for _ in range(n)]
            case "integer" | "number" as kind:
                low, high = bounds(schema)
                low = low if low is not None else (high or 0) - 100
                high = high if high is not None else low + 100
                if kind == "integer":
                    return int(rng.integers(low, high + 1))
                return float(rng.uniform(low, high))
            case "boolean":
                return bool(rng.integers(2))
            case "null":
                return None
        return ("I say" + " so" * int(rng.integers(1, 4)))[: schema.get("maxLength", 100)]

    @property
    def open_ended(self) -> bool:
        """Whether a value has a text or a list."""
        kinds = json.dumps([self.schema(), self._definitions[1]])
        return '"type": "string", "maxLength"' in kinds or '"array"' in kinds


def as_spec(given: Any) -> AnswerSpec:
    """The answer spec for what `ask` was given: a spec, a pydantic model or a union of them.

    Raises:
        ParameterError: for anything else.
    """
    if isinstance(given, AnswerSpec):
        return given
    return _structured(given) if isinstance(given, Hashable) else Structured(type=given)


@lru_cache(maxsize=256)
def _structured(given: Any) -> Structured:
    """The spec of a model; its schema is made once."""
    return Structured(type=given)


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, dict) and "answer" in value and set(value) <= {"answer", "reasoning"}


def _invalid(error: ValidationError) -> InvalidAnswer:
    """The first problem that pydantic found, as the reason of a refusal."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    said = f"{first['msg'].rstrip('.')}."
    given = "" if first["type"] == "missing" else f" (It is {shorten(str(first['input']))}.)"
    reason = replace_surrogates(said + given)
    return InvalidAnswer("in_field", field=where or "the object", reason=reason)


def _strict(schema: Any) -> Any:
    """A schema in the form that strict servers accept: all fields required, no others."""
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        "anyOf" if name == "oneOf" else name: (
            {key: _strict(part) for key, part in value.items()}
            if name in {"properties", "$defs"}
            else _strict(value)
        )
        for name, value in schema.items()
        if name not in {"title", "discriminator", "default"}
    }
    if kept.get("type") == "object":
        kept["required"] = list(kept.get("properties", {}))
        kept["additionalProperties"] = False
    if kept.get("type") == "string" and not {"enum", "const", "maxLength"} & set(kept):
        kept["maxLength"] = _WORDS * CHARS_A_WORD
    if kept.get("type") == "array":
        kept.setdefault("maxItems", _ITEMS)
    return kept


def bounds(schema: dict[str, Any]) -> tuple[Any, Any]:
    """The smallest and the largest legal number; None without one."""
    step = 1 if schema.get("type") == "integer" else 1e-9
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + step
    if high is None and "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - step
    return low, high


def _most_words(schema: dict[str, Any]) -> int:
    most: int = schema.get("maxLength", _WORDS * CHARS_A_WORD)
    return max(1, most // CHARS_A_WORD)
