"""The messages that players of the Keynesian beauty contest hear, and their prompts."""

import re
from itertools import product

import pytest

from tests.models.kbc.support import follow, played


def all_of(model):
    """The messages of all rounds."""
    return model.conversation(rounds=None)


@pytest.fixture
def heard():
    """Everything that was asked in a run of four players, by place."""
    asked = {}

    def answer(ask):
        asked[ask.key.round, ask.name, ask.key.agent] = (ask.facts, ask.messages())
        if ask.name == "communicate":
            return f"Player {ask.key.agent} speaks in round {ask.key.round}."
        return str(70 + ask.key.agent)

    model = played(answer=answer, n_players=4, rng=3)
    return model, asked


def test_nobody_speaks_in_the_first_round_and_everybody_in_the_others(heard) -> None:
    model, asked = heard

    assert {k for k in asked if k[1] == "communicate"} == set(
        product((1, 2, 3), ("communicate",), (1, 2, 3, 4))
    )
    assert {k for k in asked if k[1] == "act"} == set(product(range(4), ("act",), (1, 2, 3, 4)))
    assert len(all_of(model)) == 12


def test_the_speaking_order_is_shuffled_every_round_by_the_seed(heard) -> None:
    model, _ = heard
    orders = [tuple(m.sender for m in all_of(model) if m.round == k) for k in (1, 2, 3)]

    assert all(sorted(order) == [1, 2, 3, 4] for order in orders)
    assert len(set(orders)) > 1
    other = played(answer=lambda _: "5", n_players=4, rng=4)
    assert [m.sender for m in all_of(other)] != [m.sender for m in all_of(model)]


def test_a_speaker_hears_all_that_was_said_before_and_nothing_else(heard) -> None:
    model, asked = heard

    for place, message in enumerate(all_of(model)):
        observation, _ = asked[message.round, "communicate", message.sender]
        assert observation.said == tuple(all_of(model)[:place])
    for (k, name, _), (observation, _) in asked.items():
        if name == "act":
            assert observation.said == tuple(m for m in all_of(model) if m.round <= k)


def test_own_lines_are_ones_own_and_others_have_their_numbers(heard) -> None:
    model, asked = heard

    for (_, _, player), (observation, (_, question)) in asked.items():
        lines = [
            f"{'You' if m.sender == player else f'Player #{m.sender}'}: "
            f"Player {m.sender} speaks in round {m.round}."
            for m in observation.said
        ]
        shown = "\n".join(lines) or "(nothing yet)"
        assert f"What the players have said so far:\n{shown}\n\n" in question["content"]
        assert observation.player == player
    assert len(all_of(model)) == 12


def test_nobody_sees_a_pick(heard) -> None:
    """Picks are 71 to 74, which no prompt names."""
    _, asked = heard

    for observation, messages in asked.values():
        assert not re.search(r"7[1-4]", "".join(m["content"] for m in messages))
        assert not hasattr(observation, "choice")


def test_a_speaker_who_cannot_be_read_says_nothing() -> None:
    def answer(ask):
        return "" if ask.name == "communicate" and ask.key.agent == 2 else "5"

    model = played(answer=answer, n_rounds=2)

    assert sorted(m.sender for m in all_of(model)) == [1, 3]
    assert list(model.model_frame()["invalid"]) == [0, 1]


# Prompts.
def prompts_of(**given):
    """Round, question and player → the system text and the question."""
    asked = {}

    def answer(ask):
        system, question = ask.messages()[:2]
        asked[ask.key.round, ask.name, ask.key.agent] = (system["content"], question["content"])
        return follow(ask)

    played(answer=answer, **given)
    return asked


MAY = "You may talk about anything, and you do not have to follow the ideas of others."
COOPERATE = (
    "You may talk about anything. Use this talk to bring about cooperation among the players."
)
MUST = "You must cooperate with the other players."
DISLIKE = "You do not like to cooperate with the other players."


@pytest.mark.parametrize(
    ("condition", "talk", "act"),
    [("baseline", MAY, None), ("cooperative", COOPERATE, MUST), ("uncooperative", MAY, DISLIKE)],
)
def test_the_lines_of_a_condition_stand_in_their_questions_alone(condition, talk, act) -> None:
    lines = {MAY, COOPERATE, MUST, DISLIKE}
    for (_, name, _), (system, question) in prompts_of(condition=condition).items():
        expected = {talk if name == "communicate" else act} - {None}
        assert {line for line in lines if line in question} == expected
        assert not any(line in system for line in lines)


def test_the_scenario_tells_the_rules_and_who_one_is() -> None:
    asked = prompts_of(reward_rule="exclusive", answer_format="paper")
    system, question = asked[0, "act", 2]

    assert "with 2 other players" in system
    assert "You are Player #2." in system
    assert "from 0 to 100" in system
    assert "two thirds of the average" in system
    assert "when there are several winners, nobody receives anything" in system
    assert question.endswith(
        "On the first line give your reasoning in at most 30 words. "
        "On the second line write an integer from 0 to 100 and nothing else."
    )
    assert asked[1, "communicate", 2][1].endswith(
        "Answer in at most 60 words, with the text alone."
    )
    assert len({asked[k, "act", 2][0] for k in range(4)}) == 1


def test_a_persona_enters_at_one_place() -> None:
    persona = "You are an anxious person: you worry easily"
    plain, with_persona = prompts_of(), prompts_of(personas=["none", "nervous", "none"])

    for place, (system, question) in with_persona.items():
        was_system, was_question = plain[place]
        assert question == was_question
        if place[2] == 2:
            added = [line for line in system.split("\n") if line not in was_system.split("\n")]
            assert len(added) == 1
            assert added[0].startswith(persona)
            assert system.replace(f"\n{added[0]}", "") == was_system
        else:
            assert system == was_system


def test_the_screening_question_is_one_shot() -> None:
    ((_, question),) = set(prompts_of(variant="screening", n_rounds=1).values())

    assert question.startswith("Which number do you choose, and why?")
