"""The repeated beauty contest: whole runs with numbers computed by hand."""

import math
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import (
    LLMMind,
    LLMSettings,
    RepeatedBeautyContest,
    Reply,
    ScriptedClient,
    ScriptedMind,
)
from sabm_mesa.agents.repeated_beauty_contest import Past, shown
from sabm_mesa.analysis.theory.guessing_dynamics import direction_share
from sabm_mesa.cost import Range, estimate
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.minds.classical.repeated_beauty_contest import (
    CLASSICAL_MINDS,
    CognitiveHierarchy,
    LearningDirection,
)
from sabm_mesa.reruns import fork, replay
from sabm_mesa.usage import Failures
from tests.core.reruns import Drawing, first_question, no_key, replayed
from tests.core.support import Priced
from tests.llm_server import LLMServer

from .support import Late, assert_same, batch, frames

# Picks of three players in four rounds; the third one's answers of round 2 cannot be read.
PICKS = [(10, 20, 60), (30, 30, 30), (12, 28, None), (0, 40, 50)]
MEAN = [30, 30, 20, 30]
TARGET = [20, 20, 40 / 3, 20]
MEDIAN = [20, 30, 20, 40]
VARIANCE = [1400 / 3, 0, 64, 1400 / 3]
RATIO = [None, 1, 2 / 3, 1.5]
WON = [(0, 1, 0), (1, 1, 1), (1, 0, 0), (1, 1, 0)]
PAYOFF = [(0, 6, 0), (2, 2, 2), (6, 0, 0), (3, 3, 0)]
# Against 50, then against 30, 30 and 20.
LEVEL = [(4, 2, -1), (0, 0, 0), (2, 0, None), (4, -1, -1)]
DEPTH = [(3.969, 2.260, -0.450), (0, 0, 0), (2.260, 0.170, None), (15.327, -1.710, -2.260)]
OWN_RATIO = [(None,) * 3, (3, 1.5, 0.5), (0.4, 28 / 30, None), (0, 40 / 28, None)]


