"""Schemas hold a model: every stated limit is in them, and servers that refuse limits get none."""

import json
import math
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from sabm_mesa import Number, Text
from sabm_mesa.core.answers import free, words
from sabm_mesa.core.structured import as_spec
from sabm_mesa.llm.quirks import Quirks

PRICE = Number(0, 14)


class Offer(BaseModel):
    """An answer of two parts."""

    price: float = Field(ge=0, le=14)
    good: Literal["a", "b"]


@pytest.mark.parametrize(
    ("spec", "schema"),
    [
        (Number(0, 100, integer=True), {"type": "integer", "minimum": 0, "maximum": 100}),
        (Number(0.5, 3.5, integer=True), {"type": "integer", "minimum": 1, "maximum": 3}),
        (PRICE, {"type": "number", "minimum": 0, "maximum": 14}),
        (Number(0, math.inf), {"type": "number", "minimum": 0}),
        (Number(-math.inf, math.inf), {"type": "number"}),
        (Text(max_words=50), {"type": "string", "minLength": 1, "maxLength": 400}),
        (Text(max_words=50, max_chars=99), {"type": "string", "minLength": 1, "maxLength": 99}),
    ],
)  # fmt: skip
def test_every_stated_limit_is_in_the_schema(spec, schema: dict[str, Any]) -> None:
    assert spec.schema() == schema


def test_reasoning_of_a_few_words_is_held_and_free_reasoning_is_not() -> None:
    def reasoning(kind):
        spec = Number(0, 9, reasoning=kind)
        return spec.answer_schema()["properties"]["reasoning"]

    assert reasoning(words(30)) == {"type": "string", "maxLength": 240}
    assert reasoning(free) == {"type": "string"}
    assert list(Number(0, 9, reasoning=free).answer_schema(reasoned=False)["properties"]) == [
        "answer"
    ]


def test_a_message_has_a_limit_of_tokens_from_its_words() -> None:
    assert Text(max_words=50).most_tokens == 240
    assert Text(max_words=50, reasoning=words(30)).most_tokens == 360
    assert Text(max_words=50, reasoning=free).most_tokens is None
    assert PRICE.most_tokens is None


def test_a_bounded_decimal_is_read_exactly_as_a_number_and_as_a_text() -> None:
    for answer in ("12.5", '"12.5"'):
        assert PRICE.read(f'{{"answer": {answer}}}', "json")[:3] == (12.5, "", "exact")
    found = as_spec(Offer).read('{"answer": {"price": "12.5", "good": "a"}}', "json")
    assert (found.value, found.read_as) == (Offer(price=12.5, good="a"), "exact")


def without_limits(asked: dict[str, Any]) -> str:
    """The provenance of an answer in a looser form than was asked for."""
    sent = {"response_format": "json_schema without limits"}
    return json.dumps({"asked": asked, "sent": sent})


def test_servers_that_refuse_limits_get_the_schema_without_them() -> None:
    quirks, asked = Quirks("here", "m"), {"response_format": PRICE.answer_schema()}

    def sent() -> Any:
        return quirks.apply(asked).get("response_format")

    first = sent()["json_schema"]["schema"]["properties"]["answer"]
    assert first == {"type": "number", "minimum": 0, "maximum": 14}
    refusal = {
        "error": {
            "message": "Invalid schema for response_format 'answer': In context=('properties', "
            "'answer'), 'maximum' is not permitted.", "param": "response_format",
        }
    }  # fmt: skip
    assert quirks.learn(asked, 400, refusal) == "response_format"
    loose = sent()
    assert loose["type"] == "json_schema"
    assert loose["json_schema"]["schema"]["properties"]["answer"] == {"type": "number"}
    other = Quirks("here", "m")
    other.adopt([without_limits(asked)])
    assert other.apply(asked) == quirks.apply(asked)


def test_a_field_that_is_named_like_a_limit_is_kept() -> None:
    limited = {"type": "string", "maxLength": 8}
    listed = {"type": "array", "items": {"type": "number", "minimum": 0}, "maxItems": 2}
    schema = {"type": "object", "properties": {"pattern": limited, "list": listed}}
    quirks, asked = Quirks("here", "m"), {"response_format": schema}
    quirks.adopt([without_limits(asked)])

    assert quirks.apply(asked)["response_format"]["json_schema"]["schema"]["properties"] == {
        "pattern": {"type": "string"}, "list": {"type": "array", "items": {"type": "number"}},
    }  # fmt: skip


def test_servers_that_refuse_schemas_are_not_sent_another_strict_one() -> None:
    quirks, asked = Quirks("here", "m"), {"response_format": PRICE.answer_schema()}
    refusal = {"error": {"message": "response_format json_schema is not supported"}}

    assert quirks.learn(asked, 400, refusal) == "response_format"
    assert quirks.apply(asked)["response_format"]["type"] == "json_object"


def test_a_grammar_that_a_server_cannot_compile_is_left_out_step_by_step() -> None:
    quirks, asked = Quirks("here", "m"), {"response_format": PRICE.answer_schema()}
    refusal = {"error": {"message": "Failed to parse grammar"}}

    while quirks.learn(asked, 400, refusal):
        pass
    assert quirks.apply(asked) == {}
    assert quirks.version == 4
