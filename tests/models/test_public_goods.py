"""The public goods game: whole runs with numbers computed by hand, and the published targets."""

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import PublicGoods, ScriptedMind
from sabm_mesa.agents.pair_chat import Chat
from sabm_mesa.analysis import human_contributions as people
from sabm_mesa.analysis.public_goods import infections, mean_drop, resilience_ratio
from sabm_mesa.cost import estimate
from sabm_mesa.errors import MindSpecError, ParameterError, UnknownName
from sabm_mesa.minds.classical.public_goods import FischbacherGaechter
from sabm_mesa.models.cocktail_party import CocktailParty
from sabm_mesa.models.party_memory import PartyMemories, party_memories
from sabm_mesa.models.public_goods_setup import agents_at_party, attend
from sabm_mesa.reruns import fork, replay
from sabm_mesa.runner import run_models
from tests.core.reruns import Drawing, replayed, same_data
from tests.core.support import Waiting

from .support import assert_same, batch, frames

# Contributions of two players; what is None cannot be read.
GIVEN = [(100, 0), (100, 100), (0, 0), (30, None), (None, None), (12.5, 50)]
PAYOFF = [(65, 165), (130, 130), (100, 100), (109, 100), (100, 100), (128.125, 90.625)]
MEAN = [50, 100, 0, 30, math.nan, 31.25]
POT = [100, 200, 0, 30, 0, 62.5]
ZEROS = [0.5, 0, 1, 0, math.nan, 0]