def follow(ask):
    """The script: the picks above."""
    pick = PICKS[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if pick is None else f"Because.\n{pick}"


def contest(answer=follow, **more):
    parameters = {"n_players": 3, "n_rounds": 4, "minds": ScriptedMind(answer), "rng": 7, **more}
    return RepeatedBeautyContest(**parameters)


def played(*args, **more):
    model = contest(*args, **more)
    model.run_model()
    return model


def by_round(model, column):
    """The values of an agent column, a row a round."""
    frame = model.agent_frame()
    return [tuple(rows[column]) for _, rows in frame.groupby("round")]


def plain(rows):
    return [tuple(None if pd.isna(each) else each for each in row) for row in rows]


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
    assert plain(by_round(model, "choice")) == PICKS
    assert by_round(model, "won") == WON
    assert by_round(model, "payoff") == PAYOFF
    assert plain(by_round(model, "level")) == LEVEL
    assert np.array(by_round(model, "depth")) == pytest.approx(
        nan_for_none(DEPTH), abs=1e-3, nan_ok=True
    )
    assert np.array(by_round(model, "ratio")) == pytest.approx(nan_for_none(OWN_RATIO), nan_ok=True)
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


def test_the_data_have_the_columns_of_the_design() -> None:
    model = played()

    assert list(model.model_frame(5).columns) == [
        "run", "round", "mean", "target", "variance", "n_winners", "median", "ratio", "high", "p",
        "asks", "invalid", "reasks", "retries", "refused", "truncated",
        "prompt_tokens", "completion_tokens", "cost_usd",
    ]  # fmt: skip
    assert list(model.agent_frame(5).columns) == [
        "run", "round", "agent", "mind", "choice", "won", "payoff", "level", "depth", "ratio",
        *Failures._fields,
    ]  # fmt: skip


# The numbers of the sources.


def test_the_lowest_of_a_third_and_zero_wins() -> None:
    """x = (0, 33.33, 33.33): mean 22.22, target 14.81, distances 14.81 and 18.52."""
    model = played(lambda ask: "0" if ask.key.agent == 1 else "33.33", n_rounds=1)

    assert model.mean == pytest.approx(22.22)
    assert model.target == pytest.approx(14.813, abs=1e-3)
    assert [player.payoff for player in model.players] == [1, 0, 0]


def test_players_of_level_1_fall_by_a_third_in_each_round() -> None:
    model = played(minds="classical:level_1", n_rounds=5)

    assert list(model.model_frame()["mean"].round(2)) == [33.33, 22.22, 14.81, 9.88, 6.58]
    assert set(model.agent_frame()["level"]) == {1}
    assert list(model.agent_frame()["depth"]) == pytest.approx([1] * 15)


def test_one_naive_player_among_nine_zeros() -> None:
    """50, then 3.33, then 0.222: two thirds of a tenth."""

    def naive(ask):
        game = ask.observation
        return str(game.p * game.past[-1].mean) if game.past else "50"

    model = played(n_players=10, n_rounds=3, minds={ScriptedMind(naive): 1, "fixed:0": 9})

    first = [row[0] for row in by_round(model, "choice")]
    assert first == pytest.approx([50, 3.333, 0.2222], abs=1e-3)
    measures = model.end_measures()
    assert measures["ratio_by_type"]["scripted"] == pytest.approx(0.067, abs=1e-3)
    assert math.isnan(measures["ratio_by_type"]["fixed:0"])
    assert measures["falling"] == 1


@pytest.mark.parametrize(("n_llm", "ratio"), [(1, 0.067), (5, 0.333), (9, 0.6)])
def test_the_ratio_that_is_expected_against_fixed_players(n_llm, ratio) -> None:
    """Players of level 1 reply naively to the last mean (equation 1 of Lu 2024)."""
    model = played(n_players=10, minds={"classical:level_1": n_llm, "fixed:0": 10 - n_llm})

    found = model.end_measures()["ratio_by_type"]["classical:level_1"]
    assert found == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("p", [1 / 2, 2 / 3, 0.7, 0.95])
def test_for_p_below_1_best_replies_go_to_zero(p) -> None:
    model = played(minds="classical:best_reply", n_players=10, n_rounds=60, p=p)
    ratio = p * 9 / (10 - p)

    assert list(model.model_frame()["ratio"])[1:] == pytest.approx([ratio] * 59)
    assert model.mean == pytest.approx(50 * ratio**60)


# Rules.


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


def test_a_fraction_may_be_a_text_and_ties_are_exact() -> None:
    """0 and 40 are both 20 away from 2/3 of 30, which is no binary fraction."""
    model = played(lambda ask: ("0", "40", "50")[ask.key.agent - 1], p="2/3", n_rounds=1)

    assert model.p == 2 / 3
    assert [player.payoff for player in model.players] == [0.5, 0.5, 0]


def test_the_reference_survives_a_round_that_nobody_can_be_read_in() -> None:
    def answer(ask):
        return "" if ask.key.round == 1 else "30"

    model = played(answer, n_rounds=3)
    frame = model.model_frame()

    assert frame.loc[1, ["mean", "target", "variance", "median", "ratio"]].isna().all()
    assert list(frame["n_winners"]) == [3, 0, 3]
    assert list(frame["invalid"]) == [0, 3, 0]
    assert plain(by_round(model, "level")) == [(1,) * 3, (None,) * 3, (0,) * 3]
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
    assert plain(by_round(model, "level")) == [(4,) * 3, (-1,) * 3]
    assert plain(by_round(model, "depth"))[1] == (None,) * 3


@pytest.mark.parametrize(
    "answer", ["101", "-1", "about 30", "nan", "inf", "33 or 34", "1e1", "", "100.001", "?"]
)
def test_what_is_no_legal_pick_is_asked_again_and_then_the_player_abstains(answer) -> None:
    asked = []

    def answers(ask):
        if ask.key.agent > 1:
            return "90"
        asked.append(len(ask.rejected))
        return answer

    model = played(answers, n_rounds=1)

    assert asked == [0, 1, 2]
    assert (model.mean, model.target, model.n_winners) == (90, pytest.approx(60), 2)
    assert [player.choice for player in model.players] == [None, 90, 90]
    assert [player.payoff for player in model.players] == [0, 0.5, 0.5]
    assert list(model.agent_frame()["invalid"]) == [1, 0, 0]
    assert model.total.invalid == 1


def test_whole_picks_alone_are_legal_where_picks_are_integers() -> None:
    model = played(lambda ask: "3.5" if ask.key.agent == 1 else "4", n_rounds=1, integer=True)

    assert [player.choice for player in model.players] == [None, 4, 4]
    classical = played(minds="classical", integer=True, high=20, n_players=12)
    picks = classical.agent_frame()["choice"]
    assert all(isinstance(pick, int) for pick in picks)
    assert picks.between(0, 20).all()


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
        ({"p": 0}, "p has to be a number from 0.001"),
        ({"p": -1}, "p has to be a number"),
        ({"p": "two thirds"}, "p has to be a number or a fraction such as 2/3, not 'two thirds'"),
        ({"p": "1/0"}, "a fraction such as 2/3"),
        ({"p": None}, "p has to be a number"),
        ({"high": 0}, "high has to be a number from"),
        ({"high": "wide"}, "high has to be a number or two such as"),
        ({"high": [1]}, r"high has to be one number or two \(got 1\)"),
        ({"high": [200, 50]}, "second number of high has to be a whole number from 200"),
        ({"high": [0.5, 50]}, "first number of high has to be a whole number"),
        ({"high": 99.5, "integer": True}, "high .with integer picks. has to be a whole number"),
        ({"prize": -1}, "prize has to be a number of 0 or more"),
        ({"window": -1}, "window has to be a whole number of 0 or more"),
        ({"revealed": 3}, "revealed has to be names"),
        ({"n_players": 1}, "n_players has to be a whole number of 2 or more"),
        ({"n_rounds": 0}, "n_rounds has to be a whole number of 1 or more"),
    ],
)
def test_a_parameter_that_cannot_be_used(parameters, words) -> None:
    with pytest.raises(ParameterError, match=words) as raised:
        RepeatedBeautyContest(**parameters)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"notice": "sume"}, "Unknown notice 'sume'. Did you mean 'some'"),
        ({"elicitation": "ful"}, "Unknown elicitation 'ful'"),
        ({"revealed": "mean,winer"}, "Unknown revealed 'winer'"),
        ({"condition": "cooperative"}, "Unknown condition"),
        ({"minds": "classical:level_9"}, "Unknown classical mind of beauty-contest"),
    ],
)
def test_a_name_that_does_not_exist(parameters, words) -> None:
    with pytest.raises(UnknownName, match=words):
        RepeatedBeautyContest(**parameters)


