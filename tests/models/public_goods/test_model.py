"""The public goods game: whole runs with numbers computed by hand."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import PublicGoods, ScriptedMind
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.pairs.party import PartyMemories, party_memories
from sabm_mesa.models.public_goods.model import agents_at_party
from sabm_mesa.models.public_goods.study import infections
from sabm_mesa.runs.rerun import fork, replay
from sabm_mesa.runs.run import run_models
from tests.models.public_goods.support import CHAIN, GIVEN, chain, game, played
from tests.models.support import chat
from tests.runs.reruns import same_data

PAYOFF = [(65, 165), (130, 130), (100, 100), (109, 100), (100, 100), (128.125, 90.625)]
MEAN = [50, 100, 0, 30, math.nan, 31.25]
POT = [100, 200, 0, 30, 0, 62.5]
ZEROS = [0.5, 0, 1, 0, math.nan, 0]


def by_round(model, column):
    frame = model.agent_frame()
    return [tuple(frame[frame["round"] == k][column]) for k in range(model.round + 1)]


def test_a_whole_run() -> None:
    model = played()
    frame = model.model_frame()

    assert list(frame["contribution"]) == pytest.approx(MEAN, nan_ok=True)
    assert list(frame["pot"]) == POT
    assert list(frame["efficiency"]) == pytest.approx([c / 100 for c in MEAN], nan_ok=True)
    assert list(frame["zero_share"]) == pytest.approx(ZEROS, nan_ok=True)
    assert list(frame["absent"]) == list(frame["invalid"]) == [0, 0, 0, 1, 2, 0]
    assert list(frame["asks"]) == [2] * 6
    assert by_round(model, "payoff") == [pytest.approx(each) for each in PAYOFF]
    for found, wanted in zip(by_round(model, "contribution"), GIVEN, strict=True):
        assert [None if math.isnan(c) else c for c in found] == list(wanted)
    assert not model.running
    ends = model.end_measures()
    assert ends["contribution"] == pytest.approx((50 + 100 + 0 + 30 + 31.25) / 5)
    assert (ends["first_contribution"], ends["last_contribution"]) == (50, 31.25)


def test_the_pot_is_split_among_those_who_take_part() -> None:
    """Three of four give 20, 40 and 60: the pot of 120 comes to 180, 60 for each of them."""
    amounts = {1: "20", 2: "40", 3: "60", 4: "none"}
    model = played(lambda ask: amounts[ask.key.agent], n_players=4, multiplier=1.5, n_rounds=1)

    assert by_round(model, "payoff") == [(140, 120, 100, 100)]
    assert (model.contribution, model.pot) == (40, 120)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"malicious": 3}, "malicious must be a whole number from 0 to 2"),
        ({"n_players": 6, "group_size": 4}, "6 players cannot be split into groups of 4"),
        ({"group_size": 3}, "group_size must be a whole number from 2 to 2"),
        ({"n_players": 4, "matching": "chain", "group_size": 4}, "In a chain two play at a time"),
        ({"members": "C"}, "'C'"),
        ({"members": 3}, "members must be"),
        ({"members": [2, 2]}, "members must name different agents"),
        ({"party": 3}, "party must be PATH or PATH#RUN of a recording"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(wrong, message) -> None:
    with pytest.raises((ParameterError, UnknownName), match=re.escape(message)) as caught:
        PublicGoods(**wrong)
    assert "\n" not in str(caught.value)


# Groups.
def partners(model_class_arguments):
    """The groups of each round, as sets of ids."""
    model = game(lambda _: "10", **model_class_arguments)
    groups = []
    while model.running:
        model.step()
        groups.append([tuple(p.unique_id for p in group) for group in model.groups])
    return groups


def test_partners_stay_together() -> None:
    groups = partners({"n_players": 12, "group_size": 4})

    assert all(each == groups[0] for each in groups)
    assert sorted(i for group in groups[0] for i in group) == list(range(1, 13))
    assert groups[0] != partners({"n_players": 12, "group_size": 4, "rng": 8})[0]


def test_strangers_are_drawn_anew_every_round() -> None:
    groups = partners({"n_players": 12, "group_size": 4, "matching": "stranger"})

    assert all(sorted(i for g in each for i in g) == list(range(1, 13)) for each in groups)
    assert len({tuple(each) for each in groups}) > 1
    assert all(group == tuple(sorted(group)) for each in groups for group in each)


def test_a_chain_is_one_pair_after_another() -> None:
    assert partners({"n_players": 4, "matching": "chain"}) == [[(4, 1)], [(1, 2)], [(2, 3)]]
    assert partners({"n_players": 4, "matching": "chain", "n_rounds": 2}) == [[(4, 1)], [(1, 2)]]


def test_the_chain_of_three_games() -> None:
    model = chain()
    frame = model.agent_frame()
    given = frame.dropna(subset="contribution").set_index(["round", "agent"])["contribution"]
    paid = frame.dropna(subset="payoff").set_index(["round", "agent"])["payoff"]

    assert model.round == 2
    assert dict(given) == {(0, 4): 0, **CHAIN}
    assert list(model.model_frame()["contribution"]) == [36, 57, 41]
    assert list(model.model_frame()["normal_contribution"]) == [72, 57, 41]
    assert list(model.model_frame()["asks"]) == [2, 2, 2]
    assert paid[0, 4] == pytest.approx(100 + 0.65 * 72)
    assert paid[1, 1] == pytest.approx(100 - 34 + 0.65 * 114)
    assert list(frame[frame["agent"] == 4]["mind"]) == ["fixed:0"] * 3
    ends = model.end_measures()
    assert [ends[f"{name}_1"] for name in ("before", "after", "drop")] == [72, 34, 38]
    assert [ends[f"{name}_2"] for name in ("before", "after", "drop")] == [80, 27, 53]
    assert "before_3" not in ends


def test_a_longer_chain_has_further_orders() -> None:
    model = played(lambda ask: str(50 - 10 * ask.key.round), n_players=6, matching="chain")

    assert list(infections(model.agent_frame())["order"]) == [1, 2, 3, 4]
    assert list(infections(model.agent_frame())["drop"]) == [10, 10, 10, 10]


@given(
    data=st.data(),
    group_size=st.integers(2, 4),
    n_groups=st.integers(1, 3),
    multiplier=st.floats(0.1, 5),
    endowment=st.floats(1, 1000),
    matching=st.sampled_from(["partner", "stranger", "chain"]),
)
def test_money_is_conserved(data, group_size, n_groups, multiplier, endowment, matching) -> None:
    n = group_size * n_groups
    share = st.none() | st.floats(0, 1)
    shares = data.draw(st.lists(share, min_size=3 * n, max_size=3 * n))

    def answer(ask):
        part = shares[n * ask.key.round + ask.key.agent - 1]
        return "none" if part is None else part * endowment

    model = played(
        answer, n_players=n, group_size=None if matching == "chain" else group_size, n_rounds=3,
        matching=matching, multiplier=multiplier, endowment=endowment,
        malicious=data.draw(st.integers(0, n)),
    )  # fmt: skip
    frame = model.agent_frame().merge(model.model_frame(), on="round", suffixes=("", "_mean"))
    for _, rows in frame.groupby("round"):
        playing = rows[rows["payoff"].notna()]
        valid = playing["contribution"].dropna().astype(float)
        pot, mean = rows["pot"].iloc[0], rows["contribution_mean"].iloc[0]
        assert pot == pytest.approx(valid.sum())
        assert mean == pytest.approx(valid.mean(), nan_ok=True)
        assert rows["absent"].iloc[0] == len(playing) - len(valid)
        gained = len(playing) * endowment + (multiplier - 1) * pot
        assert playing["payoff"].sum() == pytest.approx(gained)
        out = playing[playing["contribution"].isna()]
        assert all(out["payoff"] == endowment)
        assert len(playing) == (2 if matching == "chain" else n)


def test_a_fork_may_let_a_malicious_player_in(tmp_path) -> None:
    path = tmp_path / "run.sqlite"
    mind = ScriptedMind(lambda _: "60")
    run_models([game(n_players=3, n_rounds=4, minds=mind, recording=path)])
    branch = fork(
        path, 2, {"malicious": 1, "multiplier": 2}, tmp_path / "fork.sqlite",
        minds={mind.spec: mind},
    )  # fmt: skip
    frame = branch.model_frame()

    assert list(frame["pot"]) == [180, 180, 120, 120]
    assert list(frame["normal_contribution"]) == [60] * 4
    assert list(branch.agent_frame()["mind"])[-1] == "fixed:0"
    payoffs = branch.agent_frame().query("agent == 3")["payoff"]
    assert list(payoffs) == pytest.approx([118, 118, 180, 180])
    same_data(branch, replay(tmp_path / "fork.sqlite", minds={mind.spec: mind}))


# The party.
def party_of(n_agents: int, *talks: tuple[int, int]) -> PartyMemories:
    """A party with one talk of each of these pairs, in rounds of their own."""
    chats = tuple(chat(t, pair, (pair[0], "Hello.")) for t, pair in enumerate(talks))
    return PartyMemories("party.sqlite", 0, n_agents, len(talks), chats, ())


def test_who_players_were_at_the_party() -> None:
    """Lai et al. 2024, section 4.2: 1 → 10 → 9 (A) and 1 → 6 → 8 (B)."""
    ten, four = party_of(10), party_of(4)
    assert agents_at_party("A", ten, 3) == [1, 10, 9]
    assert agents_at_party("B", ten, 2) == [1, 6]
    assert agents_at_party("B", ten, 5) == [1, 6, 8, 2, 3]
    assert agents_at_party([4, 2], four, 4) == [4, 2, 1, 3]


def test_who_follows_whom_at_any_party() -> None:
    """Talks: 1-3 three times, 1-2 and 3-5 twice, 2-4 once, by whom they were opened or not."""
    party = party_of(5, (1, 3), (3, 1), (1, 3), (1, 2), (2, 1), (5, 3), (3, 5), (2, 4))
    assert agents_at_party("familiar", party, 5) == [1, 3, 5, 2, 4]
    assert agents_at_party("strangers", party, 5) == [1, 4, 3, 2, 5]  # of several the first
    assert agents_at_party("familiar", party, 2) == [1, 3]


@pytest.mark.parametrize(
    ("members", "n_agents", "n", "message"),
    [
        ("A", 10, 11, "11 players cannot have been at a party of 10 agents"),
        ("A", 4, 2, "a member of the party must be a whole number from 1 to 4"),
    ],
)
def test_members_that_cannot_be(members, n_agents, n, message) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        agents_at_party(members, party_of(n_agents), n)


def test_a_recorded_party_is_remembered(party) -> None:
    memories = party_memories(party)
    seen = {}

    def answer(ask):
        seen[ask.key.round, ask.key.agent] = ask.facts
        return "60"

    model = played(answer, n_players=4, matching="chain", malicious=1, party=str(party))

    for (round_, player), agent in {(0, 1): 1, (1, 2): 10, (2, 3): 9}.items():
        told = [chat["messages"] for chat in seen[round_, player].chats]
        assert told == [chat.messages for chat in memories.chats_of(agent)]
    assert seen[0, 1].partners == ("L11",)
    assert model.parameters["party"] == f"{party}#0@{memories.digest}"
    with pytest.raises(ParameterError, match="11 players cannot have been"):
        PublicGoods(n_players=11, party=str(party))