def follow(ask):
    """The script: the contributions above."""
    amount = GIVEN[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if amount is None else f"Because.\n{amount}"


def game(answer=follow, **given):
    return PublicGoods(**{"n_rounds": 6, "minds": ScriptedMind(answer), "rng": 7, **given})


def played(answer=follow, **given):
    model = game(answer, **given)
    model.run_model()
    return model


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


def test_the_data_have_the_columns_of_the_design() -> None:
    model = played(n_rounds=1)

    assert list(model.model_frame().columns)[:4] == ["run", "round", "contribution", "pot"]
    assert list(model.agent_frame().columns)[:6] == [
        "run", "round", "agent", "mind", "contribution", "payoff",
    ]  # fmt: skip


# What cannot be used.


@pytest.mark.parametrize("bad", ["150", "-5", "100.01", "about 20", "nan", "", "20 or 30", "1e9"])
def test_a_contribution_out_of_range_is_asked_again_and_then_the_player_is_out(bad) -> None:
    reasons = []

    def answer(ask):
        if ask.key.agent == 2:
            return "Because.\n40"
        reasons.extend(reason for _, reason in ask.rejected[-1:])
        return f"Because.\n{bad}"

    model = played(answer, n_players=3, n_rounds=2, multiplier=1.5)

    assert len(reasons) == 2 * 2 * 2
    assert list(model.model_frame()["invalid"]) == [2, 2]
    assert list(model.model_frame()["absent"]) == [2, 2]
    assert list(model.model_frame()["contribution"]) == [40, 40]
    assert list(model.model_frame()["pot"]) == [40, 40]
    assert by_round(model, "payoff") == [(100, 120, 100)] * 2


def test_the_reason_names_the_range() -> None:
    said = []

    def answer(ask):
        said.extend(ask.rejected[-1:])
        return "Because.\n150"

    played(answer, n_rounds=1)

    assert said[0][1] == '"150" is outside the range from 0 to 100.'


def test_an_answer_that_can_be_used_the_second_time_counts() -> None:
    model = played(lambda ask: f"Because.\n{100 if ask.rejected else 101}", n_rounds=1)

    assert (model.contribution, model.pot, model.absent) == (100, 200, 0)
    assert (model.total.invalid, model.total.reasks) == (0, 2)


def test_the_pot_is_split_among_those_who_take_part() -> None:
    """Three of four give 20, 40 and 60: the pot of 120 comes to 180, 60 for each of them."""
    amounts = {1: "20", 2: "40", 3: "60", 4: "none"}
    model = played(lambda ask: amounts[ask.key.agent], n_players=4, multiplier=1.5, n_rounds=1)

    assert by_round(model, "payoff") == [(140, 120, 100, 100)]
    assert (model.contribution, model.pot) == (40, 120)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_players": 1}, "n_players has to be a whole number of 2 or more"),
        ({"endowment": 0}, "endowment has to be a number from 0.01"),
        ({"multiplier": math.nan}, "multiplier has to be a number from 0.01"),
        ({"malicious": 3}, "malicious has to be a whole number from 0 to 2"),
        ({"matching": "random"}, "random"),
        ({"n_players": 6, "group_size": 4}, "6 players cannot be split into groups of 4"),
        ({"group_size": 1}, "group_size has to be a whole number from 2 to 2"),
        ({"n_players": 4, "matching": "chain", "group_size": 4}, "In a chain two play at a time"),
        ({"memory": -1}, "memory has to be a whole number of 0 or more"),
        ({"members": "C"}, "'C'"),
        ({"members": 3}, "members has to be"),
        ({"members": [2, 2]}, "members has to name different agents"),
        ({"party": 3}, "party has to be PATH or PATH#RUN of a recording"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(wrong, message) -> None:
    with pytest.raises((ParameterError, UnknownName), match=re.escape(message)) as caught:
        PublicGoods(**wrong)
    assert "\n" not in str(caught.value)


def test_minds_have_to_add_up_to_all_players() -> None:
    with pytest.raises(MindSpecError, match="3 are given for 4 agents"):
        PublicGoods(n_players=4, malicious=1, minds={"classical": 3})


# Who plays with whom.


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


def test_payoffs_are_those_of_the_own_group() -> None:
    model = played(
        lambda ask: str(10 * ask.key.agent), n_players=4, group_size=2, n_rounds=1, multiplier=1.5
    )
    for group in model.groups:
        total = sum(10 * p.unique_id for p in group)
        for player in group:
            assert player.payoff == pytest.approx(100 - 10 * player.unique_id + 0.75 * total)
    assert (model.contribution, model.pot) == (25, 100)


# The chain of infection.

# Before and after of X (72, 34), of Y (80, 27); Z gives 55.
CHAIN = {(0, 1): 72, (1, 1): 34, (1, 2): 80, (2, 2): 27, (2, 3): 55}


def chain(**given):
    def answer(ask):
        return str(CHAIN[ask.key.round, ask.key.agent])

    return played(answer, **{"n_players": 4, "matching": "chain", "malicious": 1, **given})


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


def test_what_an_infected_player_remembers_is_its_own_game() -> None:
    asked = {}

    def answer(ask):
        asked[ask.key.round, ask.key.agent] = (ask.observation, ask.messages()[-1]["content"])
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
    assert (first.number, first.contribution, first.others_mean) == (1, 80, 34)


def test_a_chain_without_a_malicious_player_is_the_control() -> None:
    model = chain(malicious=0, minds=ScriptedMind(lambda _: "60"))

    assert model.end_measures()["drop_1"] == model.end_measures()["drop_2"] == 0
    assert list(model.model_frame()["contribution"]) == [60, 60, 60]


def test_a_longer_chain_has_further_orders() -> None:
    model = played(lambda ask: str(50 - 10 * ask.key.round), n_players=6, matching="chain")

    assert list(infections(model.agent_frame())["order"]) == [1, 2, 3, 4]
    assert list(infections(model.agent_frame())["drop"]) == [10, 10, 10, 10]


def test_the_published_resilience_ratios() -> None:
    """Lai et al. 2024, section 4.2: drops of 20.25 (A) and 13.25 (B) against 38.5."""
    assert resilience_ratio(20.25, 38.5) == pytest.approx(0.53, abs=0.005)
    assert resilience_ratio(13.25, 38.5) == pytest.approx(0.34, abs=0.005)


def test_resilience_from_data_of_two_conditions() -> None:
    def answers(first, then):
        return lambda ask: str(first if ask.key.round == 0 else then)

    isolated = chain(minds=ScriptedMind(answers(72.5, 34))).agent_frame()
    collective = chain(minds=ScriptedMind(answers(100, 79.75))).agent_frame()

    assert mean_drop(isolated) == 38.5
    ratio = resilience_ratio(mean_drop(collective), mean_drop(isolated))
    assert ratio == pytest.approx(20.25 / 38.5)


# What is said to the players.


def sent(**given):
    """Round and player → the system text and the question."""
    asked = {}

    def answer(ask):
        system, question = ask.messages()[:2]
        asked[ask.key.round, ask.key.agent] = (system["content"], question["content"])
        return "Because.\n40"

    played(answer, **given)
    return asked


def test_the_rules_stand_in_the_text_that_never_changes() -> None:
    asked = sent(n_players=4, multiplier=1.6, endowment=20)
    systems = {system for system, _ in asked.values()}

    assert len(systems) == 1
    (system,) = systems
    for words in ("4 players", "starts with $20", "from $0 to $20", "multiplied by 1.6"):
        assert words in system
    assert "This is done 6 times, always with the same other players." in system
    assert asked[0, 1][1].startswith("You now play with 3 other players.")
    assert asked[0, 1][1].endswith(
        "On the first line give your reasoning in one sentence. "
        "On the second line write a number from 0 to 20 and nothing else."
    )


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
        seen.append([past.number for past in ask.observation.games])
        return "30"

    played(answer, memory=memory)

    assert seen[-1] == told


def test_nobody_sees_the_amounts_of_the_round() -> None:
    asked = sent()

    assert not any("$40" in question for (k, _), (_, question) in asked.items() if k == 0)


def test_a_persona_enters_the_rules() -> None:
    asked = sent(n_rounds=1, personas=["none", "self_serving"])

    assert "You look after yourself alone" in asked[0, 2][0]
    assert "You look after yourself alone" not in asked[0, 1][0]


# Random worlds.


@settings(max_examples=60)
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


# The classical minds.


@pytest.mark.parametrize("matching", ["partner", "stranger"])
@pytest.mark.parametrize(
    "mind", ["", ":schedule_only", ":naive_belief", ":identical_schedule", ":perfect_cooperation"]
)
def test_every_classical_mind_plays(matching, mind) -> None:
    model = PublicGoods(
        n_players=8, group_size=4, matching=matching, minds=f"classical{mind}", rng=1
    )
    model.run_model()

    assert model.agent_frame()["contribution"].between(0, 100).all()
    assert (model.agent_frame()["contribution"] % 5 == 0).all()
    assert model.total.invalid == 0


def test_the_published_table_is_whole() -> None:
    """Fischbacher & Gächter 2010: 140 subjects, schedules for 0 to 20 (human_baselines E2, E3)."""
    assert people.type_names() == (
        "conditional_cooperator", "free_rider", "triangle_cooperator", "other",
    )  # fmt: skip
    assert people.type_shares() == pytest.approx([0.55, 0.229, 0.121, 0.1], abs=0.001)
    assert people.schedules().shape == (4, 21)
    conditional, free, triangle, _ = people.schedules()
    slope, intercept = np.polyfit(range(21), conditional, 1)
    assert (intercept, slope) == pytest.approx((-0.20, 0.74), abs=0.005)
    assert not free.any()
    assert triangle.argmax() == 9


def test_the_line_of_all_schedules_is_the_authors() -> None:
    """The schedule of the remaining type is derived from it: 0.956 + 0.425 x."""
    mean = people.type_shares() @ people.schedules()
    slope, intercept = np.polyfit(range(21), mean, 1)

    assert (intercept, slope) == pytest.approx((0.956, 0.425), abs=0.001)


def test_first_contributions_have_the_mean_of_the_type() -> None:
    means = people.first_distributions() @ np.arange(21)

    assert means == pytest.approx([8.61, 4.88, 9.06, 9.43], abs=1e-6)
    assert people.first_distributions().sum(axis=1) == pytest.approx(np.ones(4))


def test_belief_and_contribution_follow_the_regressions() -> None:
    """0.118 + 0.415 · 12 + 0.569 · 10 = 10.788; −0.473 + 0.666 · 11 + 0.242 · 7.95 = 8.78."""
    assert people.first_belief() == 10
    assert people.next_belief(10, 11.6) == 11
    assert people.estimated(0, 11) == 9
    assert people.estimated(1, 11) == 7
    assert people.scheduled(0, 11) == 7.95
    assert people.estimated(1, 0) == 0
    assert list(people.next_belief(np.array([0.0, 20.0]), np.array([0.0, 20.0]))) == [0, 20]


@pytest.mark.parametrize(
    ("mind", "amounts"),
    [
        # Beliefs 10, 0.118 + 0.569 · 10 → 6, then 0.118 + 0.569 · 6 → 4.
        # −0.473 + 0.666 · 6 + 0.242 · (0.956 + 0.425 · 6) = 4.37; of 4: 2.83.
        ("identical_schedule", [4, 3]),
        ("perfect_cooperation", [6, 4]),
    ],
)
def test_variants_that_are_the_same_for_all_types(mind, amounts) -> None:
    """Two who give nothing for a third to see; a unit is a dollar."""
    minds = [f"classical:{mind}", "fixed:0", "fixed:0"]
    for seed in range(4):
        model = PublicGoods(n_players=3, n_rounds=3, endowment=20, minds=minds, rng=seed)
        model.run_model()
        assert list(model.agent_frame().query("agent == 1")["contribution"])[1:] == amounts


def test_one_who_took_no_part_learns_from_the_pot() -> None:
    """The pot of 60, multiplied, says that the other gave 60 of 100: 12 units."""
    mind = FischbacherGaechter("classical")
    model = PublicGoods(n_rounds=2, minds=[mind, "fixed:60"], rng=1)
    model.step()
    model.players[0].games[0] = replace(model.players[0].games[0], contribution=None)
    model.step()

    # 0.118 + 0.415 · 12 + 0.569 · 10 = 10.788
    assert mind.belief == 11


def test_a_mind_learns_from_each_of_its_games_once() -> None:
    """With an endowment of 100 a unit is 5: the other gives 0, then 12 units."""
    mind = FischbacherGaechter("classical")
    other = ScriptedMind(lambda ask: str((0, 60, 0)[ask.key.round]))
    model = PublicGoods(n_rounds=3, minds=[mind, other], rng=1)
    beliefs, given = [], []
    for _ in range(3):
        model.step()
        beliefs.append(mind.belief)
        given.append(model.players[0].contribution)

    # 0.118 + 0.569 · 10 = 5.808; 0.118 + 0.415 · 12 + 0.569 · 6 = 8.512.
    assert beliefs == [10, 6, 9]
    assert given[1:] == [5 * people.estimated(mind.kind, b) for b in (6, 9)]


def test_a_game_without_others_teaches_nothing() -> None:
    mind = FischbacherGaechter("classical")
    model = PublicGoods(n_rounds=2, minds=[mind, ScriptedMind(lambda _: "?")], rng=1)
    model.run_model()

    assert mind.belief == 10


FULL = (7.96, 3.60)
SCHEDULE_ONLY = (5.33, 1.82)
"""Mean contributions in periods 1 and 10 of 400 simulated sessions of 24 (human_baselines E5)."""


def sessions(first, give, n_sessions=2000, n=24, size=4, periods=10):
    """Mean contribution by period, by the functions that the mind uses, for arrays."""
    rng = np.random.default_rng(2)
    kinds = rng.choice(4, (n_sessions, n), p=people.type_shares())
    belief = np.full(kinds.shape, people.first_belief())
    means = []
    for period in range(periods):
        amounts = first(kinds, rng) if period == 0 else give(kinds, belief)
        means.append(float(amounts.mean()))
        order = rng.permuted(np.tile(np.arange(n), (n_sessions, 1)), axis=1)
        in_groups = np.take_along_axis(amounts, order, axis=1).reshape(n_sessions, -1, size)
        others = (in_groups.sum(axis=2, keepdims=True) - in_groups) / (size - 1)
        seen = np.empty_like(amounts)
        np.put_along_axis(seen, order, others.reshape(n_sessions, n), axis=1)
        belief = people.next_belief(belief, seen)
    return means


def test_many_sessions_reach_the_published_targets() -> None:
    """E5 with type-mean schedules, 7.96 … 3.60, within 0.2."""

    def first(kinds, rng):
        each = np.cumsum(people.first_distributions(), axis=1)[kinds]
        return (rng.random((*kinds.shape, 1)) > each).sum(axis=2).astype(float)

    means = sessions(first, people.estimated)

    assert (means[0], means[-1]) == pytest.approx(FULL, abs=0.2)
    assert all(np.diff(means) < 0)


def test_many_sessions_by_the_schedules_alone() -> None:
    """E5 schedule-only, start belief 9.8, 5.33 … 1.82, within 0.1."""

    def give(kinds, belief):
        return people.whole_amount(people.scheduled(kinds, belief))

    def first(kinds, _rng):
        return give(kinds, np.full(kinds.shape, people.first_belief()))

    means = sessions(first, give)

    assert (means[0], means[-1]) == pytest.approx(SCHEDULE_ONLY, abs=0.1)
    assert all(np.diff(means) < 0)


LABORATORY = {
    "n_players": 24, "group_size": 4, "matching": "stranger", "endowment": 20, "multiplier": 1.6,
}  # fmt: skip


@cache
def simulated(mind, n_sessions=60):
    """Mean contribution by period over sessions that are played."""
    runs = [
        played(**LABORATORY, n_rounds=10, minds=mind, rng=seed).model_frame()["contribution"]
        for seed in range(n_sessions)
    ]
    return np.mean(runs, axis=0)


@pytest.mark.parametrize(
    ("mind", "target", "within"),
    [("classical", FULL, 0.35), ("classical:schedule_only", SCHEDULE_ONLY, 0.25)],
)
def test_whole_sessions_of_the_model_do_too(mind, target, within) -> None:
    """The same targets from 60 sessions that are played; the tolerance is that of fewer ones."""
    means = simulated(mind)

    assert (means[0], means[-1]) == pytest.approx(target, abs=within)
    assert all(np.diff(means) < 0)


def test_the_decline_is_that_of_the_subjects() -> None:
    """Human means fall from 7.89 to 2.24 (E4); without noise the model stays somewhat higher."""
    human = people.published()["contributions"]
    means = simulated("classical")

    assert np.abs(means - human).max() < 2
    assert np.corrcoef(means, human)[0, 1] > 0.95


def test_infection_of_classical_players() -> None:
    """One that met a player who gave nothing believes in 6 of 20: a type gives 4, 5 or 6 then."""
    met = []
    for seed in range(160):
        model = PublicGoods(n_players=4, n_rounds=2, matching="chain", malicious=1, rng=seed)
        model.run_model()
        ends = model.end_measures()
        met.append((ends["before_1"], ends["after_1"]))
    before, after = np.mean(met, axis=0)

    assert {a for _, a in met} == {20, 25, 30}
    # 5 · (0.55 · 8.61 + 0.229 · 4.88 + 0.121 · 9.06 + 0.1 · 9.43) = 39.5 is the mean before.
    assert before == pytest.approx(39.5, abs=8)
    assert after == pytest.approx(24, abs=1.5)


# Repeatability.


@pytest.mark.parametrize("matching", ["partner", "stranger", "chain"])
def test_the_same_seed_gives_the_same_data(matching) -> None:
    def run(seed):
        return frames(played(n_players=8, matching=matching, minds="classical", rng=seed))

    assert_same(run(11), run(11))
    assert not run(11)[1]["contribution"].equals(run(12)[1]["contribution"])


@pytest.mark.parametrize("jitter", [1, 2, 3])
@pytest.mark.parametrize("matching", ["partner", "stranger", "chain"])
def test_latencies_do_not_change_the_data(matching, jitter) -> None:
    def answer(ask):
        return "?" if (ask.key.round, ask.key.agent) == (1, 2) else str(7 * ask.key.agent)

    same = {"n_players": 6, "matching": matching, "malicious": 1}
    if matching != "chain":
        same["group_size"] = 3
    at_once = played(answer, **same, minds=Waiting(answer, longest=0))
    late = played(answer, **same, minds=Waiting(answer, seed=jitter))

    assert_same(frames(late), frames(at_once))
    assert late.critical_path_asks == at_once.critical_path_asks


WAYS = [
    {"n_players": 4, "group_size": 2, "matching": "stranger"},
    {"n_players": 4, "matching": "chain", "malicious": 1},
    {"n_players": 3, "malicious": 1, "memory": 1, "answer_format": "json"},
]


@pytest.mark.parametrize("way", WAYS)
def test_a_recorded_run_is_replayed(tmp_path, way) -> None:
    path = tmp_path / "run.sqlite"
    done = run_models(
        [PublicGoods(**way, n_rounds=4, max_attempts=1, minds=Drawing(), rng=1, recording=path)]
    )

    assert done.model_frame()["invalid"].sum() > 0
    replayed(path, done)


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


def test_a_batch_has_the_rows_of_single_runs() -> None:
    parameters = {"n_players": 4, "malicious": [0, 1], "n_rounds": 3}
    rows = batch(PublicGoods, parameters, [1, 2], data_collection_period=1)

    assert len(rows) == 2 * 2 * 3 * 4
    for (malicious, seed), group in rows.groupby(["malicious", "rng"]):
        model = PublicGoods(n_players=4, n_rounds=3, malicious=malicious, rng=seed)
        model.run_model()
        found = group.sort_values(["Step", "AgentID"])
        assert list(found["payoff"]) == list(model.agent_frame()["payoff"])
        assert list(found["pot"]) == list(np.repeat(model.model_frame()["pot"], 4))


def test_an_estimate_counts_those_who_are_paid_for() -> None:
    pairs = estimate(PublicGoods, {"n_players": 4, "n_rounds": 3, "minds": "llm:m"})
    one_by_one = estimate(
        PublicGoods, {"n_players": 4, "malicious": 1, "matching": "chain", "minds": "llm:m"}
    )

    assert (pairs.total.asks.low, pairs.total.asks.high) == (12, 12)
    assert one_by_one.total.asks.low == 5
    assert pairs.total.prompt_tokens.low > 12 * 100


# The party.


def party_of(n_agents: int, *talks: tuple[int, int]) -> PartyMemories:
    """A party with one talk of each of these pairs, in rounds of their own."""
    chats = tuple(Chat(t, pair, ((pair[0], "Hello."),)) for t, pair in enumerate(talks))
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
        ("A", 4, 2, "a member of the party has to be a whole number from 1 to 4"),
        ([2, 2], 4, 2, "members has to name different agents"),
        (["x"], 4, 1, "a member of the party has to be a whole number"),
    ],
)
def test_members_that_cannot_be(members, n_agents, n, message) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        agents_at_party(members, party_of(n_agents), n)


