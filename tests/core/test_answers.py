"""Answer specs: what they accept, what they refuse and why, in both formats."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sabm_mesa import Choice, Number, Text
from sabm_mesa.core.answers import (
    InvalidAnswer,
    Reasoning,
    free,
    words,
)
from sabm_mesa.errors import ParameterError

INTEGER = Number(0, 100, integer=True)
REASONED = Number(0, 100, integer=True, reasoning=words(30))
REAL = Number(-1.5, 2)
DOOR = Choice(("left", "Bottom", "the right"))
REASONED_DOOR = Choice(("left", "right"), reasoning=words(30))
TEXT = Text(max_words=4)
TALK = Text(max_words=4, numbers=False, strict=True)


def refusal(spec, text, answer_format="paper"):
    """Why an exact reading refuses a text; other readings are in `test_reader`."""
    with pytest.raises(InvalidAnswer) as refused:
        spec.read_exactly(text, answer_format)
    return refused.value


ACCEPTED = [
    (INTEGER, "33", 33),
    (INTEGER, " 33\n", 33),
    (INTEGER, "33.", 33),
    (INTEGER, "```\n33\n```", 33),
    (INTEGER, "33.0", 33),
    (INTEGER, "+33", 33),
    (INTEGER, "007", 7),
    (INTEGER, "-0", 0),
    (INTEGER, "0", 0),
    (INTEGER, "100", 100),
    (INTEGER, "**33**", 33),
    (INTEGER, "**33.**", 33),
    (INTEGER, "**33**.", 33),
    (INTEGER, "_33_", 33),
    (INTEGER, "`33`", 33),
    (INTEGER, '"33"', 33),
    (INTEGER, "'33'", 33),
    (REAL, "1.25", 1.25),
    (REAL, ".5", 0.5),
    (REAL, "-.5", -0.5),
    (REAL, "2.", 2.0),
    (REAL, "-1.5", -1.5),
    (DOOR, "left", "left"),
    (DOOR, "LEFT.", "left"),
    (DOOR, "bottom", "Bottom"),
    (DOOR, '**"The  right"**', "the right"),
    (DOOR, "left...", "left"),
    (Choice(("Yes.", "No.")), "yes", "Yes."),
    (TEXT, "Hello there", "Hello there"),
    (TEXT, "  Hello\n\n there\t you ", "Hello there you"),
    (TEXT, "one two three four five", "one two three four […]"),
    (TEXT, "one two three four", "one two three four"),
    (TEXT, "Exit 15", "Exit 15"),
    (TALK, "fifteen people there", "fifteen people there"),
    (TEXT, "zero\u200bwidth \x07bell", "zero width bell"),
    (Text(max_chars=10), "abcdefghijkl", "abcdef […]"),
    (Text(max_chars=10), "abcdefghij", "abcdefghij"),
    (Text(max_chars=10), "abcde fghijkl", "abcde […]"),
]


@pytest.mark.parametrize(("spec", "text", "value"), ACCEPTED)
def test_accepted(spec, text, value) -> None:
    reading = spec.read(text)

    assert reading.value == value
    assert type(reading.value) is type(value)
    assert reading.reasoning == ""


REFUSED = [
    (INTEGER, "", "empty"),
    (INTEGER, " \n\t", "empty"),
    (INTEGER, "I choose 33", "not_a_number"),
    (INTEGER, "33!", "not_a_number"),
    (INTEGER, "33%", "not_a_number"),
    (INTEGER, "33..", "not_a_number"),
    (INTEGER, "33…", "not_a_number"),
    (INTEGER, "thirty-three or so", "not_a_number"),
    (INTEGER, "- 3", "not_a_number"),
    (INTEGER, "--3", "not_a_number"),
    (INTEGER, "0x21", "several_numbers"),
    (INTEGER, "1_0", "several_numbers"),
    (INTEGER, "nan", "not_a_number"),
    (INTEGER, "inf", "not_a_number"),
    (INTEGER, "9" * 400, "not_a_number"),
    (INTEGER, "33 or 34", "several_numbers"),
    (INTEGER, "20-30", "several_numbers"),
    (INTEGER, "33,3", "not_an_integer"),
    (INTEGER, "33 1/3", "not_an_integer"),
    (INTEGER, "33\n34", "one_line"),
    (INTEGER, "Because.\n33", "one_line"),
    (INTEGER, "33.5", "not_an_integer"),
    (INTEGER, "101", "out_of_range"),
    (INTEGER, "-1", "out_of_range"),
    (REAL, "2.001", "out_of_range"),
    (REAL, "-1.51", "out_of_range"),
    (REASONED, "Because.\n33 it is", "not_a_number"),
    (REASONED, "33\nBecause.", "not_a_number"),
    (REASONED, "The mean of 50 and 40 is 45.\n30 = 2/3 of it", "several_numbers"),
    (DOOR, "up", "not_an_option"),
    (DOOR, "left or bottom", "not_an_option"),
    (DOOR, "left door", "not_an_option"),
    (DOOR, "left\nbottom", "one_line"),
    (DOOR, "***", "not_an_option"),
    (REASONED_DOOR, "left, since it is near", "not_an_option"),
    (TEXT, "\x00\u200b", "empty"),
    (TALK, "Exit at 15 16 17", "has_numbers"),
    (TALK, "one two three four 5", "has_numbers"),
    (TALK, "٣ people", "has_numbers"),
]


@pytest.mark.parametrize(("spec", "text", "code"), REFUSED)
def test_refused(spec, text, code) -> None:
    assert refusal(spec, text).code == code


def test_a_refusal_says_what_was_found_and_what_is_legal() -> None:
    assert refusal(INTEGER, "101").fields == {"found": '"101"', "low": "0", "high": "100"}
    assert refusal(REAL, "9.5").fields == {"found": '"9.5"', "low": "-1.5", "high": "2"}
    assert refusal(DOOR, "the  ceiling" + "!" * 60).fields == {
        "found": '"the ceiling' + "!" * 49 + '…"'
    }


def test_reasoning_is_all_but_the_last_line() -> None:
    reading = REASONED.read("First 50.\n\n Then  33.\n\n22\n")

    assert (reading.value, reading.reasoning) == (22, "First 50. Then 33.")


def test_a_bare_answer_is_usable_where_reasoning_was_asked_for() -> None:
    assert (REASONED.read("22").value, REASONED.read("22").reasoning) == (22, "")


def test_reasoning_comes_before_a_choice_and_a_text() -> None:
    choice = REASONED_DOOR.read("It is near.\n**Left**.")
    text = Text(reasoning=words(30)).read("They are shy.\nHello!")

    assert (choice.value, choice.reasoning) == ("left", "It is near.")
    assert (text.value, text.reasoning) == ("Hello!", "They are shy.")


JSON_ACCEPTED = [
    (INTEGER, '{"answer": 33}', 33, ""),
    (REASONED, '{"answer": 33}', 33, ""),
    (INTEGER, '{"answer": 33.0}', 33, ""),
    (INTEGER, '```json\n{"answer": 33}\n```', 33, ""),
    (INTEGER, ' {"answer": 1e1} ', 10, ""),
    (INTEGER, '{"answer": 33, "confidence": 0.9}', 33, ""),
    (REASONED, '{"reasoning": "It is\\n  low.", "answer": 3}', 3, "It is low."),
    (REAL, '{"answer": -1}', -1.0, ""),
    (DOOR, '{"answer": "LEFT"}', "left", ""),
    (DOOR, '{"answer": "left."}', "left", ""),
    (TEXT, '{"answer": "Hello\\nthere"}', "Hello there", ""),
    (REASONED_DOOR, '{"reasoning": "A \\ud83d half", "answer": "left"}', "left", "A ? half"),
    (TEXT, '{"answer": "half \\ud83d"}', "half ?", ""),
]


@pytest.mark.parametrize(("spec", "text", "value", "reasoning"), JSON_ACCEPTED)
def test_accepted_json(spec, text, value, reasoning) -> None:
    reading = spec.read(text, "json")

    assert (reading.value, reading.reasoning) == (value, reasoning)
    assert type(reading.value) is type(value)


JSON_REFUSED = [
    (INTEGER, "", "empty"),
    (INTEGER, "33", "not_json"),
    (INTEGER, "[33]", "not_json"),
    (INTEGER, "null", "not_json"),
    (INTEGER, "{}", "not_json"),
    (INTEGER, '{"Answer": 33}', "not_json"),
    (INTEGER, '{"answer": 33', "not_json"),
    (INTEGER, '{"answer": 33} {"answer": 34}', "not_json"),
    (INTEGER, '{"answer": 33, "answer": 34}', "not_json"),
    (INTEGER, 'Here:\n```json\n{"answer": 33}\n```', "not_json"),
    (INTEGER, '```\n{"answer": 33}\n```\n```\n{"answer": 34}\n```', "not_json"),
    (INTEGER, '{"answer": "33"}', "not_json"),
    (INTEGER, '{"answer": null}', "not_json"),
    (INTEGER, '{"answer": [33]}', "not_json"),
    (INTEGER, '{"answer": {"answer": 33}}', "not_json"),
    (INTEGER, '{"answer": ' + "9" * 5000 + "}", "not_json"),
    (INTEGER, "[" * 100_000, "not_json"),
    (INTEGER, '{"answer": true}', "not_a_number"),
    (INTEGER, '{"answer": false}', "not_a_number"),
    (INTEGER, '{"answer": NaN}', "not_a_number"),
    (INTEGER, '{"answer": Infinity}', "not_a_number"),
    (INTEGER, '{"answer": 1e999}', "not_a_number"),
    (INTEGER, '{"answer": ' + "9" * 400 + "}", "not_a_number"),
    (INTEGER, '{"answer": 33.5}', "not_an_integer"),
    (INTEGER, '{"answer": 101}', "out_of_range"),
    (REASONED, '{"reasoning": 1, "answer": 33}', "not_json"),
    (REASONED, '{"reasoning": null, "answer": 33}', "not_json"),
    (DOOR, '{"answer": 1}', "not_an_option"),
    (DOOR, '{"answer": true}', "not_json"),
    (DOOR, '{"answer": "up"}', "not_an_option"),
    (TEXT, '{"answer": 1}', "not_json"),
    (TEXT, '{"answer": " "}', "empty"),
    (TALK, '{"answer": "Exit 3"}', "has_numbers"),
]


@pytest.mark.parametrize(("spec", "text", "code"), JSON_REFUSED)
def test_refused_json(spec, text, code) -> None:
    assert refusal(spec, text, "json").code == code


def test_schemas() -> None:
    assert INTEGER.answer_schema() == {
        "type": "object",
        "properties": {"answer": {"type": "integer", "minimum": 0, "maximum": 100}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    assert REASONED_DOOR.answer_schema()["properties"] == {
        "reasoning": {"type": "string", "maxLength": 240},
        "answer": {"type": "string", "enum": ["left", "right"]},
    }
    assert REASONED_DOOR.answer_schema()["required"] == ["reasoning", "answer"]
    assert REAL.answer_schema()["properties"]["answer"] == {
        "type": "number",
        "minimum": -1.5,
        "maximum": 2,
    }
    assert TEXT.answer_schema()["properties"] == {
        "answer": {"type": "string", "minLength": 1, "maxLength": 32}
    }


@pytest.mark.parametrize(
    "value", [33, 33.0, np.int64(33), np.float64(33)], ids=lambda value: type(value).__name__
)
def test_a_value_is_checked_like_a_text(value) -> None:
    found = INTEGER.check(value)

    assert found == 33
    assert type(found) is int


@pytest.mark.parametrize(
    ("spec", "value", "code"),
    [
        (INTEGER, None, "not_a_number"),
        (INTEGER, [33], "not_a_number"),
        (INTEGER, {}, "not_a_number"),
        (INTEGER, True, "not_a_number"),
        (INTEGER, 10**400, "not_a_number"),
        (Number(0, math.inf, integer=True), 10**400, "not_a_number"),
        (INTEGER, math.nan, "not_a_number"),
        (INTEGER, -1, "out_of_range"),
        (INTEGER, 0.5, "not_an_integer"),
        (DOOR, None, "not_an_option"),
        (TEXT, 3, "not_text"),
        (TEXT, None, "not_text"),
    ],
)
def test_a_value_that_is_not_legal(spec, value, code) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        spec.check(value)

    assert refused.value.code == code


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Number, {"low": 1, "high": 0}),
        (Number, {"low": math.nan, "high": 1}),
        (Choice, {"options": ()}),
        (Choice, {"options": ("a", "A")}),
        (Choice, {"options": ("a", "a.")}),
        (Choice, {"options": ("a b", "a  b")}),
        (Choice, {"options": ("a", "")}),
        (Choice, {"options": ("a", "**")}),
        (Choice, {"options": ("a", "b\nc")}),
        (Text, {"max_words": 0}),
        (Text, {"max_chars": 4}),
        (Text, {"max_words": "200"}),
        (Number, {"low": "0", "high": 10}),
        (Choice, {"options": "yes"}),
    ],
    ids=str,
)
def test_a_spec_that_allows_nothing_or_is_ambiguous(kind, arguments) -> None:
    with pytest.raises(ParameterError, match=r"needs|takes|are texts"):
        kind(**arguments)


def test_options_are_one_tuple() -> None:
    with pytest.raises(ParameterError, match=r"as in Choice\(\('yes', 'no'\)\)\.$"):
        Choice("yes", "no")


# Properties of all values and all texts.

formats = st.sampled_from(["paper", "json"])
reasonings = st.sampled_from([None, words(30), free])
anything = st.text(st.characters(codec="utf-8"), max_size=40)
printable = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "),
    min_size=1,
    max_size=20,
)
thoughts = anything.map(lambda text: " ".join(text.split())).filter(bool)
lines = printable.map(lambda text: " ".join(text.split())).filter(bool)
numbers = st.builds(
    lambda ends, integer, reasoning: Number(
        min(ends), max(ends), integer=integer, reasoning=reasoning
    ),
    st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
    st.booleans(),
    reasonings,
)


def distinct(options: list[str], reasoning: Reasoning | None) -> Choice:
    try:
        return Choice(tuple(options), reasoning=reasoning)
    except ParameterError:
        assume(False)
        raise


choices = st.builds(
    distinct,
    st.lists(printable, min_size=1, max_size=5, unique_by=str.casefold),
    reasonings,
)
specs = st.one_of(
    numbers,
    choices,
    st.builds(Text, st.integers(1, 9), st.integers(5, 60), reasoning=reasonings),
)


def written(spec, value, reasoning, answer_format) -> str:
    if answer_format == "json":
        return json.dumps({"reasoning": reasoning, "answer": value})
    return f"{reasoning}\n{value}" if spec.reasoning else str(value)


@given(numbers, st.data(), formats, thoughts)
def test_every_legal_number_round_trips(spec, data, answer_format, reasoning) -> None:
    if spec.integer:
        value = data.draw(st.integers(int(spec.low), int(spec.high)))
    else:
        fraction = data.draw(st.decimals(spec.low, spec.high, places=6))
        value = float(fraction)
        assume(answer_format == "json" or "e" not in str(value))
    reading = spec.read(written(spec, value, reasoning, answer_format), answer_format)

    assert reading.value == value
    assert isinstance(reading.value, int if spec.integer else float)


@given(choices, st.data(), formats, thoughts)
def test_every_option_round_trips(spec, data, answer_format, reasoning) -> None:
    option = data.draw(st.sampled_from(spec.options))

    reading = spec.read(written(spec, option, reasoning, answer_format), answer_format)

    assert reading.value == option


@given(specs, st.one_of(anything, st.text()), formats)
@example(Number(0, 100, integer=True), "٣٣", "paper")
@example(Text(), "\ud83d", "paper")
@example(Text(), '{"answer": "\\ud83d"}', "json")
def test_an_accepted_text_is_a_legal_value(spec, text, answer_format) -> None:
    try:
        reading = spec.read(text, answer_format)
    except InvalidAnswer:
        return
    value = reading.value

    assert spec.check(value) == value
    if isinstance(spec, Number):
        assert spec.low <= value <= spec.high
        assert isinstance(value, int) or not spec.integer
    elif isinstance(spec, Choice):
        assert value in spec.options
    else:
        assert value.isprintable()
        assert 0 < len(value) <= spec.max_chars
    assert len(reading.reasoning.splitlines()) <= 1


def test_a_spec_declares_the_words_of_its_scenario() -> None:
    pumped = Number(0, 100, unit="barrels", label="extraction")

    assert (pumped.unit, pumped.label) == ("barrels", "extraction")
    assert Choice(("left", "right"), label="exit").label == "exit"
    for wrong in json.loads('[{"unit": "a\\nb"}, {"label": "harvest:"}, {"label": 3}]'):
        with pytest.raises(ParameterError, match="must be one word or a few"):
            Number(0, 1, **wrong)
