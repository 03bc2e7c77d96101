"""The rounds of the repeated beauty contest: whole runs, numbers of the sources, repeatability."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sabm_mesa import RepeatedBeautyContest, ScriptedMind
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.llm import ScriptedClient
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.models.beauty_contest.repeated.agents import Notice
from sabm_mesa.models.beauty_contest.repeated.minds import (
    CLASSICAL_MINDS,
)
from sabm_mesa.runs.rerun import fork
from tests.models.beauty_contest.repeated.support import contest, played
from tests.models.beauty_contest.support import MEAN, PICKS, TARGET, VARIANCE, WON, by_round

MEDIAN = [20, 30, 20, 40]
RATIO = [None, 1, 2 / 3, 1.5]
PAYOFF = [(0, 6, 0), (2, 2, 2), (6, 0, 0), (3, 3, 0)]
# Against 50, then against 30, 30 and 20.
LEVEL = [(4, 2, -1), (0, 0, 0), (2, 0, None), (4, -1, -1)]
DEPTH = [(3.969, 2.260, -0.450), (0, 0, 0), (2.260, 0.170, None), (15.327, -1.710, -2.260)]
OWN_RATIO = [(None,) * 3, (3, 1.5, 0.5), (0.4, 28 / 30, None), (0, 40 / 28, None)]


def nan_for_none(rows):
    return np.array([[math.nan if each is None else each for each in row] for row in rows])


def test_a_whole_run() -> None:
    model = played(prize=6)
    frame = model.model_frame()

    assert list(frame["mean"]) == pytest.approx(MEAN)
    assert list(frame["target"]) == pytest.approx(TARGET)
    assert list(frame["median"]) == pytest.approx(MEDIAN)
    assert list(frame["variance"]) == pytest.approx(VARIANCE)
    assert list(frame["n_winners"]) == [sum(won) for won in WON]
    assert list(frame["ratio"])[1:] == pytest.approx(RATIO[1:])
    assert math.isnan(frame["ratio"][0])
    assert set(frame["high"]) == {100}
    assert list(frame["asks"]) == [3] * 4
    assert list(frame["invalid"]) == [0, 0, 1, 0]
    assert by_round(model, "choice") == PICKS
    assert by_round(model, "won") == WON
    assert by_round(model, "payoff") == PAYOFF
    assert by_round(model, "level") == LEVEL
    assert nan_for_none(by_round(model, "depth")) == pytest.approx(
        nan_for_none(DEPTH), abs=1e-3, nan_ok=True
    )
    assert nan_for_none(by_round(model, "ratio")) == pytest.approx(
        nan_for_none(OWN_RATIO), nan_ok=True
    )
    assert (model.total.asks, model.total.reasks) == (12, 2)
    assert model.critical_path_asks == 1 + 1 + 3 + 1
    assert not model.running


def test_what_is_said_of_the_whole_run() -> None:
    measures = played(prize=6).end_measures()

    assert (measures["first_mean"], measures["last_mean"]) == (30, 30)
    assert (measures["w_mean"], measures["w_median"]) == (0, -1)
    assert measures["mean_ratio"] == pytest.approx((1 + 2 / 3 + 1.5) / 3)
    # 30 → 12 → 0, 30 → 28 and 60 → 30 of seven pairs of picks.
    assert measures["falling"] == pytest.approx(4 / 7)
    # Players 1 and 3 in round 0 correct themselves, player 2 in round 2 does not.
    assert measures["direction"] == pytest.approx(2 / 3)
    assert measures["abstentions"] == 1
    assert measures["payoff_by_type"] == {"scripted": 2}
    assert measures["choice_by_type"] == {"scripted": pytest.approx(310 / 11)}
    assert measures["median_by_type"] == {"scripted": 30}
    assert measures["ratio_by_type"] == {"scripted": pytest.approx((1 + 2 / 3 + 1.5) / 3)}
    assert RepeatedBeautyContest(rng=1).end_measures() == {}


def test_players_of_level_1_fall_by_a_third_in_each_round() -> None:
    model = played(minds="classical:level_1", n_rounds=5)

    assert list(model.model_frame()["mean"].round(2)) == [33.33, 22.22, 14.81, 9.88, 6.58]
    assert set(model.agent_frame()["level"]) == {1}
    assert list(model.agent_frame()["depth"]) == pytest.approx([1] * 15)


def test_one_naive_player_among_nine_zeros_in_a_run() -> None:
    """50, then 3.33, then 0.222: two thirds of a tenth."""

    def naive(ask):
        game = ask.facts
        return str(game.p * game.past[-1]["mean"]) if game.past else "50"

    model = played(n_players=10, n_rounds=3, minds={ScriptedMind(naive): 1, "fixed:0": 9})

    first = [row[0] for row in by_round(model, "choice")]
    assert first == pytest.approx([50, 3.333, 0.2222], abs=1e-3)
    measures = model.end_measures()
    assert measures["ratio_by_type"]["scripted"] == pytest.approx(0.067, abs=1e-3)
    assert math.isnan(measures["ratio_by_type"]["fixed:0"])
    assert measures["falling"] == 1


@pytest.mark.parametrize("p", [1 / 2, 2 / 3, 0.7, 0.95])
def test_for_p_below_1_best_replies_go_to_zero(p) -> None:
    model = played(minds="classical:best_reply", n_players=10, n_rounds=60, p=p)
    ratio = p * 9 / (10 - p)

    assert list(model.model_frame()["ratio"])[1:] == pytest.approx([ratio] * 59)
    assert model.mean == pytest.approx(50 * ratio**60)


def test_p_above_1_leads_upwards_to_the_end_of_the_range() -> None:
    model = played(minds="classical:level_1", p="4/3", n_rounds=6)

    assert list(model.model_frame()["mean"].round(2)) == [66.67, 88.89, 100, 100, 100, 100]
    assert [row[0] for row in by_round(model, "level")] == [1, 1, 0, 0, 0, 0]
    assert model.target == pytest.approx(400 / 3)


def test_p_of_1_has_no_levels() -> None:
    model = played(p=1)

    assert model.agent_frame()[["level", "depth"]].isna().all(axis=None)
    assert list(model.model_frame()["target"]) == pytest.approx(MEAN)
    for mind in CLASSICAL_MINDS:
        spec = "classical" if mind == "default" else f"classical:{mind}"
        assert played(p=1, minds=spec).agent_frame()["choice"].between(0, 100).all()


def test_the_reference_survives_a_round_that_nobody_can_be_read_in() -> None:
    def answer(ask):
        return "" if ask.key.round == 1 else "30"

    model = played(answer, n_rounds=3)
    frame = model.model_frame()

    assert frame.loc[1, ["mean", "target", "variance", "median", "ratio"]].isna().all()
    assert list(frame["n_winners"]) == [3, 0, 3]
    assert list(frame["invalid"]) == [0, 3, 0]
    assert by_round(model, "level") == [(1,) * 3, (None,) * 3, (0,) * 3]
    assert set(by_round(model, "payoff")[1]) == {0}
    assert math.isnan(model.ratio)
    assert model.agent_frame()["ratio"].isna().all()


def test_a_p_that_is_changed_on_the_way_enters_the_direction_of_its_rounds(tmp_path) -> None:
    """Picks 30 and 20, then 10 and 8 of a mean of 25, then 20 of 9: factors 0.6, 0.4, 2.2.

    The target of round 1 is 8.1 with p = 0.9, which 8 meets: player 1 should fall but rises.
    With p = 2 it would be 18, so 10 would win, and player 2 would be the one to rise.
    """
    picks = [(30, 20), (10, 8), (20, 20)]
    mind = ScriptedMind(lambda ask: str(picks[ask.key.round][ask.key.agent - 1]))
    path = tmp_path / "r.sqlite"
    played(n_players=2, n_rounds=3, minds=mind, p=0.9, recording=path)
    child = fork(path, 2, {"p": 2}, tmp_path / "f.sqlite", minds={mind.spec: mind})

    assert list(child.model_frame()["p"]) == [0.9, 0.9, 2]
    assert child.models[0].end_measures()["direction"] == 0.5


def test_after_zeros_there_is_no_depth() -> None:
    model = played(lambda ask: "0" if ask.key.round == 0 else "5", n_rounds=2)

    assert math.isnan(model.ratio)
    assert by_round(model, "level") == [(4,) * 3, (-1,) * 3]
    assert by_round(model, "depth")[1] == (None,) * 3


def test_an_upper_bound_can_be_drawn_once_a_run() -> None:
    highs = {played(high=[50, 60], minds="fixed:7", rng=seed).high for seed in range(60)}
    model = played(lambda _: "20", high=(40, 40), n_rounds=2)

    assert highs == set(range(50, 61))
    assert set(model.model_frame()["high"]) == {40}
    assert [player.level for player in model.players] == [0, 0, 0]
    assert model.end_measures()["choice_by_type"] == {"scripted": 50}
    assert model.end_measures()["first_mean"] == 50


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"p": 0}, "p must be a number from 0.001"),
        ({"p": "two thirds"}, "p must be a number or a fraction such as 2/3, not 'two thirds'"),
        ({"p": "1/0"}, "a fraction such as 2/3"),
        ({"high": "wide"}, "high must be a number or two such as"),
        ({"high": [1]}, r"high must be one number or two \(got 1\)"),
        ({"high": [200, 50]}, "second number of high must be a whole number from 200"),
        ({"high": 99.5, "integer": True}, "high .with integer picks. must be a whole number"),
        ({"revealed": 3}, "revealed must be names"),
    ],
)
def test_a_parameter_that_cannot_be_used(parameters, words) -> None:
    with pytest.raises(ParameterError, match=words) as raised:
        RepeatedBeautyContest(**parameters)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"elicitation": "ful"}, "Unknown elicitation 'ful'"),
        ({"revealed": "mean,winer"}, "Unknown revealed 'winer'"),
    ],
)
def test_a_name_that_does_not_exist(parameters, words) -> None:
    with pytest.raises(UnknownName, match=words):
        RepeatedBeautyContest(**parameters)


@given(
    rounds=st.lists(
        st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=4, max_size=4),
        min_size=1, max_size=4,
    ),
    p=st.sampled_from([1 / 2, 2 / 3, 0.9, 1, 4 / 3]),
    prize=st.floats(0, 100),
)  # fmt: skip
@example(rounds=[[None] * 3 + [1e-312], [None] * 3 + [1.0]], p=0.5, prize=0.0)
@example(rounds=[[1e-308] * 4, [1.0] * 4, [1e-308] * 4, [1.0] * 4], p=0.5, prize=0.0)
def test_in_any_world_the_closest_share_the_prize(rounds, p, prize) -> None:
    def answer(ask):
        pick = rounds[ask.key.round][ask.key.agent - 1]
        return "" if pick is None else pick

    model = played(answer, n_players=4, n_rounds=len(rounds), p=p, prize=prize, max_attempts=1)
    data, frame = model.model_frame(), model.agent_frame()

    assert by_round(model, "choice") == [tuple(each) for each in rounds]
    for (_, rows), row in zip(frame.groupby("round"), data.itertuples(), strict=True):
        choice = rows["choice"].astype(float)
        distance = (choice - row.target).abs()
        assert row.n_winners == rows["won"].sum()
        assert (row.n_winners > 0) == choice.notna().any()
        assert rows["payoff"].sum() == pytest.approx(prize if row.n_winners else 0)
        assert not rows.loc[choice.isna(), ["won"]].any(axis=None)
        if row.n_winners:
            assert distance[rows["won"]].max() <= distance.min() + 1e-9
            assert row.mean == pytest.approx(choice.mean())
            assert row.target == pytest.approx(p * row.mean)
    assert len(model.end_measures()["payoff_by_type"]) == 1


def test_the_last_players_always_pick_zero_whoever_decides() -> None:
    model = played(n_players=4, n_rounds=2, n_fixed=3, minds="classical:level_1")
    assert [player.mind.spec for player in model.players] == ["classical:level_1", *["fixed:0"] * 3]
    # Level 1 picks 2/3 of 50, then of the mean of 33.3, 0, 0 and 0.
    picks = model.agent_frame().query("agent == 1")["choice"].tolist()
    assert picks == pytest.approx([100 / 3, 100 / 3 / 4 * 2 / 3])
    assert model.notice_to(model.players[0]) == Notice((0,), None)
    with pytest.raises(ParameterError, match="n_fixed must be a whole number from 0 to 4"):
        contest(n_players=4, n_fixed=5)


# Repeatability.


def test_a_language_model_is_asked_with_the_temperature_of_its_server() -> None:
    client = ScriptedClient(lambda _: "Because.\n42.5")
    model = played(minds=LLMMind("m", client), n_rounds=1, recording=False)

    assert model.llm_settings == LLMSettings(None, 256, None)
    assert len(client.requests) == 3
    assert model.mean == 42.5
