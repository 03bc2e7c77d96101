"""The commons: whole runs with numbers computed by hand."""

from random import Random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import Fishery
from sabm_mesa.errors import ParameterError
from tests.models.commons.support import (
    NAMES,
    WORDINGS,
    named_in_turn,
    played,
    remembered,
    says,
)


def stocks(model):
    return list(model.model_frame()["stock"])


def by_month(model, column):
    frame = model.agent_frame()
    return [list(rows[column]) for _, rows in frame.groupby("round")]


@pytest.mark.parametrize("cls", WORDINGS)
def test_all_take_the_sustainable_amount(cls) -> None:
    model = played(says(10), cls=cls)

    assert stocks(model) == [100] * 12
    assert list(model.model_frame()["left"]) == [50] * 12
    assert list(model.model_frame()["harvest"]) == [50] * 12
    assert list(model.model_frame()["threshold"]) == [10] * 12
    assert list(model.model_frame()["over_usage"]) == [0] * 12
    assert by_month(model, "gain")[-1] == [120] * 5
    assert model.end_measures() == {
        "survival_time": 12, "survived": True, "gain": 120, "efficiency": 1, "equality": 1,
        "over_usage": 0, "collapsed": False,
    }  # fmt: skip


def test_all_is_taken_in_the_first_month() -> None:
    model = played(says(20))

    assert stocks(model) == [100]
    assert not model.running
    assert model.end_measures() == {
        "survival_time": 1, "survived": False, "gain": 20, "efficiency": pytest.approx(1 / 6),
        "equality": 1, "over_usage": 1, "collapsed": True,
    }  # fmt: skip


def test_all_ask_for_all_there_is() -> None:
    model = played(says(100))
    ((wanted, got),) = zip(by_month(model, "wanted"), by_month(model, "harvest"), strict=True)

    assert wanted == [100] * 5
    assert sum(got) == 100
    assert len(set(got)) > 1
    assert got == by_month(played(says(100)), "harvest")[0]
    assert got != by_month(played(says(100), rng=8), "harvest")[0]
    assert model.collapsed


def test_all_take_eleven() -> None:
    model = played(says(11))

    assert stocks(model) == [100, 90, 70, 30]
    assert list(model.model_frame()["harvest"]) == [55, 55, 55, 30]
    assert list(model.model_frame()["left"]) == [45, 35, 15, 0]
    assert list(model.model_frame()["threshold"]) == [10, 9, 7, 3]
    found = model.end_measures()
    assert (found["survival_time"], found["collapsed"]) == (4, True)
    assert found["gain"] == (55 * 3 + 30) / 5
    assert found["efficiency"] == pytest.approx((55 * 3 + 30) / 600)


@pytest.mark.parametrize(("left", "collapsed"), [(4, True), (5, False)])
def test_the_commons_collapses_below_five(left, collapsed) -> None:
    model = played(says(lambda ask: 100 - left if ask.key.agent == 1 else 0), n_rounds=2)

    assert stocks(model) == ([100] if collapsed else [100, 10])
    assert model.model_frame()["left"].iloc[0] == left


def test_the_month_of_a_collapse_is_played_to_its_end() -> None:
    asked = []

    def answer(ask):
        asked.append(ask.name)
        return says(20)(ask)

    played(answer)
    assert asked.count("communicate") == 1
    assert asked.count("reflect") == asked.count("plan") == 5


def test_a_collapse_in_the_last_month_counts_as_survived() -> None:
    model = played(says(lambda ask: 20 if ask.key.round == 1 else 10), n_rounds=2)

    assert (model.end_measures()["survived"], model.end_measures()["collapsed"]) == (True, True)


@pytest.mark.parametrize(
    "amount",
    [
        "Because.\n101",
    ],
)
def test_an_amount_that_cannot_be_read_is_asked_for_again_and_then_is_nothing(amount) -> None:
    model = played(says(lambda ask: amount if ask.key.agent == 2 else 10), n_rounds=1)
    frame = model.agent_frame()

    assert list(frame["wanted"].isna()) == [False, True, False, False, False]
    assert list(frame["harvest"]) == [10, 0, 10, 10, 10]
    assert list(frame["invalid"]) == [0, 1, 0, 0, 0]
    assert list(frame["reasks"]) == [0, 2, 0, 0, 0]
    assert remembered(model, 2)[1] == "You caught nothing this month."


def test_a_harvest_above_what_is_left_is_refused_in_later_months() -> None:
    """In month 2 there are 10, and 11 is more than that."""

    def amount(ask):
        return {0: 19, 1: 11}[ask.key.round] if ask.key.round < 2 else 0

    model = played(says(amount), n_rounds=2)
    assert stocks(model) == [100, 10]
    assert model.model_frame()["invalid"].tolist() == [0, 5]
    assert model.model_frame()["harvest"].tolist() == [95, 0]


def test_an_unknown_next_speaker_ends_the_talk() -> None:
    model = played(says(following="Bob"), n_rounds=1)

    assert [message.name for message in model.said] == ["John"]
    assert model.total.invalid == 1
    assert model.total.reasks == 2


def test_a_speaker_who_cannot_be_read_says_nothing_and_still_names_the_next() -> None:
    def words(ask):
        return "" if ask.name == "communicate" and ask.key.agent == 1 else "Hello."

    def following(ask):
        return "Kate" if ask.key.agent == 1 else "nobody"

    model = played(says(words=words, following=following), n_rounds=1)
    assert [message.name for message in model.said] == ["Kate"]
    assert model.total.invalid == 1


@pytest.mark.parametrize(
    "limit",
    [
        101,
    ],
)
def test_an_agreed_amount_that_cannot_be_read_is_no_agreement(limit) -> None:
    model = played(says(limit=limit), n_rounds=1)
    assert (model.agreed_limit, model.total.invalid) == (None, 1)