@settings(max_examples=40)
@given(
    rounds=st.lists(
        st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=4, max_size=4),
        min_size=1, max_size=4,
    ),
    p=st.sampled_from([1 / 2, 2 / 3, 0.9, 1, 4 / 3]),
    prize=st.floats(0, 100),
)  # fmt: skip
def test_in_any_world_the_closest_share_the_prize(rounds, p, prize) -> None:
    def answer(ask):
        pick = rounds[ask.key.round][ask.key.agent - 1]
        return "" if pick is None else pick

    model = played(answer, n_players=4, n_rounds=len(rounds), p=p, prize=prize, max_attempts=1)
    data, frame = model.model_frame(), model.agent_frame()

    assert plain(by_round(model, "choice")) == [tuple(each) for each in rounds]
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


# What is known of earlier rounds.


def asked_in(answer=follow, **more):
    """Round, question and player → the observation, the system text and the question."""
    asked = {}

    def noting(ask):
        system, question = ask.messages()[:2]
        place = ask.key.round, ask.name, ask.key.agent
        asked[place] = (ask.observation, system["content"], question["content"])
        return answer(ask)

    played(noting, **more)
    return asked


HISTORY = """What you are told of earlier rounds:
Round 1
- Numbers: Player #1 10, you 20, Player #3 60
- Average: 30
- Target: 20
- Won by: you
Round 2
- Numbers: Player #1 30, you 30, Player #3 30
- Average: 30
- Target: 20
- Won by: Player #1, you, Player #3
Round 3
- Numbers: Player #1 12, you 28, Player #3 none
- Average: 20
- Target: 13.3333
- Won by: Player #1

Now choose your number for round 4. On the first line give your reasoning in one sentence. \
On the second line write a number from 0 to 100 and nothing else."""


def test_players_are_told_all_earlier_rounds() -> None:
    asked = asked_in()

    assert asked[3, "act", 2][2] == HISTORY
    assert asked[0, "act", 2][2].startswith("What you are told of earlier rounds:\n(nothing)\n\n")
    for k in range(4):
        assert [past.round for past in asked[k, "act", 1][0].past] == list(range(k))


def test_a_pick_is_seen_by_nobody_before_the_round_is_over() -> None:
    asked = asked_in(lambda ask: str(70 + 10 * ask.key.round + ask.key.agent))

    for (k, _, _), (_, system, question) in asked.items():
        seen = {int(found) for found in re.findall(r"\b\d\d\b", system + question)}
        assert not seen & {70 + 10 * later + i for later in range(k, 4) for i in (1, 2, 3)}


