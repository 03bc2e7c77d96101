"""Legal sentences, and the observations of a writer."""

import pytest

from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.models.sentence_making.agents import Sentence
from tests.models.sentence_making.support import played, sentence


def test_a_sentence_without_the_words_is_asked_again_with_the_reason_and_counted() -> None:
    reasons = []

    def script(ask):
        if ask.key.agent == 1:
            reasons.extend(reason for _, reason in ask.rejected[-1:])
            return sentence(ask).replace("ocean", "sea").replace("journey", "trip")
        if ask.key.agent == 2 and not ask.rejected:
            return sentence(ask).replace(".", " again" * 40 + ".")
        return sentence(ask)

    model = played(script, interaction="individual")

    assert reasons[0] == "It lacks these words: ocean, journey."
    assert (model.total.invalid, model.total.reasks) == (2, 2 * 2 + 2)
    assert model.valid_ratio == pytest.approx(4 / 6)
    assert model.valid_ratio_at_once == pytest.approx(2 / 6)
    assert list(model.agent_frame()["written"]) == [0, 2, 2]


def test_a_writer_sees_its_own_sentences_and_no_others() -> None:
    seen = []

    def script(ask):
        seen.append((ask.key.agent, ask.facts.sentences, ask.messages()[1]["content"]))
        return sentence(ask)

    played(script, interaction="individual", n_sentences=3)

    for agent, own, text in seen:
        name = ("one", "two", "three")[agent - 1]
        assert all(f"Here {name} wrote" in line for line in own)
        assert text.count("Here ") == len(own)
        assert f"Write sentence {len(own) + 1} of 3." in text


def test_what_a_sentence_has_to_be() -> None:
    spec = Sentence(words=("ocean", "hummed"), taken=("Oceans hum.",))

    assert spec.read("The ocean was humming.").value == "The ocean was humming."
    assert spec.read("The oceans,\nthey hum.").value == "The oceans, they hum."
    for text, code in (
        ("The sea hummed.", "lacks_words"),
        ("The ocean hummed" + " on" * 38 + ".", "too_long"),
        ("OCEANS HUM!", "repeated"),
        (" ", "empty"),
    ):
        with pytest.raises(InvalidAnswer) as caught:
            spec.read(text)
        assert caught.value.code == code
    longest = "The ocean hummed" + " on" * 37 + "."
    assert spec.read(longest).value == longest
    assert spec.read('{"answer": "The ocean hums."}', "json").value == "The ocean hums."
