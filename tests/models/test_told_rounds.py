"""The sentences that people of a class game read of a round that is over, before any table."""

import pytest

from sabm_mesa import (
    BertrandCompetition,
    CocktailParty,
    EmergencyEvacuation,
    FiniteGame,
    Fishery,
    KeynesianBeautyContest,
    PublicGoods,
    RepeatedBeautyContest,
    ScriptedMind,
)
from sabm_mesa.core.phrases import ordinal
from sabm_mesa.models.declarations import ToldRound
from sabm_mesa.visualization.labels import name_of


def played(model, agent):
    """The last round, as an agent is told of it."""
    agents = model.agent_frame()
    return ToldRound(
        model, agent, dict(model.model_frame().iloc[-1]),
        agents[agents["round"] == model.round], lambda a: name_of(model, a),
    )  # fmt: skip


def told(model, agent):
    """The sentences on the last round."""
    return list(model.class_game.told(played(model, agent)))


def picture(model, agent):
    """The small picture of the last round."""
    return model.class_game.picture(played(model, agent))


def scripts(*answers):
    return {ScriptedMind(list(each)): 1 for each in answers}


def test_a_contest_tells_the_target_the_winner_and_the_own_place():
    minds = scripts(["24"], ["30"], ["60"], ["100"])  # mean 53.5, two thirds of it 35.67
    contest = RepeatedBeautyContest(n_players=4, n_rounds=1, minds=minds, rng=1)
    contest.run_model()

    assert told(contest, 1) == [
        "The target was 35.67.", "Player 2 won with 30.", "You were 2nd of 4.",
    ]  # fmt: skip
    assert told(contest, 2)[1:] == ["You won with 30.", "You were 1st of 4."]


def test_a_contest_tells_nothing_that_it_does_not_reveal():
    contest = RepeatedBeautyContest(n_players=3, n_rounds=1, revealed="mean", rng=1)
    contest.run_model()
    assert told(contest, 1) == []
    contest = RepeatedBeautyContest(n_players=3, n_rounds=1, revealed="target", rng=1)
    contest.run_model()
    assert not any("won" in line for line in told(contest, 1))


def test_a_tie_names_its_number():
    contest = RepeatedBeautyContest(
        n_players=3, n_rounds=1, minds=scripts(["24"], ["24"], ["60"]), rng=1
    )
    contest.run_model()
    assert told(contest, 3)[1:] == ["2 players won with 24.", "You were 3rd of 3."]


def test_picks_harvests_choices_and_talks_are_told():
    contest = KeynesianBeautyContest(n_players=3, n_rounds=1, minds="fixed:30", rng=1)
    contest.run_model()
    assert told(contest, 1) == [
        "The target was 20.", "3 players won with 30.", "You were 1st of 3.",
    ]  # fmt: skip

    lake = Fishery(n_agents=2, n_rounds=1, minds="classical:sustainable", rng=1)
    lake.run_model()
    taken = lake.harvesters[0].harvest
    assert told(lake, 1) == [
        f"You took {taken} tons of fish; all together took {lake.harvest}.",
        f"{lake.left} were left, which grow to {min(100, 2 * lake.left)}.",
    ]
    emptied = Fishery(n_agents=2, n_rounds=1, minds="classical:open_access", rng=1)
    while emptied.running:
        emptied.step()
    last = dict(emptied.model_frame().iloc[-1]) | {"left": 1}
    row = emptied.agent_frame()
    played = ToldRound(emptied, 1, last, row[row["round"] == emptied.round], str)
    lines = emptied.class_game.told(played)
    assert lines[-1] == "Only 1 were left, less than 5: nothing grows back."

    game = FiniteGame(n_players=2, n_rounds=1, rng=1)
    game.run_model()
    own, other = game.agent_frame()["choice"]
    earned = game.agent_frame()["payoff"].iloc[0]
    assert told(game, 1) == [
        f"You chose {own}, and the other chose {other}.", f"You earned {earned:.4g}.",
    ]  # fmt: skip

    party = CocktailParty(n_agents=4, n_rounds=1, rng=1)
    party.run_model()
    met = str(party.agent_frame()["partners"].iloc[0]).split()
    names = [name_of(party, int(agent)) for agent in met]
    expected = f"You talked with {', '.join(names)}." if met else "You talked with nobody."
    assert told(party, 1) == [expected]


