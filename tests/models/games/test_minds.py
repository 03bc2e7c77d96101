"""Classical minds of finite games against scripted ones: whole trajectories, by hand."""

import numpy as np
import pytest

from sabm_mesa import FiniteGame, ScriptedMind
from sabm_mesa.models.games.minds import CLASSICAL

C, D = "cooperate", "defect"


def says(*choices):
    """A mind that plays these labels, one a round."""
    return ScriptedMind(lambda ask: choices[ask.key.round])


def played(first, second, n_rounds=6, **given):
    model = FiniteGame(minds=[first, second], n_rounds=n_rounds, rng=3, **given)
    model.run_model()
    data = model.agent_frame()
    return [list(data[data["agent"] == k]["choice"]) for k in (1, 2)], model


@pytest.mark.parametrize(
    ("mind", "other", "own"),
    [
        ("tit_for_tat", "BABBAA", [C, D, C, D, D, C]),
        ("grim", "AABAAA", [C, C, C, D, D, D]),
        # 3 and 5 are at least the mean of all four payoffs, 2.25; 0 and 1 are not.
        ("win_stay_lose_shift", "ABBAAB", [C, C, D, C, C, C]),
        ("default", "AAAAAA", [D] * 6),
        ("fictitious_play", "AAAAAA", [D] * 6),
        ("level_1", "AAAAAA", [D] * 6),
        ("level_2", "AAAAAA", [D] * 6),
        ("altruist", "BBBBBB", [C] * 6),
    ],
)
def test_a_dilemma_against_a_script(mind: str, other: str, own: list[str]) -> None:
    (mine, theirs), _ = played(f"classical{'' if mind == 'default' else f':{mind}'}", says(*other))

    assert mine == own
    assert theirs == [C if choice == "A" else D for choice in other]


def test_tit_for_tat_and_a_defector_score_as_in_the_tournaments() -> None:
    """Ten rounds: 0 and then 9 times 1 for tit for tat, 5 and 9 times 1 for the defector."""
    _, model = played("classical:tit_for_tat", "fixed:B", n_rounds=10)
    sums = model.agent_frame().groupby("agent")["payoff"].sum()

    assert sums.to_dict() == {1: 9.0, 2: 14.0}
    _, model = played("classical:tit_for_tat", "classical:grim", n_rounds=10)
    assert set(model.agent_frame().groupby("agent")["payoff"].sum()) == {30.0}


def test_best_reply_and_fictitious_play_in_a_game_with_lots() -> None:
    """Matching pennies: player 1 wants to match, player 2 not to; the first of equals is taken."""
    game = {"game": "matching_pennies", "n_rounds": 5}
    (mine, _), _ = played("classical", says(*"BBABA"), **game)
    assert mine == ["heads", "tails", "tails", "heads", "tails"]
    # Counts of tails and heads, half a game each at first: 0.5:0.5, 0.5:1.5, 0.5:2.5, 1.5:2.5, ….
    (mine, _), _ = played("classical:fictitious_play", says(*"BBAAA"), **game)
    assert mine == ["heads", "tails", "tails", "tails", "heads"]


def test_levels_take_other_options() -> None:
    """Against draws the hare pays 3 and the stag 2; level 2 replies to a hare with a hare."""
    (one, two), _ = played("classical:level_1", "classical:level_2", game="stag_hunt")
    assert set(one) == set(two) == {"hare"}
    # Against a dove and a hawk in equal shares the dove pays 1 and the hawk 1.5.
    (one, two), _ = played("classical:level_1", "classical:level_2", game="chicken")
    assert (set(one), set(two)) == ({"hawk"}, {"dove"})


def test_inequity_averse_players_draw_the_published_types() -> None:
    model = FiniteGame(n_players=400, minds="classical:inequity_averse", n_rounds=1, rng=1)
    model.run_model()
    weights = [player.mind.weights for player in model.players]
    shares = [weights.count(pair) / 400 for pair in ((0, 0), (0.5, 0.25), (1, 0.6), (4, 0.6))]

    assert np.abs(np.array(shares) - (0.3, 0.3, 0.3, 0.1)).max() < 0.06
    # Half the others cooperate as it seems at first: 1.5 − 0.3 · 2.5 … : nobody cooperates then.
    assert {player.choice for player in model.players} == {"defect"}


def test_logit_takes_worse_options_less_often() -> None:
    model = FiniteGame(n_players=400, minds="classical:logit", n_rounds=1, rng=1)
    model.run_model()
    # Expected 1.5 and 3, a spread of 5, a precision of 10: 1 / (1 + e³) = 0.047.
    assert model.share_cooperate == pytest.approx(0.047, abs=0.025)


@pytest.mark.parametrize("name", CLASSICAL)
@pytest.mark.parametrize("game", ["three_player_dilemma", "inspection"])
def test_every_mind_plays_games_of_three_and_of_unlike_players(name: str, game: str) -> None:
    spec = "classical" if name == "default" else f"classical:{name}"
    model = FiniteGame(game=game, minds=spec, n_rounds=3, rng=1, talk=True)
    model.run_model()

    assert model.total.invalid == 0
    assert model.absent == 0


