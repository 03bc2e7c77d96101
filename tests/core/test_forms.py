"""The forms of an answer, and how it is asked for again."""

import json
from pathlib import Path

import pytest

from sabm_mesa import (
    Choice,
    KeynesianBeautyContest,
    Number,
    Recorded,
    SmartAgent,
    SmartModel,
    Text,
    communication,
    replay,
)
from sabm_mesa.core.answers import Format, InvalidAnswer, free, words
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.llm import close_all
from tests.core.support import TINY
from tests.llm_server import LLMServer

PICK = Number(0, 100, integer=True)
BOOK = PromptBook(KeynesianBeautyContest.prompt_file)


@pytest.mark.parametrize(
    ("spec", "form"),
    [
        (PICK, "a line that begins with Answer: and after it an integer from 0 to 100."),
        (Choice(("a", "b")), "begins with Answer: and after it exactly one of these: a, b."),
        (
            Number(0, 9, reasoning=words(30)),
            "Give your reasoning in at most 30 words. Then end with a line that begins with",
        ),
        # A text alone needs no label.
        (Text(max_words=9), "Answer in at most 9 words, with the text alone."),
    ],
)
def test_the_labelled_form(spec, form: str) -> None:
    assert form in BOOK.form(spec, "labelled")


@pytest.mark.parametrize(
    ("spec", "text", "value", "reasoning"),
    [
        (PICK, "Answer: 33", 33, ""),
        (PICK, "33", 33, ""),
        (PICK, "I think of it.\n**Answer:** 33.", 33, ""),
        (Number(0, 9, reasoning=free), "One.\nTwo 5.\nAnswer: 7", 7, "One. Two 5."),
        (Choice(("left", "right")), "answer: Right", "right", ""),
        (Text(), "Answer: this is a word of mine", "Answer: this is a word of mine", ""),
        (Text(reasoning=words(9)), "Hm.\nAnswer: Let us meet.", "Let us meet.", "Hm."),
    ],
)
def test_a_labelled_answer_is_what_was_asked_for(spec, text: str, value, reasoning: str) -> None:
    assert spec.read_exactly(text, "labelled")[:3] == (value, reasoning, "exact")


@pytest.mark.parametrize("text", ["Answer: 101", "Answer: 33 or 34", "Answer:", "33\nAnswer: no"])
def test_no_value_is_made_up_behind_a_label(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        PICK.read_exactly(text, "labelled")


def test_a_question_is_asked_again_for_the_value_alone_and_at_last_as_json(tmp_path) -> None:
    requests = []

    def brain(messages, body):
        requests.append((messages, body))
        return ["I cannot tell yet.", "Well, maybe.", '{"answer": 33}'][len(requests) - 1]

    with LLMServer(brain=brain) as server:
        model = KeynesianBeautyContest(
            n_players=2, n_rounds=1, minds=[f"llm:m@{server.url}", "fixed:5"],
            recording=tmp_path / "r.sqlite", rng=1,
        )  # fmt: skip
        model.run_model()

    assert [player.choice for player in model.population] == [33, 5]
    first, second, third = (messages[-1]["content"] for messages, _ in requests)
    assert "reasoning in at most 30 words" in first
    for text, answer in ((second, "I cannot tell yet."), (third, "Well, maybe.")):
        assert f'Your answer was: "{answer}"\nIt could not be used.' in text
        assert "reasoning" not in text
    assert second.endswith("an integer from 0 to 100: no word before it, none after it.")
    assert third.endswith('JSON object whose field "answer" is an integer from 0 to 100.')
    forms = [body.get("response_format") for _, body in requests]
    assert forms[:2] == [None, None]
    schema = forms[2]["json_schema"]["schema"]
    assert schema["properties"] == {"answer": {"type": "integer", "minimum": 0, "maximum": 100}}
    asks = Recorded(tmp_path / "r.sqlite").asks()
    asks = asks[asks["agent"] == 1]
    assert asks["form"].tolist() == ["labelled", "labelled", "json"]
    assert asks["valid"].astype(bool).tolist() == [False, False, True]


def test_a_text_that_breaks_a_rule_of_form_is_kept_and_counted() -> None:
    talk = Text(max_words=4, numbers=False)

    assert talk.read("Exit at 15").value == "Exit at 15"
    assert talk.broken_rules("Exit at 15") == ("with_digits",)
    assert talk.broken_rules("This way out") == ()
    long = talk.read("one two three four 5").value
    assert (long, talk.broken_rules(long)) == ("one two three four […]", ("too_long",))
    with pytest.raises(InvalidAnswer) as refused:
        Text(numbers=False, strict=True).read("Exit at 15")
    assert refused.value.code == "has_numbers"


@pytest.mark.parametrize("answer_format", ["labelled", "paper", "json"])
@pytest.mark.parametrize(
    "said",
    ["", " \n", "[silence]", "(silence)", "Silence.", '""', "Answer: [silence]", "*silence*"],
)
def test_an_optional_text_may_be_silence(said: str, answer_format: Format) -> None:
    assert Text(optional=True).read(said, answer_format).value == ""
    if answer_format == "json":
        assert Text(optional=True).read(json.dumps({"answer": said}), answer_format).value == ""


@pytest.mark.parametrize("said", ["Silence is golden", "I say nothing", "nothing", "[silence] hi"])
def test_an_optional_text_with_other_words_is_not_silence(said: str) -> None:
    assert Text(optional=True).read(said, "paper").value == said


def test_silence_is_legal_sends_nothing_and_is_no_invalid_answer(tmp_path: Path) -> None:
    class Quiet(SmartAgent):
        async def communicate(self):
            return await self.ask("communicate", Text(optional=True), me=1, seen="")

    class Free(SmartModel):
        prompt_file = TINY
        phases = (communication(order="fixed"),)
        model_columns = ("n_said",)
        n_said = 0

        def __init__(self, **settings):
            super().__init__(**settings)
            self.populate(Quiet, 3)

        def after_communicate(self, agent, words):
            self.say(agent, words.value)

        def update(self):
            self.n_said = len(self.said)

    answers = ["", "[silence]", "Hello"]
    with LLMServer(brain=lambda *_: answers.pop(0)) as server:
        model = Free(minds=f"llm:m@{server.url}", rng=1, recording=tmp_path / "r.sqlite")
        model.run_model()
    close_all()

    assert [message.text for message in model.said] == ["Hello"]
    assert (model.total.asks, model.total.invalid, model.total.reasks) == (3, 0, 0)
    assert replay(tmp_path / "r.sqlite", scenario=Free).models[0].n_said == 1