@pytest.mark.parametrize("window", [0, 1, 2, 9])
def test_the_window_holds_the_last_rounds(window) -> None:
    asked = asked_in(window=window)

    for (k, _, player), (game, _, question) in asked.items():
        rounds = list(range(k))[-window:] if window else []
        assert [past.round for past in game.past] == rounds
        assert re.findall(r"^Round (\d)$", question, re.MULTILINE) == [str(r + 1) for r in rounds]
        assert game.reference == pytest.approx(MEAN[k - 1] if rounds else 50)
        assert game.player == player


LINES = {
    "choices": "- Numbers: you 10, Player #2 20, Player #3 60",
    "mean": "- Average: 30",
    "target": "- Target: 20",
    "winners": "- Won by: Player #2",
    "own": "- Your number: 10; you received 0 points",
}


@pytest.mark.parametrize(
    "revealed", ["choices", "mean", "target", "winners", "own", "own, mean", "", "target,choices"]
)
def test_what_is_not_revealed_is_nowhere(revealed) -> None:
    names = {name.strip() for name in revealed.split(",")} - {""}
    game, _, question = asked_in(revealed=revealed)[1, "act", 1]

    assert {line for line in LINES.values() if line in question} == {LINES[n] for n in names}
    assert ("(nothing)" in question) == (not names)
    (past,) = game.past
    for name in ("choices", "mean", "target", "winners"):
        assert (getattr(past, name) is not None) == (name in names)
    assert past.payoffs is None
    assert game.own == (((10, 0),) if "own" in names else ())
    known = names & {"choices", "mean", "target"}
    assert game.reference == pytest.approx(30 if known else 50)


def test_a_list_of_names_is_as_good_as_a_text() -> None:
    assert contest(revealed=["own", "mean"]).revealed == ("mean", "own")
    assert contest(revealed=None).revealed == ()


def test_a_round_without_picks_is_told_as_such() -> None:
    revealed = "choices,mean,target,winners,own"
    asked = asked_in(lambda ask: "" if ask.key.round == 0 else "5", n_rounds=2, revealed=revealed)
    question = asked[1, "act", 1][2]

    for line in (
        "- Numbers: you none, Player #2 none, Player #3 none", "- Average: none",
        "- Target: none", "- Won by: none", "- Your number: none; you received 0 points",
    ):  # fmt: skip
        assert line in question
    assert asked[1, "act", 1][0].reference == 50


def test_numbers_in_prompts_have_few_digits_and_no_exponent() -> None:
    assert [shown(x) for x in (100 / 3, 100.0, 0.0, 1e-7 / 3, 1e-30, 123456.7, 1e6, 0.5)] == [
        "33.3333", "100", "0", "0.000000033", "0", "123457", "1000000", "0.5",
    ]  # fmt: skip


def test_the_mean_follows_from_what_is_revealed() -> None:
    assert Past(0, (10, None, 20), None, None, None, None).known_mean(0.5) == 15
    assert Past(0, None, None, 10, None, None).known_mean(0.5) == 20
    assert Past(0, None, 7, 10, None, None).known_mean(0.5) == 7
    assert Past(0, (None,), math.nan, math.nan, (), None).known_mean(0.5) is None
    assert Past(0, None, None, None, (1,), None).known_mean(0.5) is None


# What the prompts say.


def test_the_scenario_tells_the_rules_and_who_one_is() -> None:
    asked = asked_in(prize=20)
    system = asked[0, "act", 2][1]

    assert "together with 2 other players" in system
    assert "There are 4 rounds, always with the same players." in system
    assert "from 0 to 100" in system
    assert "The target of the round is two thirds of the average" in system
    assert "receives a prize of 20 points" in system
    assert "share the prize equally" in system
    assert "You are Player #2." in system
    assert "fixed strategy" not in system
    assert len({asked[k, "act", 2][1] for k in range(4)}) == 1
    assert "receives a prize of 1 point." in asked_in()[0, "act", 2][1]
    assert "There is one round." in asked_in(n_rounds=1)[0, "act", 1][1]


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (2 / 3, "two thirds of"), (0.5, "one half of"), ("4/3", "four thirds of"),
        (0.7, "0.7 times"), (0.667, "0.667 times"), (1, "1 times"),
    ],
)  # fmt: skip
def test_p_in_words(p, words) -> None:
    assert f"The target of the round is {words} the average" in asked_in(p=p)[0, "act", 1][1]


