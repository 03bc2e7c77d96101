"""Names of columns, numbers and minds."""

import numpy as np
import pytest

from sabm_mesa import (
    BertrandCompetition,
    CocktailParty,
    EmergencyEvacuation,
    Fishery,
    KeynesianBeautyContest,
    RepeatedBeautyContest,
    SentenceMaking,
)
from sabm_mesa.runs.run import run_all
from sabm_mesa.visualization.labels import (
    counting,
    in_words,
    name_of,
    names_in,
    number,
    round_of,
    titles_of,
    who_would_decide,
)


@pytest.mark.parametrize(
    ("scenario", "column", "title"),
    [
        (KeynesianBeautyContest, "n_winners", "Winners"),
        (KeynesianBeautyContest, "target", "Target (⅔ of the mean)"),
        (KeynesianBeautyContest, "variance", "Variance (picks squared)"),
        (RepeatedBeautyContest, "target", "Target (p × mean)"),
        (SentenceMaking, "variance", "Variance of the sentence vectors (0 to 1)"),
        (BertrandCompetition, "price_2", "Price of Gill"),
        (BertrandCompetition, "price_3", "Price of 3"),
        (BertrandCompetition, "price", "Price"),
        (BertrandCompetition, "price_messages", "Messages on prices"),
        (EmergencyEvacuation, "escaped_left", "Escaped, left (people)"),
        (Fishery, "target", "Target"),
        (Fishery, "round", "Round (from 0)"),
        (Fishery, "some_new_column", "Some new column"),
        (Fishery, "n_new", "New"),
        (Fishery, "x", "x"),
    ],
)
def test_columns_have_the_titles_of_their_scenario(scenario, column, title):
    assert titles_of(scenario())[column] == title


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("scenario", "first"),
    [(KeynesianBeautyContest, "round 1"), (Fishery, "month 1"), (SentenceMaking, "word set 1")],
)
def test_rounds_are_called_as_in_the_plots(scenario, first):
    assert round_of(scenario(), 0) == first
    runs = run_all(scenario, {"n_rounds": 2}, seed=1)
    labels = {ax.get_xlabel() for figure in runs.figures().values() for ax in figure.axes}
    assert first.rpartition(" ")[0].capitalize() in {each.removesuffix(" k") for each in labels}


def test_people_count_the_rounds_that_they_decide():
    market = BertrandCompetition(n_rounds=3, communication=False, recording=False)
    while market.running:
        market.step()
    columns, rows = in_words(market, market.model_frame()[["round", "price_1"]])

    assert counting(market) == ("round", 0)
    assert columns == ["Round", "Price of Ed"]
    assert [row[0] for row in rows] == ["Before the first round", "1", "2"]
    assert [round_of(market, each) for each in range(3)] == [
        "before the first round", "round 1", "round 2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1 / 3, "0.3333"),
        (12345.678, "12,346"),
        (0.00001234, "1.234e-05"),
        (float("nan"), "–"),
        (None, "–"),
        (7, "7"),
        (True, "yes"),
        (np.False_, "no"),
        (np.float64(2.0), "2"),
        ("left", "left"),
    ],
)
def test_numbers_are_short(value, shown):
    assert number(value) == shown


def test_agents_have_one_name():
    firms = BertrandCompetition(rng=1, n_rounds=1, recording=False)
    assert [name_of(firms, agent) for agent in (1, 2)] == ["Ed", "Gill"]
    players = KeynesianBeautyContest(rng=1, n_players=2, recording=False)
    assert name_of(players, 2) == "Player 2"
    assert name_of(players, "Kate") == "Kate"
    assert not names_in(players)
    guests = CocktailParty(n_agents=2, recording=False)
    assert [name_of(guests, agent) for agent in (1, 2)] == ["L1", "L2"]


def test_who_would_decide():
    assert who_would_decide("classical", "player") == (
        "Classical behavioural rules decide (classical): no language model.", "free"
    )  # fmt: skip
    sentence, kind = who_would_decide("llm:a", "player")
    assert (sentence, kind) == (
        "Language model a decides for all players: answers may cost money.", "paid"
    )  # fmt: skip
    sentence, kind = who_would_decide({"llm:a": 1, "fixed:3": "many"}, "firm")
    assert kind == "paid"
    assert "Language model a for 1" in sentence
    sentence, kind = who_would_decide("gguf:small.gguf", "player")
    assert sentence.startswith("Language model small.gguf decides for all players: ")
    assert (sentence.endswith("and costs nothing."), kind) == (True, "free")
    assert who_would_decide({"llm:a": 1, "gguf:small.gguf": 1}, "firm")[1] == "paid"