def test_a_talk_has_ten_entries_at_the_most_of_which_the_report_is_one() -> None:
    asked = []

    def answer(ask):
        asked.append((ask.name, ask.key.agent, ask.key.call))
        return says(following=named_in_turn)(ask)

    model = played(answer, n_rounds=1)
    assert [m.name for m in model.said] == [*NAMES, *NAMES[:4]]
    assert model.utterances == 9
    # The last one has no time left to name anybody, and a call is counted by agent and phase.
    assert [each for each in asked if each[0] == "next_speaker"] == [
        ("next_speaker", agent, call)
        for agent, call in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (1, 3), (2, 3), (3, 3)]
    ]


@pytest.mark.parametrize(("entries", "report", "n"), [(2, None, 1), (5, None, 4), (5, False, 5)])
def test_the_time_of_a_talk(entries, report, n) -> None:
    model = played(says(following=named_in_turn), n_rounds=1, max_entries=entries, report=report)
    assert model.utterances == n


def test_a_speaker_may_name_itself() -> None:
    model = played(says(following="John"), n_rounds=1, max_entries=4)
    assert [m.name for m in model.said] == ["John"] * 3


def test_the_newcomer() -> None:
    def amount(ask):
        return 40 if ask.key.agent == 5 else 10

    seen = []

    def answer(ask):
        seen.append((ask.key.round, ask.key.agent, ask.name, ask.facts))
        return says(amount=amount, following=named_in_turn)(ask)

    model = played(answer, newcomer_month=4, n_rounds=15)
    frame = model.agent_frame()

    assert stocks(model) == [100, 100, 100, 100, 40]  # 80 of 100 in month 4, 40 of 40 in month 5
    assert list(model.model_frame()["threshold"]) == [12, 12, 12, 10, 4]
    assert list(frame[frame["name"] == "Luke"]["harvest"].isna()) == [True] * 3 + [False] * 2
    assert list(frame[frame["round"] == 0]["persona"]) == ["local"] * 4 + ["newcomer"]
    assert {agent for turn, agent, *_ in seen if turn < 3} == {1, 2, 3, 4}
    first = next(view for turn, agent, name, view in seen if agent == 5 and name == "act")
    assert [each.text for each in first.memories] == [
        "There are 100 tons of fish in the lake before this month's catch."
    ]
    assert first.date == "2024-04-01"
    assert first.names == NAMES
    found = model.end_measures()
    assert found["survival_time"] == 2
    assert found["gain"] == (80 + 40) / 5
    assert found["efficiency"] == pytest.approx(120 / 600)


def test_the_three_wordings_are_one_model() -> None:
    frames = []
    for cls in WORDINGS:
        model = played(None, cls=cls, rng=3)
        frames.append((model.model_frame(), model.agent_frame()))
        assert model.scenario_name == cls.__name__.lower()
    for model_frame, agent_frame in frames[1:]:
        pd.testing.assert_frame_equal(model_frame, frames[0][0])
        pd.testing.assert_frame_equal(agent_frame, frames[0][1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"collapse_below": 101}, "collapse_below must be a whole number from 1 to 100"),
        ({"newcomer_month": 13}, "newcomer_month must be a whole number from 2 to 12"),
        ({"names": "Ann,Ben"}, "names: 5 different plain names are needed"),
        ({"names": "Ann,ann,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
        ({"names": "Ann:,Ben,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
        ({"names": "Nobody,Ben,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
        ({"names": "mayor,Ben,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
    ],
)
def test_a_parameter_that_cannot_be_used(given, message) -> None:
    with pytest.raises(ParameterError, match=message):
        Fishery(**given)


def test_more_people_have_names_of_their_own() -> None:
    model = played(None, n_agents=7, n_rounds=2)
    assert model.names == (*NAMES, "Neighbour 6", "Neighbour 7")
    assert model.threshold == model.stock // 2 // 7


@given(
    n=st.integers(2, 6),
    capacity=st.integers(10, 120),
    entries=st.integers(2, 6),
    communication=st.booleans(),
    report=st.sampled_from([None, True, False]),
    newcomer=st.booleans(),
    seed=st.integers(0, 99),
)
def test_in_any_world_the_accounts_are_right(
    n, capacity, entries, communication, report, newcomer, seed
) -> None:
    chance = Random(seed)

    def answer(ask):
        if ask.name == "act":
            return chance.randint(0, ask.facts.stock)
        if ask.name == "next_speaker":
            return chance.choice(ask.spec.options)
        return says(limit=3 if ask.name == "limit" else chance.choice([None, 3]))(ask)

    model = played(
        answer, n_agents=n, n_rounds=4, capacity=capacity, max_entries=entries, rng=seed,
        communication=communication, report=report, newcomer_month=3 if newcomer else None,
    )  # fmt: skip
    data, agents = model.model_frame(), model.agent_frame()

    assert model.total.invalid == 0
    assert (data["left"] == data["stock"] - data["harvest"]).all()
    assert (data["stock"].iloc[1:].to_numpy() == (2 * data["left"]).clip(upper=capacity)[:-1]).all()
    assert (data["left"].iloc[:-1] >= 5).all()
    taken = agents.groupby("round")["harvest"].sum()
    assert (taken.to_numpy() == data["harvest"]).all()
    assert (agents["harvest"].fillna(0) <= agents["wanted"].fillna(0)).all()
    gains = agents.groupby("agent")["harvest"].sum()
    assert (agents.groupby("agent")["gain"].last().fillna(0) == gains).all()
    assert (data["utterances"] <= entries).all()
    assert data["over_usage"].between(0, 1).all()
    measures = model.end_measures()
    assert measures["survived"] or measures["collapsed"]


# Reruns.