def test_the_kind_of_numbers_and_the_range_are_told() -> None:
    real = asked_in(high=50)[0, "act", 1]
    whole = asked_in(high=60, integer=True)[0, "act", 1]

    assert "chooses a number, which need not be an integer, from 0 to 50" in real[1]
    assert "a number from 0 to 50" in real[2]
    assert "chooses an integer from 0 to 60" in whole[1]
    assert "an integer from 0 to 60" in whole[2]


@pytest.mark.parametrize("variant", ["default", "paraphrased"])
@pytest.mark.parametrize("notice", ["some", "count", "none"])
def test_the_notice_of_fixed_opponents(notice, variant) -> None:
    systems = {}

    def answer(ask):
        game = ask.observation
        systems[ask.key.agent] = ask.messages()[0]["content"], game.told_fixed, game.n_fixed
        return "10"

    def prompts(minds):
        systems.clear()
        played(n_players=5, n_rounds=1, minds=minds, notice=notice, variant=variant)
        return dict(systems)

    one = ScriptedMind(answer)
    mixed = prompts({one: 2, "fixed:0": 3})
    for text, told, n_fixed in mixed.values():
        assert ("fixed strategy" in text) == told == (notice != "none")
        assert n_fixed == (3 if notice == "count" else None)
        assert ("same number in every round: 3." in text) == (notice == "count")
    alone = prompts({one: 5})
    assert not any("fixed strategy" in text or told for text, told, _ in alone.values())


def test_the_last_players_always_pick_zero_whoever_decides() -> None:
    model = played(n_players=4, n_rounds=2, n_fixed=3, minds="classical:level_1")
    assert [player.mind.spec for player in model.players] == ["classical:level_1", *["fixed:0"] * 3]
    # Level 1 picks 2/3 of 50, then of the mean of 33.3, 0, 0 and 0.
    picks = model.agent_frame().query("agent == 1")["choice"].tolist()
    assert picks == pytest.approx([100 / 3, 100 / 3 / 4 * 2 / 3])
    assert model.notice_to(model.players[0]) == (True, None)
    with pytest.raises(ParameterError, match="n_fixed has to be a whole number from 0 to 4"):
        contest(n_players=4, n_fixed=5)


def test_nobody_is_told_of_oneself_as_fixed() -> None:
    model = contest(minds={"classical": 2, "fixed:0": 1}, notice="count")

    assert [model.notice_to(player) for player in model.players] == [
        (True, 1), (True, 1), (False, None),
    ]  # fmt: skip


def test_the_baseline_gives_no_hint_in_anything_that_is_sent() -> None:
    for variant in ("default", "paraphrased"):
        asked = asked_in(elicited, variant=variant, elicitation="full")
        sent = " ".join(" ".join(each[1:]) for each in asked.values())
        assert not re.search(
            r"beauty|contest|keynes|nash|equilib|level|reason about|others think|converge|iterat",
            sent, re.IGNORECASE,
        )  # fmt: skip


def test_a_persona_enters_the_scenario() -> None:
    asked = asked_in(personas=["none", "nervous", "none"])

    assert "You are an anxious person" in asked[0, "act", 2][1]
    assert "anxious" not in asked[0, "act", 1][1]


# Elicitation of reasons.


def elicited(ask):
    return {
        "understand": "The closest one wins.\n- Average: 0",
        "goal": f"To win round {ask.key.round + 1}.",
        "act": follow(ask),
    }[ask.name]


def test_without_reasons_the_number_alone_is_asked_for() -> None:
    asked = asked_in(lambda _: "5", elicitation="none")

    assert {name for _, name, _ in asked} == {"act"}
    assert asked[0, "act", 1][2].endswith(
        "Answer with nothing but a number from 0 to 100: no word before it, none after it."
    )


def test_full_elicitation_asks_for_rules_once_and_for_a_goal_in_each_round() -> None:
    asked = asked_in(elicited, elicitation="full")
    places = {(k, name) for k, name, _ in asked}
    others = {(k, name) for k in range(4) for name in ("goal", "act")}
    assert places == {(0, "understand"), *others}

    for (k, name, _), (game, _, question) in asked.items():
        # What it said cannot pass for a line of the history.
        rules = "The rules in your own words: The closest one wins. - Average - 0"
        goal = f"Your goal in this round, in your own words: To win round {k + 1}."
        assert (rules in question) == (name != "understand")
        assert (goal in question) == (name == "act")
        assert bool(game.goal) == (name == "act")
    model = played(elicited, elicitation="full")
    assert (model.total.asks, model.total.invalid) == (3 + 4 * 3 * 2, 1)
    assert model.critical_path_asks == 1 + 2 + 2 + 4 + 2


