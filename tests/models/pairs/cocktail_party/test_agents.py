"""The knowledge of the guests of the cocktail party, and their prompts."""

import re

from tests.models.pairs.cocktail_party.support import CHATS, played


def test_a_guest_knows_its_own_invitations_and_talks_and_no_others(scripted) -> None:
    model, asked = scripted
    views = {(ask.key.round, ask.name, ask.key.agent): ask.facts for ask in asked}

    assert views[1, "invite", 2].rounds == (
        {
            "number": 1,
            "now": False,
            "invitations": (
                {"sent": False, "other": "L1", "accepted": True},
                {"sent": True, "other": "L1", "accepted": True},
            ),
            "chats": ({"other": "L1", "messages": CHATS[0].messages},),
        },
    )
    assert views[1, "invite", 4].rounds == ()
    assert chats_of(views[1, "invite", 1]) == [CHATS[0].messages, CHATS[1].messages]
    for ask in asked:
        for messages in chats_of(ask.facts):
            assert ask.key.agent in {agent for m in messages for agent in (m.sender, *m.to)}
    assert len(model.invitations) == 7


def chats_of(facts):
    """The messages of each talk that a guest remembers."""
    return [chat["messages"] for round_ in facts.rounds for chat in round_["chats"]]


def test_the_second_talk_of_a_round_remembers_the_first(scripted) -> None:
    _, asked = scripted
    (reply,) = [
        ask for ask in asked
        if ask.name == "say" and ask.key.round == 0 and ask.facts.partner == "L3"
    ]  # fmt: skip

    assert chats_of(reply.facts) == [CHATS[0].messages]
    assert reply.facts.messages == CHATS[1].messages[:1]


def test_a_guest_that_is_asked_to_accept_knows_whom_it_invited_but_not_the_answer(scripted) -> None:
    _, asked = scripted
    shown = {
        ask.key.agent: (ask.facts, ask.messages()[1]["content"])
        for ask in asked
        if ask.name == "accept" and ask.key.round == 0
    }
    view, text = shown[2]

    assert (view.invited, view.inviters, view.rounds) == ("L1", ("L1",), ())
    assert "invited to chat by L1.\n\nYou have invited L1.\n\nDo you accept" in text


def test_the_prompts_do_not_hint(scripted) -> None:
    _, asked = scripted
    sent = " ".join(m["content"] for ask in asked for m in ask.messages()).lower()

    assert not re.search(r"party|cocktail|collective|friend|divers|cooperat|tight|loose", sent)


def test_the_window_drops_the_oldest_talks_with_what_led_to_them() -> None:
    views = []

    def answer(ask):
        if ask.name == "invite":
            views.append(ask.facts)
            return "L2" if ask.key.agent == 1 else "nobody"
        if ask.name == "accept":
            return "accept"
        return "one two three four LEAVE"

    played(answer, n_agents=2, n_rounds=4, window=9)
    last = views[-2]

    assert [round_["number"] for round_ in last.rounds] == [2, 3]
    assert all(len(round_["invitations"]) == 1 for round_ in last.rounds)
    assert len(chats_of(last)) == 2
