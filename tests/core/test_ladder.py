"""The reading ladder: a corpus of answers as models write them, and which rung read them.

Each line of ``corpus/KIND.jsonl`` is an answer and the value that a careful person reads in it;
null where that person would ask again: there is no value, or more than one.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Choice, KeynesianBeautyContest, Number, Recorded, Several, Text, replay
from sabm_mesa.core.answers import AnswerSpec, Format, InvalidAnswer, free, words
from sabm_mesa.core.ladder import normalise
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.evacuation.screening import ROUTE
from tests.core.support import Priced

CORPUS = Path(__file__).parent / "corpus"
PICK = Number(0, 100, integer=True)
DOOR = Choice(("left", "bottom", "right"))
SPECS: dict[str, tuple[AnswerSpec, Format]] = {
    "number": (PICK, "paper"),
    "price": (Number(0, 20), "paper"),
    "choice": (DOOR, "paper"),
    "text": (Text(), "paper"),
    "json": (PICK, "json"),
    "list": (Several(Choice(("price", "cooperation", "threat", "greeting"))), "paper"),
    "route": (ROUTE, "paper"),
}


def read(spec: AnswerSpec, text: str, answer_format: Format) -> Any:
    try:
        return json.loads(json.dumps(spec.read(text, answer_format).value))
    except InvalidAnswer:
        return None


@pytest.mark.parametrize("kind", SPECS)
def test_no_answer_is_read_wrongly_and_nearly_all_are_read(kind: str) -> None:
    lines = (CORPUS / f"{kind}.jsonl").read_text("utf-8").splitlines()
    answers = [(each["text"], each["value"]) for each in map(json.loads, lines)]
    found = [(text, value, read(*SPECS[kind][:1], text, SPECS[kind][1])) for text, value in answers]

    assert len(answers) >= 200
    assert [each for each in found if each[2] not in (None, each[1])] == []
    readable = [each for each in found if each[1] is not None]
    unread = [text for text, _, now in readable if now is None]
    assert len(unread) <= 0.05 * len(readable), unread


@pytest.mark.parametrize(
    ("spec", "text", "answer_format", "rung"),
    [
        (PICK, "33", "paper", "exact"),
        (PICK, "**33.**", "paper", "exact"),
        (PICK, "Answer: 33", "paper", "unambiguous"),
        (DOOR, "Left.", "paper", "exact"),
        (DOOR, "the left exit", "paper", "unambiguous"),
        (Text(), "Hello!", "paper", "exact"),
        (Text(), 'Here is my message: "Hello!"', "paper", "unambiguous"),
        (PICK, '{"answer": 33}', "json", "exact"),
        (PICK, 'Sure: {"answer": 33,}', "json", "unambiguous"),
    ],
)
def test_the_reading_says_which_rung_it_took(
    spec: AnswerSpec, text: str, answer_format: Format, rung: str
) -> None:
    assert spec.read(text, answer_format).read_as == rung
    if rung == "unambiguous" and not isinstance(spec, Text):
        with pytest.raises(InvalidAnswer):
            spec.read(text, answer_format, "exact")


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
        ("Answer: 10 tons", 10, "unambiguous"),
        ("\\[\n\\boxed{10}\n\\]", 10, "unambiguous"),
        ("```\n10\n```", 10, "unambiguous"),
        ("So I will catch 10 tons.", 10, "unambiguous"),
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
    ("reading", "picks", "read_as"),
    [("unambiguous", [33, 33], ["unambiguous"] * 2), ("exact", [None, None], [None] * 6)],
)
def test_the_second_rung_can_be_switched_off_and_is_recorded(
    tmp_path: Path, reading: str, picks: list[Any], read_as: list[Any]
) -> None:
    path = tmp_path / "run.sqlite"
    mind = Priced(lambda _: "I choose 33.")
    model = KeynesianBeautyContest(
        n_players=2, n_rounds=1, minds=mind, recording=path, rng=1, reading=reading
    )
    model.run_model()
    model.close()

    def found(model: Any) -> list[Any]:
        choices = model.agent_frame()["choice"]
        return [None if choice != choice else choice for choice in choices]

    (again,) = replay(path, minds={"priced": mind}).models
    asks = Recorded(path).asks()
    assert found(model) == found(again) == picks
    assert [None if each != each else each for each in asks["read_as"]] == read_as