def test_rules_and_goals_that_cannot_be_read_are_left_out() -> None:
    asked = asked_in(lambda ask: "5" if ask.name == "act" else "", elicitation="full", n_rounds=1)

    _, _, question = asked[0, "act", 1]
    assert "in your own words" not in question
    assert question.startswith("What you are told of earlier rounds")


@pytest.mark.parametrize("mind", ["classical", "classical:level_2", "fixed:0"])
def test_every_mind_can_be_asked_for_words(mind) -> None:
    model = played(minds=mind, elicitation="full")

    assert model.total.invalid == 0
    assert all(player.understanding for player in model.players)


def test_answers_in_json_with_a_reason() -> None:
    def answer(_):
        return Reply('{"reasoning": "Low.", "answer": 7.5}', answer_format="json")

    model = played(answer, n_rounds=2, answer_format="json")

    assert model.mean == 7.5
    assert model.total.invalid == 0


# Repeatability.


ALL_MINDS = ["classical" if m == "default" else f"classical:{m}" for m in CLASSICAL_MINDS]


@pytest.mark.parametrize("mind", ALL_MINDS)
def test_the_same_seed_gives_the_same_data(mind) -> None:
    def run(seed):
        return frames(played(n_players=6, minds=mind, rng=seed, high=[80, 120]))

    assert_same(run(11), run(11))
    assert not run(11)[1]["choice"].equals(run(12)[1]["choice"])


@pytest.mark.parametrize("jitter", [1, 2])
def test_latencies_do_not_change_the_data(jitter) -> None:
    def minds():
        hierarchy = [CognitiveHierarchy("a") for _ in range(4)]
        return [*hierarchy, *(LearningDirection("b") for _ in range(4))]

    at_once = played(n_players=8, minds=minds(), elicitation="full")
    late = [Late(mind, 100 * jitter + i) for i, mind in enumerate(minds())]
    delayed = played(n_players=8, minds=late, elicitation="full")

    assert_same(frames(delayed), frames(at_once))
    assert delayed.critical_path_asks == at_once.critical_path_asks


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"answer_format": "json", "elicitation": "full", "n_players": 4},
        {"integer": True, "high": [20, 90], "window": 1, "revealed": "own,mean", "p": "1/2"},
    ],
)
def test_a_run_with_a_language_model_is_replayed_without_it(tmp_path, monkeypatch, more) -> None:
    path = tmp_path / "r.sqlite"
    n = more.get("n_players", 3)
    with no_key(monkeypatch), LLMServer(brain=first_question) as server:
        minds = {f"llm:stub@{server.url}": n - 1, "fixed:0": 1}
        model = played(minds=minds, recording=path, **more)
        asked = server.stats["requests"]
        again = replay(path)
        assert server.stats["requests"] == asked > 0

    assert_same(frames(again.models[0]), frames(model))
    assert model.total.invalid == 0
    assert again.models[0].high == model.high
    assert sum(again.answers_repeated()) == model.total.asks > asked