def test_firms_read_prices_and_their_own_profit_alone():
    market = BertrandCompetition(
        n_rounds=2, communication=False, told_range=True, minds=scripts(["7"], ["6"]), rng=1
    )
    market.run_model()
    first, second = market.firms

    assert told(market, 1) == [
        "You asked 7, and Gill asked 6.",
        f"You sold {first.demand:.0f} and earned {5 * first.demand:,.0f}.",
    ]
    assert f"{second.profit:.4g}" not in " ".join(told(market, 1))


def test_a_pot_and_a_room_are_told():
    pot = PublicGoods(n_players=2, n_rounds=1, minds=scripts(["4"], ["8"]), rng=1)
    pot.run_model()
    assert told(pot, 1)[0] == "You put 4 into the pot; the mean of all was 6."
    late = PublicGoods(n_players=2, n_rounds=1, minds=scripts(["?"], ["8"]), rng=1, max_attempts=1)
    late.run_model()
    kept = (
        f"No answer in time: you kept your {late.endowment:g} dollars and had no share of the pot."
    )
    assert told(late, 1) == [kept]
    room = EmergencyEvacuation(n_people=2, n_rounds=1, width=9, height=9, rng=1)
    room.run_model()
    assert told(room, 1) == ["0 of 2 are out of the room.", "You did not get out."]


@pytest.mark.parametrize(
    ("n", "words"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (12, "12th"), (41, "41st")]
)
def test_places_in_words(n, words):
    assert ordinal(n) == words


def test_rounds_have_small_pictures():
    minds = scripts(["24"], ["30"], ["60"], ["100"])
    contest = RepeatedBeautyContest(n_players=4, n_rounds=1, minds=minds, rng=1)
    contest.run_model()
    marks = {mark["label"]: mark["at"] for mark in picture(contest, 1)["marks"]}
    assert marks == pytest.approx(
        {"last mean": 53.5, "last target": 53.5 * 2 / 3, "your last pick": 24}
    )

    pot = PublicGoods(n_players=2, group_size=2, n_rounds=1, minds=scripts(["4"], ["8"]), rng=1)
    pot.run_model()
    shared = picture(pot, 1)
    assert shared["share"] == pytest.approx(12 * pot.multiplier / 2)
    assert shared["parts"] == 2


def test_the_path_out_of_a_room_is_compared_with_the_nearest_exit():
    room = EmergencyEvacuation(n_people=4, n_rounds=20, width=9, height=9, rng=1)
    room.run_model()
    mine = room.agent_frame().query("agent == 1").dropna(subset=["x"])
    cells = list(zip(mine["x"].astype(int), mine["y"].astype(int), strict=True))
    assert [tuple(reversed(cell)) for cell in picture(room, 1)["path"]] == cells
    nearest = min(float(steps[cells[0]]) for steps in room.room.steps)
    assert told(room, 1)[-1] == (
        f"After the first round an exit was {nearest:.0f} steps away; you took {len(cells) - 1}."
    )


@pytest.mark.parametrize(
    ("model", "began", "ended", "key"),
    [
        (BertrandCompetition, 6.0, 7.1, "market.near_cartel"),
        (BertrandCompetition, 8.0, 6.9, "market.near_competition"),
        (Fishery, 10.1, 0.0, "share.too_much"),  # of 100 fish, 5 people may take 10 each
        (Fishery, 10.0, 20.0, "share.enough"),
        (PublicGoods, 10.0, 9.9, "pot.fell"),
        (PublicGoods, 10.0, 10.0, "pot.held"),
    ],
)
def test_the_debrief_says_where_decisions_went(model, began, ended, key):
    course = model.class_game.debrief.course(model(rng=1), began, ended)

    assert course.key == key
    assert (course.values["began"], course.values["ended"]) == (began, ended)
