"""Legal sentences, and the observations of a writer."""

import pytest

from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.models.pairs.sentence_making.agents import Sentence
from tests.models.pairs.sentence_making.support import played, sentence


def test_a_sentence_that_breaks_the_task_is_kept_as_said_and_not_valid() -> None:
    def script(ask):
        if ask.key.agent == 1:
            return sentence(ask).replace("ocean", "sea")
        if ask.key.agent == 2:
            return sentence(ask).replace(".", " again" * 40 + ".")
        return "Here I wrote it twice of " + ", ".join(ask.spec.words) + "."

    model = played(script, interaction="individual")

    assert (model.total.asks, model.total.invalid, model.total.reasks) == (6, 0, 0)
    assert list(model.agent_frame()["written"]) == [2, 2, 2]
    assert list(model.agent_frame()["valid"]) == [0, 0, 1]
    assert model.valid_ratio == pytest.approx(1 / 6)
    said = [decision.value for decision in model.writers[1].decisions]
    assert all(text.endswith("again" + " again" * 39 + ".") for text in said)


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


def test_what_a_sentence_is() -> None:
    spec = Sentence(words=("ocean", "hummed"))

    assert spec.read("The oceans,\nthey hum.").value == "The oceans, they hum."
    longest = "The sea hummed" + " on" * 45 + "."
    assert spec.read(longest).value == longest
    assert spec.read('{"answer": "The ocean hums."}', "json").value == "The ocean hums."
    with pytest.raises(InvalidAnswer):
        spec.read(" ")