def test_options_in_another_order_under_other_names_are_the_same_game() -> None:
    plain = FiniteGame(minds="classical:tit_for_tat", rng=1)
    other = FiniteGame(
        minds="classical:tit_for_tat", rng=1, labels="invented", option_order="reversed",
        currency="crowns", scale=7.0,
    )  # fmt: skip
    for model in (plain, other):
        model.run_model()

    assert list(plain.agent_frame()["choice"]) == list(other.agent_frame()["choice"])
    assert other.payoff == 7 * plain.payoff
    assert other.efficiency == plain.efficiency


# Games in turns.


def moves(first, second, game, n_rounds=1, **given):
    model = FiniteGame(game=game, minds=[first, second], n_rounds=n_rounds, rng=3, **given)
    model.run_model()
    return [play.path for play in model.players[0].plays], model


def test_a_proposer_that_expects_reason_learns_what_is_rejected() -> None:
    """It expects selfish answers where it has seen none, and repeats of those that it has seen."""

    def answer(ask):
        return "A" if ask.facts.path[0] >= 3 else "B"

    paths, model = moves("classical", ScriptedMind(answer), "ultimatum", 6)

    assert paths == [(0, 1), (1, 1), (2, 1), (3, 0), (3, 0), (3, 0)]
    assert [player.payoff for player in model.players] == [7.0, 3.0]
    assert list(model.model_frame()["equilibrium"]) == [0.0] * 6


def test_selfish_players_take_the_subgame_perfect_courses() -> None:
    assert moves("classical", "classical", "ultimatum")[0] == [(0, 0)]
    assert moves("classical", "classical", "trust")[0] == [(0, 0)]
    assert moves("classical", "classical", "dictator")[0] == [(0,)]
    paths, model = moves("classical", "classical", "centipede")
    assert paths == [(0,)]
    assert [player.payoff for player in model.players] == [40.0, 10.0]
    assert model.equilibrium == 1.0


def test_levels_pass_in_the_centipede() -> None:
    """Level 1: 160 now or (80 + 640) / 2 at its second move, so it passes; level 2 waits for it."""
    paths, model = moves("classical:level_1", "classical:level_2", "centipede")

    assert paths == [(1, 1, 1, 0)]
    assert [player.payoff for player in model.players] == [80.0, 320.0]
    assert model.players[0].choice == "pass pass"
    assert (model.share_take, model.share_pass) == (0.25, 0.75)


def test_altruists_send_all_and_envy_rejects() -> None:
    assert moves("classical:altruist", "fixed:0", "trust")[0] == [(10, 0)]
    _, model = moves("fixed:1", "classical:inequity_averse", "ultimatum", 1, n_players=2)
    mind = model.players[1].mind
    # 1 of 10: accepting is worth 1 − α · 8, rejecting 0.
    accepts = 1 - mind.weights[0] * 8 > 0
    assert model.players[1].choice == ("accept" if accepts else "reject")


def test_conditional_players_of_games_in_turns() -> None:
    paths, _ = moves("classical:grim", says_in_turn(10, 10, 10), "dictator", 3)
    assert paths == [(0,)] * 3  # all gifts have the same sum: the first one is taken
    paths, _ = moves("classical:tit_for_tat", ScriptedMind(lambda ask: "AAB"[ask.key.round]),
                     "centipede", 3)  # fmt: skip
    assert paths == [(1, 0), (0,), (1, 1, 1, 1)]  # nobody was not nice in the second one


def says_in_turn(*amounts):
    return ScriptedMind(lambda ask: str(amounts[ask.key.round]))


# Amounts.


def amounts(first, other, game, n_rounds=4):
    model = FiniteGame(game=game, minds=[first, says_in_turn(*other)], n_rounds=n_rounds, rng=1)
    model.run_model()
    data = model.agent_frame()
    return list(data[data["agent"] == 1]["choice"]), model


def test_quantities_and_claims_by_hand() -> None:
    # The best reply to q is (42 − 6 − q) / 2; to draws from 0 to 24 it is that to 12.
    assert amounts("classical", (6, 0, 24, 12), "cournot")[0] == [12, 15, 18, 6]
    assert amounts("classical", (50, 99, 2, 2), "travelers_dilemma")[0][1:] == [49, 98, 2]
    assert amounts("classical", (20, 19, 11, 11), "eleven_twenty")[0] == [19, 19, 18, 20]
    assert amounts("classical:level_2", (20,) * 4, "eleven_twenty")[0] == [18] * 4
    assert amounts("classical:tit_for_tat", (15, 16, 17, 18), "eleven_twenty")[0] == [
        19,
        15,
        16,
        17,
    ]
    _, model = amounts("classical", (12, 12, 12, 12), "cournot")
    assert list(model.model_frame()["equilibrium"]) == [1.0] * 4
    assert model.payoff == 144.0  # (42 − 24 − 6) · 12


def test_effort_follows_the_smallest_one() -> None:
    minds = ["classical", *(ScriptedMind(lambda ask: "74"[ask.key.round]) for _ in range(3))]
    model = FiniteGame(game="minimum_effort", minds=minds, n_rounds=2, rng=1)
    model.run_model()

    assert model.players[0].choice == 7.0  # the best reply to three times 7
    assert model.players[0].payoff == 60 + 20 * 4 - 10 * 7
