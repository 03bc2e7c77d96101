"""Answers in the words of a scenario are read by the labels and units that its specs declare."""

import pytest

from sabm_mesa import (
    CocktailParty,
    FiniteGame,
    Fishery,
    Pasture,
    PublicGoods,
    RepeatedBeautyContest,
    ScriptedMind,
)


def decisions(cls, answers, **given):
    """The answers that were read to the questions with these names, and what was not read."""
    asked = []

    def answer(ask):
        if ask.name not in answers:
            return ask.spec.as_text(ask.spec.example(ask.rng))
        asked.append(ask.spec.read(answers[ask.name], ask.answer_format))
        return answers[ask.name]

    model = cls(minds=ScriptedMind(answer), n_rounds=1, rng=1, **given)
    model.run_model()
    return {reading.value for reading in asked}


@pytest.mark.parametrize(
    "text",
    [
        "Harvest: 7 tons of fish",
        "Harvest: 7 tons",
        "I harvest 7 tons of fish.",
        "There are many.\nHarvest: **7 tons of fish**",
        "7 tons of fish",
    ],
)
def test_a_harvest(text: str) -> None:
    assert decisions(Fishery, {"act": text}) == {7}


def test_a_harvest_and_a_limit_in_the_units_of_another_wording() -> None:
    answers = {"act": "7 flocks of sheep", "agreed": "yes", "limit": "Limit: 9 flocks of sheep"}
    assert decisions(Pasture, answers) == {7, 9, "yes"}


def test_a_label_tells_the_answer_from_other_lines() -> None:
    limit = {"agreed": "yes", "limit": "Limit: 9 tons\nLeft: 55 tons"}
    assert decisions(Fishery, limit) == {9, "yes"}


def test_a_rating_of_a_memory() -> None:
    assert decisions(Fishery, {"importance": "Rating: 6\nConfidence: 3"}) == {6}


@pytest.mark.parametrize(
    "text", ["I contribute 12 tokens.", "Contribution: $12", "Contribution: 12\nExpected: 30"]
)
def test_a_contribution(text: str) -> None:
    assert decisions(PublicGoods, {"act": text}) == {12}


@pytest.mark.parametrize("text", ["My number is 33.", "Number: 33", "Number: 33\nTarget: 22"])
def test_a_pick(text: str) -> None:
    assert decisions(RepeatedBeautyContest, {"act": text}) == {33}


@pytest.mark.parametrize("text", ["My choice is A.", "Choice: A\nThe other player: B"])
def test_an_option_of_a_game(text: str) -> None:
    assert decisions(FiniteGame, {"act": text}) == {"A"}


@pytest.mark.parametrize("text", ["Amount: 4 points", "Amount: 4\nLeft: 6"])
def test_an_amount_of_a_game(text: str) -> None:
    assert decisions(FiniteGame, {"act": text, "move": text}, game="dictator") == {4}


def test_an_invitation_and_its_answer() -> None:
    answers = {"accept": "Decision: accept\nThe others: decline"}
    assert len(decisions(CocktailParty, answers, n_agents=4)) == 1
