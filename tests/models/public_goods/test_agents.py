"""Prompts of the players."""

import re

import pytest

from sabm_mesa.models.pairs.party import PartyMemories
from tests.models.public_goods.support import CHAIN, game, played
from tests.models.support import chat


def test_what_an_infected_player_remembers_is_its_own_game() -> None:
    asked = {}

    def answer(ask):
        asked[ask.key.round, ask.key.agent] = (ask.facts, ask.messages()[-1]["content"])
        return str(CHAIN[ask.key.round, ask.key.agent])

    played(answer, n_players=4, matching="chain", malicious=1)

    assert {place: len(seen.games) for place, (seen, _) in asked.items()} == {
        (0, 1): 0, (1, 1): 1, (1, 2): 0, (2, 2): 1, (2, 3): 0,
    }  # fmt: skip
    assert (
        "Time 1, with one other player: you put in $72. Multiplied, the pot came to $93.60, and "
        "your share was $46.80. You ended with $74.80, which is $25.20 less than at the start."
    ) in asked[1, 1][1]
    (first,) = asked[2, 2][0].games
    assert (first["number"], first["contribution"], first["others_mean"]) == (1, 80, 34)


# Prompts.
def sent(**given):
    """Round and player → the system text and the question."""
    asked = {}

    def answer(ask):
        system, question = ask.messages()[:2]
        asked[ask.key.round, ask.key.agent] = (system["content"], question["content"])
        return "Because.\n40"

    played(answer, **given)
    return asked


def test_one_game_and_a_chain_announce_no_others() -> None:
    one, one_of_a_chain = sent(n_rounds=1), sent(n_players=4, matching="chain")

    assert not any("times" in system for system, _ in [*one.values(), *one_of_a_chain.values()])
    drawn = sent(n_players=4, group_size=2, matching="stranger")
    assert all("the groups are drawn anew" in system for system, _ in drawn.values())


def test_no_text_names_the_game_or_hints_at_what_others_do() -> None:
    for way in ({}, {"n_players": 4, "malicious": 1, "matching": "chain"}):
        text = " ".join(" ".join(pair) for pair in sent(**way).values()).lower()
        assert not re.search(
            r"public good|free.?rid|cooperat|dilemma|selfish|malicious|contribut|infect|nash", text
        )


def test_a_player_hears_of_those_who_took_no_part_also_of_itself() -> None:
    def answer(ask):
        texts[ask.key.round, ask.key.agent] = ask.messages()[1]["content"]
        return "?" if ask.key.agent == 1 else "30"

    texts = {}
    played(answer, n_players=3, n_rounds=2)

    assert (
        "you named no valid amount, so you took no part and kept what you had, $100. Multiplied, "
        "the pot of the others came to $78."
    ) in texts[1, 1]
    assert (
        "you put in $30. Multiplied, the pot came to $78, and your share was $39. You ended with "
        "$109, which is $9 more than at the start. Of the others, 1 took no part; the pot was "
        "split among the rest."
    ) in texts[1, 2]


@pytest.mark.parametrize(("memory", "told"), [(None, [1, 2, 3, 4, 5]), (2, [4, 5]), (0, [])])
def test_memory_is_the_number_of_games_that_are_told(memory, told) -> None:
    seen = []

    def answer(ask):
        seen.append([past["number"] for past in ask.facts.games])
        return "30"

    played(answer, memory=memory)

    assert seen[-1] == told


def test_nobody_sees_the_amounts_of_the_round() -> None:
    asked = sent()

    assert not any("$40" in question for (k, _), (_, question) in asked.items() if k == 0)


TALKS = (
    chat(0, (1, 10), (1, "Hello."), (10, "Good day. L3: I am L3.")),
    chat(1, (1, 6), (6, "Who are you?")),
    chat(2, (9, 10), (9, "Fine weather.")),
)


def after_the_party(answer, members="A", **given):
    """A model whose players were at a party of 11 agents with these talks."""
    party = PartyMemories(
        path="party.sqlite", run=0, n_agents=11, n_rounds=3, chats=TALKS, invitations=()
    )
    model = game(answer, party=party, members=members, **given)
    model.run_model()
    return model


def test_members_of_a_party_remember_it_and_know_one_another() -> None:
    asked = {}

    def answer(ask):
        asked[ask.key.round, ask.key.agent] = [m["content"] for m in ask.messages()]
        return "60"

    after_the_party(answer, n_players=4, matching="chain", malicious=1)

    system, question = asked[0, 1]
    assert system.startswith(
        "You are L1. These are the conversations that you have had, oldest first:\n\n"
        "You talked with L10.\nYou: Hello.\nL10: Good day. L3 - I am L3.\n\n"
        "You talked with L6.\nL6: Who are you?\n\n"
    )
    assert "Your name is L1." in system
    assert "You now play with L12." in question
    assert "Fine weather" not in system
    system, question = asked[1, 2]
    assert "You talked with L1.\nL1: Hello.\nYou: Good day." in system
    assert "You now play with L1." in question
    assert "You now play with L9." in asked[2, 2][1]
    assert "Time 1, with L1: you put in $60." in asked[2, 2][1]


def test_the_other_chain_of_the_paper() -> None:
    model = after_the_party(lambda _: "60", "B", n_players=5, matching="chain", malicious=1)

    assert [player.name for player in model.players] == ["L1", "L6", "L8", "L2", "L12"]
    assert [player.agent_at_party for player in model.players] == [1, 6, 8, 2, None]


def test_one_who_talked_with_nobody_is_told_so() -> None:
    asked = []

    def answer(ask):
        asked.append(ask.messages()[0]["content"])
        return "60"

    after_the_party(answer, [2, 3], n_rounds=1)

    assert asked[0].startswith("You are L2. So far you have talked with nobody.")