def test_a_party_that_is_not_there(tmp_path) -> None:
    with pytest.raises(ParameterError, match="There is no recording"):
        PublicGoods(party=str(tmp_path / "none.sqlite"))


TALKS = (
    Chat(0, (1, 10), ((1, "Hello."), (10, "Good day. L3: I am L3."))),
    Chat(1, (1, 6), ((6, "Who are you?"),)),
    Chat(2, (9, 10), ((9, "Fine weather."),)),
)


def after_the_party(answer, members="A", **given):
    """A model whose players were at a party of 11 agents with these talks."""
    model = game(answer, **given)
    party = PartyMemories(
        path="party.sqlite", run=0, n_agents=11, n_rounds=3, chats=TALKS, invitations=()
    )
    attend(model.players, party, members, model.book)
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


@pytest.fixture(scope="module")
def party(tmp_path_factory):
    """A recorded cocktail party of ten agents and three rounds."""
    path = tmp_path_factory.mktemp("party") / "party.sqlite"
    run_models([CocktailParty(n_rounds=3, rng=1, recording=path)])
    return path


def test_a_recorded_party_is_remembered(party) -> None:
    memories = party_memories(party)
    seen = {}

    def answer(ask):
        seen[ask.key.round, ask.key.agent] = ask.observation
        return "60"

    model = played(answer, n_players=4, matching="chain", malicious=1, party=str(party))

    assert seen[0, 1].chats == memories.chats_of(1)
    assert seen[1, 2].chats == memories.chats_of(10)
    assert seen[2, 3].chats == memories.chats_of(9)
    assert seen[0, 1].partners == ("L11",)
    assert model.parameters["party"] == f"{party}#0@{memories.digest}"
    with pytest.raises(ParameterError, match="11 players cannot have been"):
        PublicGoods(n_players=11, party=str(party))


def test_a_run_with_a_party_is_replayed_with_the_same_party_alone(party, tmp_path) -> None:
    own, path = tmp_path / "party.sqlite", tmp_path / "run.sqlite"
    own.write_bytes(party.read_bytes())
    model = PublicGoods(n_rounds=3, minds=Drawing(), rng=1, recording=path, party=str(own))
    replayed(path, run_models([model]))
    own.unlink()
    with pytest.raises(ParameterError, match="There is no recording"):
        replay(path)
    run_models([CocktailParty(n_rounds=3, rng=2, recording=own)])
    with pytest.raises(ParameterError, match="not the one that this run began with"):
        replay(path)


def test_an_estimate_counts_what_is_remembered(party) -> None:
    given_ = {"n_rounds": 2, "minds": "llm:m"}
    alone = estimate(PublicGoods, given_).total.prompt_tokens
    together = estimate(PublicGoods, {**given_, "party": str(party)}).total.prompt_tokens

    assert together.low > alone.low
