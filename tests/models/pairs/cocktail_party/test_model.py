"""The cocktail party: whole runs with numbers computed by hand."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import (
    CocktailParty,
    ScriptedMind,
    resume,
)
from sabm_mesa.errors import RunError
from sabm_mesa.models.pairs.cocktail_party.model import RandomPartners
from sabm_mesa.models.pairs.model import Sociable
from sabm_mesa.models.pairs.party import party_memories
from tests.models import support
from tests.models.pairs.cocktail_party.support import CHATS, Paid, Script, played
from tests.models.support import assert_same, chat, frames


def test_a_whole_run(scripted) -> None:
    model, _ = scripted
    frame = model.model_frame()

    assert model.chats == CHATS
    assert list(frame["conversations"]) == [2, 1]
    assert list(frame["invitations"]) == [3, 4]
    # Nobody meets anybody twice; only 2 and 4 invited two different ones or one.
    assert list(frame["distinct_conversation_ratio"]) == [1, 1]
    assert list(frame["distinct_invitation_ratio"]) == [1, 1]
    assert list(frame["repeat_rate"]) == [0, 0]
    assert list(frame["asks"]) == [4 + 3 + 5, 4 + 4 + 1 + 4]
    assert list(frame["invalid"]) == [0, 0]


def test_the_rows_of_the_guests(scripted) -> None:
    frame = scripted[0].agent_frame()
    rows = frame[["partners", "invited", "accepted"]].astype(object)

    assert [tuple(None if pd.isna(cell) else cell for cell in row) for row in rows.to_numpy()] == [
        ("2 3", 2, True), ("1", 1, True), ("1", 1, True), ("", None, None),
        ("", 4, True), ("", 4, False), ("4", 4, True), ("3", 2, False),
    ]  # fmt: skip


def test_a_window_has_ten_rounds() -> None:
    """Guest 1 meets 2 in the first round and 3 in all later ones: 2 partners of 10, then 1."""

    def answer(ask):
        if ask.name == "invite":
            first = "L2" if ask.key.round == 0 else "L3"
            return first if ask.key.agent == 1 else "nobody"
        return "accept" if ask.name == "accept" else "Red sky. LEAVE"

    last = played(answer, n_agents=3, n_rounds=12).model_frame()[-3:]

    assert list(last["distinct_invitation_ratio"]) == [0.2, 0.1, 0.1]
    # In the tenth round: 2 partners in 10 talks, 1 in 1 and 1 in 9; then 1 in 10 and 1 in 10.
    first = (2 / 10 + 1 + 1 / 9) / 3
    assert list(last["distinct_conversation_ratio"]) == pytest.approx([first, 0.1, 0.1])
    assert list(last["repeat_rate"]) == [1, 1, 1]


def test_the_longest_chain_of_asks() -> None:
    """Round 0: invite 1, accept 2, and the talks, which share guest 1, 3 + 2 lines.

    Round 1: invite 1, accept 3, and the talks with 4, which wait for one another, 1 + 4.
    """
    assert played(Script()).critical_path_asks == (1 + 2 + 5) + (1 + 3 + 5)


def test_a_talk_ends_when_its_turns_are_used_up() -> None:
    model = played(lambda ask: talkative(ask, "On and on."), n_agents=2, n_rounds=1, max_turns=5)

    assert [each.sender for each in model.chats[0].messages] == [1, 2, 1, 2, 1]


def talkative(ask, line):
    if ask.name == "invite":
        return ask.spec.options[0]
    return "accept" if ask.name == "accept" else line


def test_an_unreadable_reply_declines_and_an_unreadable_line_leaves() -> None:
    def answer(ask):
        if ask.name == "invite":
            return {1: "L2", 2: "L3"}.get(ask.key.agent, "nobody")
        if ask.name == "accept":
            return "perhaps" if ask.key.agent == 2 else "accept"
        return "Hello." if ask.key.agent == 2 else ""

    model = played(answer, n_rounds=1)

    assert model.participant(1).accepted is False
    assert model.chats == [chat(0, (2, 3), (2, "Hello."))]
    assert model.total.invalid == 2


def test_nobody_ever_talks() -> None:
    model = played(lambda _: "nobody", n_rounds=12)
    frame = model.model_frame()

    assert (
        frame[["distinct_conversation_ratio", "repeat_rate", "semantic_distance"]]
        .isna()
        .all(axis=None)
    )
    measures = model.end_measures()
    assert measures["conversations"] == measures["tight_pairs"] == 0


class Late(support.Late):
    """Counts how many lines of talks wait at the same time.

    Attributes:
        most: how many there were.
    """

    now = most = 0

    async def answer(self, ask):
        talks = ask.name == "say"
        Late.now += talks
        Late.most = max(Late.most, Late.now)
        answer = await super().answer(ask)
        Late.now -= talks
        return answer


@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([Sociable, RandomPartners]))
def test_talks_at_the_same_time_give_the_result_of_the_strict_order(seed, n, mind) -> None:
    def run(late):
        minds = [mind("classical") for _ in range(n)]
        if late:
            minds = [Late(each, seed + i) for i, each in enumerate(minds)]
        model = CocktailParty(n_agents=n, n_rounds=4, rng=seed, minds=minds)
        model.run_model()
        return model

    strict, together = run(False), run(True)

    assert_same(frames(together), frames(strict))
    assert together.chats == strict.chats
    assert together.invitations == strict.invitations
    assert [g.chats for g in together.guests] == [g.chats for g in strict.guests]


def test_talks_that_share_no_guest_go_on_at_the_same_time() -> None:
    Late.now = Late.most = 0
    wishes = {1: "L2", 3: "L4", 5: "L6", 6: "L1"}

    def answer(ask):
        if ask.name == "invite":
            return wishes.get(ask.key.agent, "nobody")
        return "accept" if ask.name == "accept" else "Well."

    def minds():
        return [ScriptedMind(answer) for _ in range(6)]

    late = CocktailParty(
        n_agents=6, n_rounds=1, max_turns=4, rng=1,
        minds=[Late(mind, i) for i, mind in enumerate(minds())],
    )  # fmt: skip
    late.run_model()
    strict = CocktailParty(n_agents=6, n_rounds=1, max_turns=4, rng=1, minds=minds())
    strict.run_model()

    assert Late.most == 3
    assert [chat.agents for chat in late.chats] == [(1, 2), (3, 4), (5, 6), (6, 1)]
    # The talk of 6 and 1 waits for those of 1 and 2 and of 5 and 6; that of 3 and 4 is beside.
    assert late.critical_path_asks == 1 + 1 + (4 + 4)
    assert strict.critical_path_asks == 1 + 1 + 4 * 4
    assert_same(frames(late), frames(strict))


def test_a_run_that_was_cut_off_in_a_talk_goes_on_as_if_it_had_not_been(tmp_path) -> None:
    path = tmp_path / "party.sqlite"
    whole = played(n_agents=6, n_rounds=3, minds=Paid(), recording=False)
    with pytest.raises(RunError, match="no connection"):
        played(n_agents=6, n_rounds=3, minds=Paid(fails_from=45), recording=path)
    rest = Paid()
    (resumed,) = resume(path, minds={"paid": rest}).models

    assert_same(frames(resumed), frames(whole))
    assert rest.asked == whole.total.asks + whole.total.reasks - 45
    assert party_memories(path).chats == tuple(whole.chats)


def test_the_end_measures() -> None:
    model = CocktailParty(rng=3)
    model.run_model()
    measures = model.end_measures()

    assert (
        measures["conversations"] == len(model.chats) == sum(model.model_frame()["conversations"])
    )
    pairs = {frozenset(chat.agents) for chat in model.chats}
    assert measures["tight_pairs"] + measures["loose_pairs"] == len(pairs)
    assert {name for name in measures if name.startswith("slope_")} == {
        "slope_conversation_ratio", "slope_invitation_ratio", "slope_tight_distance",
        "slope_loose_distance",
    }  # fmt: skip