def test_a_mind_of_ones_own_that_is_paid_is_replayed(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = played(minds={Drawing(): 2, "classical:learning_direction": 1}, recording=path)
    again = replay(path)

    assert_same(frames(again.models[0]), frames(model))
    assert model.agent_frame()["choice"].isna().sum() == model.total.invalid


FORKS = {
    "p": 0.5, "prize": 12, "window": 1, "revealed": "mean", "notice": "count",
    "elicitation": "full", "variant": "paraphrased", "n_rounds": 6, "minds": "classical",
}  # fmt: skip


@pytest.mark.parametrize("name", FORKS)
def test_a_fork_goes_on_otherwise_from_its_round(tmp_path, name) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    prices = {"mine": Priced(lambda ask: "5" if ask.name == "act" else "Words.", "mine")}
    parent = played(minds={prices["mine"]: 2, "fixed:0": 1}, recording=path)
    child = fork(path, 2, {name: FORKS[name]}, into, minds=prices)
    (model,) = child.models

    for one, other in zip(frames(parent), frames(model), strict=True):
        kept = [each[each["round"] < 2].reset_index(drop=True) for each in (one, other)]
        assert kept[0].equals(kept[1])
    assert model.parameters[name] == FORKS[name]
    if name == "p":
        assert list(model.model_frame()["p"]) == [2 / 3, 2 / 3, 0.5, 0.5]
    if name == "prize":
        assert list(model.agent_frame().groupby("round")["payoff"].sum()) == [1, 1, 12, 12]
    if name == "elicitation":
        assert list(model.model_frame()["asks"]) == [3, 3, 6, 6]
    replayed(into, child, minds=prices)


def test_what_is_sent_can_be_forecast() -> None:
    given = {"minds": {"llm:gpt-4o-mini": 5, "fixed:0": 5}, "n_rounds": 4}
    found = estimate(RepeatedBeautyContest, given)
    full = estimate(RepeatedBeautyContest, {**given, "elicitation": "full"})

    assert found.total.asks == Range(20, 20)
    asks = {line.question: line.cost.asks for line in full.lines}
    assert asks == {"understand": Range(5, 5), "goal": Range(20, 20), "act": Range(20, 20)}
    assert 0 < found.total.usd.low < found.total.usd.high < full.total.usd.high


@pytest.mark.parametrize("elicitation", ["none", "full"])
def test_what_is_spent_lies_in_the_estimate(monkeypatch, elicitation) -> None:
    more = {"n_players": 4, "n_rounds": 6, "elicitation": elicitation}
    with no_key(monkeypatch), LLMServer() as server:
        minds = {f"llm:stub@{server.url}": 3, "fixed:0": 1}
        found = estimate(RepeatedBeautyContest, {**more, "minds": minds}).total
        spent = played(minds=minds, recording=False, **more).total

    asks = 6 * 3 if elicitation == "none" else 3 + 2 * 6 * 3
    assert found.asks == Range(asks, asks)
    assert found.prompt_tokens.low <= spent.prompt_tokens <= found.prompt_tokens.high
    assert found.completion_tokens.low <= spent.completion_tokens <= found.completion_tokens.high


def test_a_language_model_is_asked_with_the_temperature_of_its_server() -> None:
    client = ScriptedClient(lambda _: "Because.\n42.5")
    model = played(minds=LLMMind("m", client), n_rounds=1, recording=False)

    assert model.llm_settings == LLMSettings(None, 256, None)
    assert len(client.requests) == 3
    assert model.mean == 42.5


def test_a_batch_has_the_rows_of_single_runs() -> None:
    parameters = {"n_players": 4, "n_rounds": 3, "p": [0.5, 0.9]}
    rows = batch(RepeatedBeautyContest, parameters, [1, 2], data_collection_period=1)

    assert len(rows) == 2 * 2 * 3 * 4
    for (p, seed), group in rows.groupby(["p", "rng"]):
        single = played(n_players=4, n_rounds=3, p=p, minds="classical", rng=seed).agent_frame()
        found = group.sort_values(["Step", "AgentID"])
        assert list(found["choice"]) == list(single["choice"])


# The classical minds.


@pytest.fixture(scope="module")
def sessions():
    """A classical mind → the model data and the agent data of sixty sessions of 17 players."""

    @cache
    def of(mind):
        runs = [played(n_players=17, minds=mind, rng=seed) for seed in range(60)]
        return [frames(model) for model in runs]

    return of


def mean_path(of_mind):
    """Mean pick by round, over the sessions."""
    return np.mean([model_data["mean"] for model_data, _ in of_mind], axis=0)


def test_drawn_subjects_fall_as_those_of_nagel_did(sessions) -> None:
    """Means of sessions 4 to 7: 36.7, 23.9, 15.9, 9.2."""
    found = mean_path(sessions("classical:empirical_step"))

    assert found == pytest.approx([36.7, 23.9, 15.9, 9.2], abs=2.5)


def test_a_hierarchy_starts_at_its_mean() -> None:
    """33.50 with 1.5 steps; the noise adds half a per cent."""
    model = played(n_players=1000, n_rounds=1, minds="classical")

    assert model.mean == pytest.approx(33.6, abs=1.0)


def test_drawn_subjects_have_the_shares_of_the_tables(sessions) -> None:
    """Nagel 1995, figure 2B and table 2B."""
    data = pd.concat([agent_data for _, agent_data in sessions("classical:empirical_step")])
    first = data.loc[data["round"] == 0, "choice"]
    share = {
        edges: first.between(*edges).mean()
        for edges in [(0, 12.99), (13, 16), (20, 25), (30, 37), (45, 50), (51, 100)]
    }
    assert list(share.values()) == pytest.approx(
        [0.075, 0.015, 0.239, 0.269, 0.075, 0.194], abs=0.05
    )
    table = {
        1: [13.4, 14.9, 20.9, 31.3, 11.9, 7.5],
        2: [10.5, 7.5, 16.4, 46.2, 17.9, 1.5],
        3: [6.0, 3.0, 10.4, 47.8, 25.3, 7.5],
    }
    for number, row in table.items():
        levels = data.loc[data["round"] == number, "level"].astype(int)
        shares = levels.value_counts(normalize=True).reindex(range(-1, 5), fill_value=0)
        assert 100 * shares.to_numpy() == pytest.approx(row, abs=5.5)


def test_learners_mostly_go_in_the_better_direction(sessions) -> None:
    """73 % of the changes: the part that is judged leaves winners and clipped picks out."""
    of_mind = sessions("classical:learning_direction")
    shares = [
        direction_share(agents["choice"].to_numpy(dtype=float).reshape(-1, 17), data["mean"])
        for data, agents in of_mind
    ]

    assert np.mean(shares) == pytest.approx(0.73, abs=0.03)
    assert all(later < earlier for earlier, later in pairwise(mean_path(of_mind)))


def test_a_learner_moves_half_of_the_way_to_what_was_optimal() -> None:
    """The factor was x/50, optimal was 20/50; the next pick is the new one of 30."""
    model = played(
        minds=[LearningDirection("a"), ScriptedMind(lambda _: "30", "b"), "fixed:30"], n_rounds=2
    )
    (first, *_), (second, *_) = by_round(model, "choice")
    mean = (first + 60) / 3
    gap = (2 / 3 * mean - first) / 50
    ways = [mean * (first / 50 + way * gap) for way in (0.5, -0.5)]

    assert min(abs(second - way) for way in ways) < 1e-9


def test_players_of_a_level_scatter_around_it() -> None:
    """Log standard deviation ln(3/2)/4; all levels are drawn from a Poisson distribution."""
    model = played(n_players=1500, n_rounds=1, minds="classical:level_k")
    depth = model.agent_frame()["depth"]
    of_level = [(depth.round() == k).mean() for k in range(4)]

    assert of_level == pytest.approx([0.223, 0.335, 0.251, 0.126], abs=0.035)
    assert (depth - depth.round()).std() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("k", range(4))
def test_players_of_a_certain_level_have_no_noise(k) -> None:
    model = played(minds=f"classical:level_{k}", n_rounds=2)

    assert model.agent_frame()["depth"].to_numpy() == pytest.approx(np.full(6, k), abs=1e-9)


def test_the_best_reply_knows_the_others_where_it_is_told() -> None:
    """Others pick 30: the reply is p (M − 1)/(M − p) of it, without its own weight."""

    def second(**more):
        minds = ["classical:best_reply", "fixed:30", "fixed:30", "fixed:30"]
        model = played(n_players=4, n_rounds=2, minds=minds, **more)
        return by_round(model, "choice")[1][0]

    weight = 2 / 3 * 3 / (4 - 2 / 3)
    assert second() == pytest.approx(30 * weight)
    first = 50 * weight
    assert second(revealed="mean") == pytest.approx((90 + first) / 4 * weight)
    assert second(window=0) == pytest.approx(first)
    assert played(minds="classical:best_reply", p=3, n_rounds=1).mean == 100


@pytest.mark.parametrize("n", [2, 3, 100])
def test_any_number_of_players(n) -> None:
    model = played(n_players=n, n_rounds=2, minds="classical")

    assert len(model.agent_frame()) == 2 * n
    assert model.n_winners >= 1


def test_types_are_told_apart_in_the_data() -> None:
    model = played(n_players=4, minds={"classical": 2, "fixed:0": 2}, n_rounds=2)
    frame, measures = model.agent_frame(), model.end_measures()

    assert list(frame["mind"]) == ["classical", "classical", "fixed:0", "fixed:0"] * 2
    paid = frame.groupby("mind")["payoff"].mean()
    assert measures["payoff_by_type"] == pytest.approx(paid.to_dict())
    assert measures["choice_by_type"]["fixed:0"] == 0
