"""Answers of several parts: what they accept, how they are read, and what they refuse by name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import AnswerSpec, Choice, Fields, Number, OneOf, Several, Text
from sabm_mesa.core.answers import FORMATS, InvalidAnswer, free, words
from sabm_mesa.core.fields import Chosen, Values
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError

GOOD, PEOPLE = Choice(("bread", "milk", "wood")), Choice(("Ann", "Bob", "Carl"))
ORDER = Fields(good=GOOD, amount=Number(0, 5, integer=True))
TRADE = OneOf(buy=ORDER, work=Fields(), stop=Fields())
OFFER = Fields(action=Choice(("give", "ask")), target=PEOPLE, amount=Number(0, 5, integer=True))
MESSAGE = Fields(to=Several(PEOPLE), text=Text(max_words=20))
NESTED = Fields(
    act=TRADE, offer=Fields(give=Number(0, 1), to=Several(PEOPLE, at_most=2)), why=Text()
)
SPECS: dict[str, AnswerSpec] = {
    "trade": TRADE,
    "offer": OFFER,
    "orders": Several(ORDER, at_most=3),
    "names": Several(PEOPLE, at_most=2),
    "message": MESSAGE,
}
OTHERS = [
    NESTED,
    Several(TRADE, at_most=3, at_least=1),
    Several(Number(-1e9, 1e9), at_most=4),
    Several(Text(), at_most=2),
    OneOf(say=Fields(text=Text(), orders=Several(ORDER, at_most=2)), wait=Fields(), reasoning=free),
    Fields(a=Number(0, 1e-7), b=TRADE, reasoning=words(30)),
]
CORPUS = Path(__file__).parent / "corpus" / "parts.jsonl"
BOOK = PromptBook(Path(__file__).with_name("tiny.toml"))


def refusal(spec: AnswerSpec, text: str, answer_format: Any = "paper") -> str:
    """Why a text is refused, in the words that a mind is told."""
    with pytest.raises(InvalidAnswer) as refused:
        spec.read(text, answer_format)
    return BOOK.reason(refused.value)


def read(spec: AnswerSpec, text: str) -> list[Any]:
    """The values that a text has in both formats of the question; None where it has none."""
    found = []
    for answer_format in FORMATS:
        try:
            found.append(json.loads(to_json(spec.read(text, answer_format).value)))
        except InvalidAnswer:
            found.append(None)
    return found


def test_no_answer_of_the_corpus_is_read_wrongly_and_nearly_all_are_read() -> None:
    lines = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    found = [(each, value) for each in lines for value in read(SPECS[each["spec"]], each["text"])]

    assert len(lines) >= 120
    assert [each for each in found if each[1] not in (None, each[0]["value"])] == []
    readable = [(each, value) for each, value in found if each["value"] is not None]
    unread = [each["text"] for each, value in readable if value is None]
    assert len(unread) <= 0.06 * len(readable), unread


@pytest.mark.parametrize("spec", [*SPECS.values(), *OTHERS], ids=repr)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_examples_are_legal_and_their_texts_are_read_exactly(spec: AnswerSpec, seed: int) -> None:
    value = spec.example(np.random.default_rng(seed))
    before = "They go low.\n" if spec.reasoning else ""
    whole = {"reasoning": "They go low."} if spec.reasoning else {}

    assert spec.check(value) == value
    assert spec.check(json.loads(to_json(value))) == value
    paper = spec.read(before + spec.as_text(value), "paper", "exact")
    as_json = spec.read(json.dumps(whole | {"answer": value}), "json", "exact")
    assert paper.value == as_json.value == value
    assert paper.reasoning == as_json.reasoning == before.strip()


def objects(schema: Any) -> list[Mapping[str, Any]]:
    """All objects in a schema."""
    if isinstance(schema, list):
        return [each for part in schema for each in objects(part)]
    if not isinstance(schema, Mapping):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [each for part in schema.values() for each in objects(part)]


# What OpenAI's strict mode takes: every field is required and no other, the root is an object, and
# alternatives do not begin with the same key (openai-python, issue 2193).
@pytest.mark.parametrize("spec", [*SPECS.values(), *OTHERS], ids=repr)
def test_schemas_hold_the_strict_mode_of_providers(spec: AnswerSpec) -> None:
    schema = spec.answer_schema()

    assert schema["type"] == "object"
    for each in objects(schema):
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False
    keys = {key for each in [schema["properties"]["answer"]] for key in each}
    limits = {"minItems", "maxItems"}
    assert keys - limits <= {
        "type", "properties", "required", "additionalProperties", "anyOf", "items",
    }  # fmt: skip
    first = [next(iter(each["properties"])) for each in TRADE.schema()["anyOf"]]
    assert first == ["buy", "work", "stop"]


def test_every_case_of_every_part_is_among_the_cases() -> None:
    cases = NESTED.cases(np.random.default_rng(1))

    assert {case.act.name for case in cases} == {"buy", "work", "stop"}
    assert {case.act.fields.good for case in cases if case.act.name == "buy"} == set(GOOD.options)
    assert {len(case.offer.to) for case in cases} >= {0, 1, 2}
    assert all(NESTED.check(case) == case for case in cases)


def test_values_are_dicts_and_have_attributes() -> None:
    value = TRADE.check({"buy": {"good": "Bread", "amount": np.int64(2)}})

    assert (value, value.name, value.fields.amount) == (
        {"buy": {"good": "bread", "amount": 2}},
        "buy",
        2,
    )
    assert isinstance(value, Chosen)
    assert isinstance(value.buy, Values)
    match value:
        case {"buy": {"good": good, "amount": amount}}:
            assert (good, amount) == ("bread", 2)
    with pytest.raises(
        AttributeError, match="There is no field 'price' here; there are: good, amount"
    ):
        _ = value.fields.price
    assert TRADE.check("Work") == {"work": {}}
    assert SPECS["names"].check({"Bob", "Ann"}) == ("Ann", "Bob")


@pytest.mark.parametrize(
    ("spec", "value", "reason"),
    [
        (OFFER, {"action": "give", "target": "Ann"}, "The field amount is missing."),
        (ORDER, {"good": "bread", "amount": 2, "pay": 1}, '"pay" is no field of this answer.'),
        (ORDER, {"good": "bread", "amount": True}, 'In amount: "True" is not the kind of value'),
        (ORDER, 3, '"3" has none of the fields'),
        (TRADE, {"buy": {}, "work": {}}, "is not exactly one of these: buy, work, stop."),
        (TRADE, "buy", "The field buy.good is missing."),
        (
            Fields(act=TRADE),
            {"act": {"buy": {"good": "x", "amount": 1}}},
            'In act.buy.good: "x" is not one of the possible answers.',
        ),
        (SPECS["names"], ("Ann", "Bob", "Carl"), "It has 3 values, where 0 to 2 are asked for."),
        (SPECS["names"], 3, '"3" is not a list.'),
    ],
)  # fmt: skip
def test_a_value_that_is_not_legal_is_refused_by_the_name_of_its_part(
    spec: AnswerSpec, value: object, reason: str
) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        spec.check(value)
    assert reason in BOOK.reason(refused.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("buy\ngood: bread\namount: 2 or 3", 'In amount: "2 or 3" holds more than one number.'),
        ("buy\ngood: bread\namount: 2\namount: 3", "More than one value is given for amount."),
        ("buy\ngood: bread", "The field amount is missing."),
        ("work\namount: 3", "amount is no field of this answer."),
        ('{"buy": {"good": "bread", "amount": 9}}', 'In amount: "9" is outside the range from'),
        ('{"good": "bread", "amount": 2}', "It names none of these: buy, work, stop."),
        ("I'm sorry, but I can't help with that.", "It was declined."),
    ],
)  # fmt: skip
def test_the_reason_for_asking_again_names_the_field(text: str, reason: str) -> None:
    assert refusal(TRADE, text).startswith(reason)


def test_the_first_rung_takes_nothing_but_the_form() -> None:
    assert TRADE.read("buy\ngood: bread\namount: 2").read_as == "exact"
    assert TRADE.read("action: buy\ngood: bread\namount: 2").read_as == "labelled"
    for text in ("action: buy\ngood: bread\namount: 2", "So:\nwork", '{"work": {}}'):
        with pytest.raises(InvalidAnswer):
            TRADE.read(text, "paper", "exact")


def test_after_free_reasoning_the_last_block_is_the_answer() -> None:
    spec = OneOf(buy=ORDER, work=Fields(), reasoning=free)
    thoughts = "Shall I work?\namount: 5 is too much, amount: 3 too.\n"

    found = spec.read(f"{thoughts}\n**buy**\n- Good: bread\n- Amount: 2 units\n")
    assert (found.value, found.read_as) == ({"buy": {"good": "bread", "amount": 2}}, "labelled")
    assert found.reasoning.startswith("Shall I work?")
    with pytest.raises(InvalidAnswer):
        spec.read(f"buy\ngood: bread\namount: 2\n{thoughts}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("buy(good='milk', amount=3)", {"buy": {"good": "milk", "amount": 3}}),
        ("buy(milk, 3)", {"buy": {"good": "milk", "amount": 3}}),
        ("I would buy(amount=0, good=bread).", {"buy": {"good": "bread", "amount": 0}}),
        ("stop()", {"stop": {}}),
        ("buy(milk)", None),
        ("buy(milk, amount=3)", None),
        ("buy(good=milk, good=bread)", None),
        ("buy(good=milk, amount=x+1)", None),
        ("buy(good=milk, amount=6)", None),
    ],
)
def test_a_call_is_read_with_its_arguments_by_name_or_in_order(text: str, value: Any) -> None:
    assert read(TRADE, text) == [value] * len(FORMATS)


def test_the_form_says_each_field_in_both_formats() -> None:
    assert BOOK.form(TRADE, "paper").endswith(
        "buy\ngood: one of bread, milk, wood\namount: an integer from 0 to 5\nor\nwork\nor\nstop"
    )
    assert BOOK.form(TRADE, "json").endswith(
        '{"buy": {"good": <one of bread, milk, wood>, "amount": <an integer from 0 to 5>}} | '
        '{"work": {}} | {"stop": {}}'
    )
    assert "offer.to: 0 to 2 of Ann, Bob, Carl" in BOOK.form(NESTED, "paper")
    assert "or the word none" in BOOK.form(Several(PEOPLE), "paper")
    assert "none" not in BOOK.form(Several(PEOPLE, at_least=1), "paper")
    for spec in [*SPECS.values(), *OTHERS]:
        assert all(BOOK.form(spec, answer_format) for answer_format in FORMATS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fields(items=GOOD), "A field cannot be called 'items'"),
        (lambda: Fields(amount=GOOD, Amount=GOOD), "A field cannot be called 'Amount'"),
        (lambda: Fields(amount=5), r"amount must be a spec, such as Number\(0, 5\)"),
        (lambda: Fields(a=Number(0, 1, reasoning=free)), "a has its own reasoning"),
        (OneOf, "OneOf needs an option"),
        (lambda: OneOf(a=GOOD), r"a must be Fields\(…\)"),
        (lambda: Several(Number(0, 1)), "Several needs at_most=… for anything but a Choice"),
        (lambda: Several(GOOD, at_most=4), "no more than there are options"),
        (lambda: Several(Choice(("a, b", "c"))), "cannot contain a comma"),
        (lambda: Choice((1, 2)), "The options of a choice are texts"),
    ],
)
def test_a_spec_that_cannot_be_used_says_why(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


@dataclass(frozen=True, slots=True)
class Clock(AnswerSpec):
    """A student's own spec: a time such as 14:30, as (hour, minute)."""

    kind = "clock"
    json_type = str

    def check(self, value: Any) -> tuple[int, int]:
        try:
            hour, minute = value if isinstance(value, list | tuple) else map(int, value.split(":"))
        except (TypeError, ValueError):
            raise InvalidAnswer("no_time", found=value) from None
        return hour, minute

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def example(self, rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.integers(24)), int(rng.integers(60))

    def as_text(self, value: Any) -> str:
        return f"{value[0]:02}:{value[1]:02}"


def test_a_spec_of_ones_own_stands_alone_and_as_a_part(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[answers]\nclock_paper = "Answer with a time."\nclock_value = "a time, as in 14:30"\n'
        '[answers.reasons]\nno_time = "{found} is no time."\n'
    )
    book = PromptBook(own)
    meeting = Fields(at=Clock(), where=GOOD)

    assert book.form(Clock(), "paper") == "Answer with a time."
    assert "at: a time, as in 14:30" in book.form(meeting, "paper")
    assert Clock().read("14:30").value == (14, 30)
    assert meeting.read("at: 14:30\nwhere: milk").value == {"at": (14, 30), "where": "milk"}
    assert meeting.read('{"at": "9:05", "where": "milk"}').value.at == (9, 5)
    with pytest.raises(InvalidAnswer) as refused:
        meeting.read("at: noon\nwhere: milk")
    assert book.reason(refused.value) == "In at: noon is no time."
    value = meeting.example(np.random.default_rng(1))
    assert meeting.read(meeting.as_text(value), "paper", "exact").value == value
