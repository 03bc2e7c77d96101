"""Reading answers in words: which step reads what, and corpora of answers.

Each line of ``corpus/KIND.jsonl`` is an answer, written by hand, and the value that a careful
person reads in it; null where that person would ask again: there is no value, or more than one.
``read`` is a value that the reader takes all the same, since it knows no nouns and no scenario.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Choice, Number, Text
from sabm_mesa.core.answers import AnswerSpec, Format, InvalidAnswer, free, words
from sabm_mesa.core.objects import find_objects
from sabm_mesa.core.reader import normalise
from sabm_mesa.errors import ParameterError
from tests.core.score import AIMS, SHIPPED, load, score

CORPUS = Path(__file__).parent / "corpus"
PICK = Number(0, 100, integer=True, label="number")
DOOR = Choice(("left", "bottom", "right"), label="exit")
SPECS: dict[str, tuple[AnswerSpec, Format]] = {
    "number": (PICK, "paper"),
    "price": (Number(0, 20, label="price"), "paper"),
    "choice": (DOOR, "paper"),
    "text": (Text(label="message"), "paper"),
    "json": (PICK, "json"),
}


def read(spec: AnswerSpec, text: str, answer_format: Format) -> Any:
    try:
        return json.loads(json.dumps(spec.read(text, answer_format).value))
    except InvalidAnswer:
        return None


@pytest.mark.parametrize("kind", SPECS)
def test_no_answer_is_read_as_another_value_and_most_are_read(kind: str) -> None:
    lines = (CORPUS / f"{kind}.jsonl").read_text("utf-8").splitlines()
    answers = list(map(json.loads, lines))
    found = [read(*SPECS[kind][:1], answer["text"], SPECS[kind][1]) for answer in answers]
    both = list(zip(answers, found, strict=True))

    assert len(answers) >= 200
    assert [
        pair for pair in both if pair[1] not in (None, pair[0].get("read", pair[0]["value"]))
    ] == []
    readable = [pair for pair in both if pair[0]["value"] is not None]
    unread = [answer["text"] for answer, value in readable if value is None]
    assert len(unread) <= 0.2 * len(readable), unread
    assert sum("read" in answer for answer in answers) <= 0.1 * (len(answers) - len(readable))


QUESTION = "You have 100 tokens; the others gave 60. How many do you give (0 to 100)?"
CARD = Choice(("Push", "Pull"))
EXAMPLES: list[tuple[AnswerSpec, str, Any, str]] = [
    (PICK, "33", 33, "exact"),
    (PICK, "**33.**", 33, "exact"),
    (DOOR, "Left.", "left", "exact"),
    (PICK, "I would like to contribute [$12] of the $20.", 12, "marked"),
    (PICK, "- $80 for me - [$20] for the other player", 20, "marked"),
    (PICK, "I'd say **40**: 60 would be too much.", 40, "marked"),
    (PICK, r"So \(\boxed{12}\), since 50 is too much.", 12, "marked"),
    (PICK, "<answer>\n12\n</answer>", 12, "marked"),
    (PICK, "I go with `12`, not `13` again.", None, ""),
    (PICK, "They take 60.\nFinal answer: 40", 40, "labelled"),
    (PICK, "Answer: 33", 33, "labelled"),
    (PICK, "Number: 42\nConfidence: 80", 42, "labelled"),
    (PICK, "Donation: 40", 40, "labelled"),
    (PICK, "7 barrels", 7, "labelled"),
    (PICK, "40 kg", 40, "labelled"),
    (PICK, "Quantity: 35\nProfit: 20", None, ""),
    (DOOR, "the left exit", "left", "labelled"),
    (PICK, "I choose to invest $30 with the Banker.", 30, "only"),
    (PICK, "I will give 40 of the 100 tokens.", 40, "only"),
    (PICK, "I'd split 100 tokens: you get 40.", 40, "only"),
    (PICK, "The others gave 60, I expect. I will give 40.", 40, "only"),
    (PICK, "You get 40 of 100.", None, ""),
    (PICK, "The maximum is 40.", None, ""),
    (PICK, "The average is 50.", None, ""),
    (PICK, "The average is 50, so the number closest to 50 is 50. I should choose 50.", 50, "only"),
    (CARD, "In the first round, I would play Push.", "Push", "only"),
    (CARD, "They played Pull last time. I will play Push.", None, ""),
    (CARD, "I will play Push or Pull.", None, ""),
    (PICK, "- $80 for me\n- $20 for the other player", None, ""),
    (PICK, "I would give $30 to you and keep $70.", None, ""),
    (PICK, "I choose 40. Actually, 30.", None, ""),
    (PICK, "I will not choose 40.", None, ""),
    (PICK, "If I chose 40, they would take 20.", None, ""),
    (PICK, "If they take 60, I take 40.", None, ""),
    (PICK, "Should I choose 40?", None, ""),
    (PICK, "I choose about 40.", None, ""),
    (PICK, "I choose 20-30.", None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "text", "value", "step"), EXAMPLES)
def test_the_reading_says_which_step_found_the_value(
    spec: AnswerSpec, text: str, value: Any, step: str
) -> None:
    if value is None:
        with pytest.raises(InvalidAnswer):
            spec.read(text, question=QUESTION)
        return
    found = spec.read(text, question=QUESTION)
    assert (found.value, found.read_as) == (value, step)
    if step != "exact":
        with pytest.raises(InvalidAnswer):
            spec.read_exactly(text, "paper")


@pytest.mark.parametrize("marked", AIMS)
def test_real_answers_are_read_as_well_as_is_aimed_at(marked: bool) -> None:
    """Real answers of three models in four games; `make corpus` prints the table."""
    least, most = AIMS[marked]
    scored = score(load(SHIPPED), marked=marked)

    assert len(scored) >= 300
    assert (SHIPPED.parent / "chatgpt-LICENSE.txt").is_file()
    assert sum(one.outcome == "right" for one in scored) >= least * len(scored)
    wrong = [one.answer["text"] for one in scored if one.outcome == "wrong"]
    assert len(wrong) <= most * len(scored), wrong


def test_a_label_of_the_spec_comes_before_any_other() -> None:
    text = "Harvest: 12\nExpected profit: 40"

    assert Number(0, 100, label="harvest").read(text).value == 12
    with pytest.raises(InvalidAnswer):
        Number(0, 100).read(text)
    assert Number(0, 100, label="contribution").read("I contribute 12 of it.").value == 12


def test_a_unit_of_the_spec_belongs_to_its_number() -> None:
    text = "12 tons of fish"

    assert Number(0, 100, unit="tons of fish").read(text).value == 12
    with pytest.raises(InvalidAnswer):
        Number(0, 100).read("12 tons of fish and 8 of rice")


@pytest.mark.parametrize(
    ("spec", "text", "value"),
    [
        (PICK, '{"answer": 33}', 33),
        (Number(0, 20), '{"price": "$6.50"}', 6.5),
        (PICK, 'Sure: {"answer": 33,}', 33),
        (PICK, '{"chosen_number": "25"}', 25),
        (PICK, '{"round": 500, "pick": 25}', 25),
        (PICK, '{"pick": 25, "confidence": 80}', None),
        (PICK, '{"answer": 25, "confidence": 80}', 25),
        (PICK, '{"answer": 120, "confidence": 80}', None),
        (CARD, '{"card": "push", "why": "to work together"}', "Push"),
        (CARD, '{"mine": "Push", "theirs": "Pull"}', None),
    ],
)
def test_json_is_read_where_it_holds_one_legal_value(
    spec: AnswerSpec, text: str, value: Any
) -> None:
    assert read(spec, text, "json") == value


def test_a_value_that_is_given_and_not_legal_is_named() -> None:
    with pytest.raises(InvalidAnswer) as refused:
        PICK.read("I choose 120.")
    assert (refused.value.code, refused.value.fields["found"]) == ("out_of_range", '"120"')


def test_a_refusal_in_words_is_told_from_an_answer() -> None:
    for spec in (PICK, DOOR, Text()):
        with pytest.raises(InvalidAnswer) as refused:
            spec.read("I'm sorry, but I can't help with that.")
        assert refused.value.code == "refused"


def test_reasoning_before_an_answer_in_words_is_kept() -> None:
    spec = Number(0, 100, integer=True, reasoning=words(30))

    assert spec.read("They go low.\nI choose 22.").reasoning == "They go low."
    assert spec.read('So: {"answer": 22, "reasoning": "Low."}', "json").reasoning == "Low."


THOUGHTS = (
    "There are 100 tons.\nI take 20.\nWait, that is too much: 5 x 20 = 100, so I choose 12.\n"
)


@pytest.mark.parametrize(
    ("end", "value", "rung"),
    [
        ("10", 10, "exact"),
        ("**10**", 10, "exact"),
        ("Answer: 10 tons", 10, "labelled"),
        ("\\[\n\\boxed{10}\n\\]", 10, "marked"),
        ("```\n10\n```", 10, "labelled"),
        ("So I will catch 10 tons.", 10, "only"),
    ],
)
def test_after_free_reasoning_the_last_line_is_the_answer(end: str, value: int, rung: str) -> None:
    spec = Number(0, 100, integer=True, reasoning=free)
    thoughts = "x" * 50_000 + "\n" + THOUGHTS

    for before in (THOUGHTS, thoughts):
        found = spec.read(before + end)
        assert (found.value, found.read_as) == (value, rung)
        assert "I take 20. Wait, that is too much" in found.reasoning


@pytest.mark.parametrize("end", ["", "10 or 12", "That is all.", "If they take 10, I take 12."])
def test_free_reasoning_without_an_answer_on_its_last_line_is_asked_again(end: str) -> None:
    spec = Number(0, 100, integer=True, reasoning=free)

    with pytest.raises(InvalidAnswer):
        spec.read("I take 20.\nWhat do the others take?\n" + (end or "Hm."))
    assert spec.read('{"reasoning": "First 20.\\nThen 12.", "answer": 10}', "json").value == 10
    properties = list(spec.answer_schema()["properties"])
    assert properties == ["reasoning", "answer"]


@pytest.mark.parametrize("reasoning", [True, "free", 30])
def test_reasoning_is_none_words_or_free(reasoning: Any) -> None:
    for spec in (partial(Number, 0, 1), partial(Choice, ("a",)), Text):
        with pytest.raises(ParameterError, match=r"`reasoning` is None, words\(…\) or free, not"):
            spec(reasoning=reasoning)
    with pytest.raises(ParameterError, match="at least 1 word"):
        words(0)


def test_a_very_long_text_is_not_searched() -> None:
    with pytest.raises(InvalidAnswer):
        PICK.read("I choose 33. " + "and so on " * 100_000)


def test_marks_of_the_reader_in_a_text_are_none() -> None:
    assert normalise("⟦0⟧") == "(0)"
    assert read(PICK, "I choose ⟦0⟧ 33", "paper") is None


@pytest.mark.parametrize(
    "text",
    ['{"answer": 30, "answer": 70}', "{'answer': 30, 'answer': 70}", "{'price': 1, 'price': 2}",
     "{'a': {'price': 1, 'price': 2}}"],
)  # fmt: skip
def test_an_object_with_a_field_twice_is_none(text: str) -> None:
    assert find_objects(text, "{") == []
    once = text.replace("70", "30").replace("2", "1")
    assert len(find_objects(once, "{")) == 1
