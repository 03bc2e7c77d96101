"""The observations and prompts of the players of the repeated beauty contest."""

import math
import re

import pytest

from sabm_mesa import ScriptedMind
from sabm_mesa.models.beauty_contest.repeated.agents import (
    Notice,
    PlayedRound,
    known_mean,
    reference,
)
from tests.models.beauty_contest.repeated.support import contest, played
from tests.models.beauty_contest.support import MEAN, follow


# Knowledge of earlier rounds.
def asked_in(answer=follow, **more):
    """Round, question and player → the facts, the system text and the question."""
    asked = {}

    def noting(ask):
        system, question = ask.messages()[:2]
        place = ask.key.round, ask.name, ask.key.agent
        asked[place] = (ask.facts, system["content"], question["content"])
        return answer(ask)

    played(noting, **{"answer_format": "paper"} | more)
    return asked


HISTORY = """Earlier rounds:
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

Now choose your number for round 4. On the first line give your reasoning in at most 60 words. \
On the second line write a number from 0 to 100 and nothing else."""


def test_players_are_told_all_earlier_rounds() -> None:
    asked = asked_in()

    assert asked[3, "act", 2][2] == HISTORY
    assert asked[0, "act", 2][2].startswith("Earlier rounds:\n(nothing)\n\n")
    for k in range(4):
        assert [past["round"] for past in asked[k, "act", 1][0].past] == list(range(k))


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
        assert [past["round"] for past in game.past] == rounds
        assert re.findall(r"^Round (\d)$", question, re.MULTILINE) == [str(r + 1) for r in rounds]
        assert reference(game) == pytest.approx(MEAN[k - 1] if rounds else 50)
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
    past = game.past[0] if names else dict.fromkeys(PlayedRound._fields)
    for name in ("choices", "mean", "target", "winners"):
        assert (past[name] is not None) == (name in names)
    assert past["payoffs"] is None
    assert game.own == (((10, 0),) if "own" in names else ())
    known = names & {"choices", "mean", "target"}
    assert reference(game) == pytest.approx(30 if known else 50)


def test_a_round_without_picks_is_told_as_such() -> None:
    revealed = "choices,mean,target,winners,own"
    asked = asked_in(lambda ask: "" if ask.key.round == 0 else "5", n_rounds=2, revealed=revealed)
    question = asked[1, "act", 1][2]

    for line in (
        "- Numbers: you none, Player #2 none, Player #3 none", "- Average: none",
        "- Target: none", "- Won by: none", "- Your number: none; you received 0 points",
    ):  # fmt: skip
        assert line in question
    assert reference(asked[1, "act", 1][0]) == 50


def test_the_mean_follows_from_what_is_revealed() -> None:
    def mean(*revealed):
        return known_mean(PlayedRound(0, *revealed, None)._asdict(), p=0.5)

    assert mean((10, None, 20), None, None, None) == 15
    assert mean(None, None, 10, None) == 20
    assert mean(None, 7, 10, None) == 7
    assert mean((None,), math.nan, math.nan, ()) is None
    assert mean(None, None, None, (1,)) is None


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (2 / 3, "two thirds of"), (0.5, "one half of"), ("4/3", "four thirds of"),
        (0.7, "0.7 times"), (0.667, "0.667 times"), (1, "1 times"),
    ],
)  # fmt: skip
def test_p_in_words(p, words) -> None:
    assert f"The target of the round is {words} the average" in asked_in(p=p)[0, "act", 1][1]


SOME = "- Some of the other players follow a fixed strategy: they choose"


@pytest.mark.parametrize("variant", ["default", "reworded_1"])
@pytest.mark.parametrize(
    ("told", "line"),
    [
        ({}, f"{SOME} 0 in every round."),
        ({"told_number": False}, f"{SOME} the same number in every round."),
        ({"told_count": True}, SOME.replace("players", "players, 3 in number,") + " 0 in"),
        (
            {"told_count": True, "told_number": False},
            SOME.replace("players", "players, 3 in number,") + " the same number in every round.",
        ),
        ({"notice": False, "told_count": True}, ""),
    ],
)
def test_the_notice_of_fixed_opponents(told, line, variant) -> None:
    systems = {}

    def answer(ask):
        systems[ask.key.agent] = ask.messages()[0]["content"]
        return "10"

    def prompts(minds):
        systems.clear()
        played(n_players=5, n_rounds=1, minds=minds, variant=variant, **told)
        return dict(systems)

    one = ScriptedMind(answer)
    mixed = prompts({one: 2, "fixed:0": 3})
    for text in mixed.values():
        assert line in text
        assert ("fixed strategy" in text) == bool(line)
    assert not any("fixed strategy" in text for text in prompts({one: 5}).values())


def test_fixed_opponents_with_different_numbers() -> None:
    model = contest(n_players=4, minds={"classical": 1, "fixed:50": 1, "fixed:0": 2})
    notice = model.book.render("fixed", model.players[0].facts())

    assert notice.endswith("chooses the same one of these numbers in every round: 0, 50.")
    unusable = contest(minds={"classical": 2, "fixed:none": 1})
    assert unusable.notice_to(unusable.players[0]) == Notice(None, None)


def test_nobody_is_told_of_oneself_as_fixed() -> None:
    model = contest(minds={"classical": 2, "fixed:0": 1}, told_count=True)

    assert [model.notice_to(player) for player in model.players] == [
        Notice((0,), 1), Notice((0,), 1), None,
    ]  # fmt: skip


def test_the_baseline_gives_no_hint_in_anything_that_is_sent() -> None:
    for variant in ("default", "reworded_1"):
        asked = asked_in(elicited, variant=variant, elicitation="full")
        sent = " ".join(" ".join(each[1:]) for each in asked.values())
        assert not re.search(
            r"beauty|contest|keynes|nash|equilib|level|reason about|others think|converge|iterat",
            sent, re.IGNORECASE,
        )  # fmt: skip


# Elicitation of reasons.
def elicited(ask):
    return {
        "understand": "The closest one wins.\n- Average: 0",
        "goal": f"To win round {ask.key.round + 1}.",
        "act": follow(ask),
    }[ask.name]


def test_full_elicitation_asks_for_rules_once_and_for_a_goal_in_each_round() -> None:
    asked = asked_in(elicited, elicitation="full")
    places = {(k, name) for k, name, _ in asked}
    others = {(k, name) for k in range(4) for name in ("goal", "act")}
    assert places == {(0, "understand"), *others}

    for (k, name, _), (game, _, question) in asked.items():
        # Its words cannot pass for a line of the history.
        rules = "The rules in your own words: The closest one wins. - Average - 0"
        goal = f"Your goal in this round, in your own words: To win round {k + 1}."
        assert (rules in question) == (name != "understand")
        assert (goal in question) == (name == "act")
        assert ("goal" in game) == (name == "act")
    model = played(elicited, elicitation="full")
    assert (model.total.asks, model.total.invalid) == (3 + 4 * 3 * 2, 1)
    assert model.critical_path_asks == 1 + 2 + 2 + 4 + 2
