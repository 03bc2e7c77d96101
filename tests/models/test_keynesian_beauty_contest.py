"""The Keynesian beauty contest: whole runs with numbers computed by hand."""

import asyncio
import math
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest

from sabm_mesa import KeynesianBeautyContest, Reply, ScriptedMind
from sabm_mesa.agents.keynesian_beauty_contest import Message
from sabm_mesa.minds.classical.keynesian_beauty_contest import CognitiveHierarchy, LevelK
from sabm_mesa.usage import Failures

from .support import Late, assert_same, batch, frames

# Picks of three players in four rounds; the third one's answers of round 2 cannot be read.
PICKS = [(10, 20, 60), (30, 30, 30), (12, 28, None), (0, 40, 50)]
TALK = {1: "Let us all take 30.", 2: "I agree.", 3: "We will see."}
MEAN = [30, 30, 20, 30]
TARGET = [20, 20, 40 / 3, 20]
VARIANCE = [1400 / 3, 0, 64, 1400 / 3]
WON = [(0, 1, 0), (1, 1, 1), (1, 0, 0), (1, 1, 0)]
LEVEL = [(4, 2, -1), (1, 1, 1), (4, 1, None), (4, 1, 0)]
PAYOFF = {
    "independent": [(0, 100, 0), (100, 100, 100), (100, 0, 0), (100, 100, 0)],
    "amplified": [(0, 100, 0), (300, 300, 300), (100, 0, 0), (200, 200, 0)],
    "exclusive": [(0, 100, 0), (0, 0, 0), (100, 0, 0), (0, 0, 0)],
}


def follow(ask):
    """The script: the talk and the picks above."""
    if ask.name == "communicate":
        return TALK[ask.key.agent]
    pick = PICKS[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if pick is None else f"Because.\n{pick}"


def contest(answer=follow, **given):
    return KeynesianBeautyContest(
        **{"n_players": 3, "minds": ScriptedMind(answer), "rng": 7, **given}
    )


def played(**given):
    model = contest(**given)
    model.run_model()
    return model


def by_round(model, column):
    frame = model.agent_frame()
    values = [tuple(frame[frame["round"] == k][column]) for k in range(4)]
    return [tuple(None if pd.isna(each) else each for each in row) for row in values]


@pytest.mark.parametrize("rule", PAYOFF)
def test_a_whole_run(rule) -> None:
    model = played(reward_rule=rule)
    frame = model.model_frame()

    assert list(frame["round"]) == [0, 1, 2, 3]
    assert list(frame["mean"]) == pytest.approx(MEAN)
    assert list(frame["target"]) == pytest.approx(TARGET)
    assert list(frame["variance"]) == pytest.approx(VARIANCE)
    assert list(frame["n_winners"]) == [sum(won) for won in WON]
    assert list(frame["asks"]) == [3, 6, 6, 6]
    assert list(frame["invalid"]) == [0, 0, 1, 0]
    assert by_round(model, "choice") == PICKS
    assert by_round(model, "won") == WON
    assert by_round(model, "level") == LEVEL
    assert by_round(model, "payoff") == PAYOFF[rule]
    assert set(model.agent_frame()["mind"]) == {"scripted"}
    assert not model.running
    assert (model.total.asks, model.total.reasks) == (21, 2)
    assert model.critical_path_asks == 1 + (3 + 1) + (3 + 3) + (3 + 1)


def test_the_data_have_the_columns_of_the_design() -> None:
    model = played()

    assert list(model.model_frame(5).columns) == [
        "run", "round", "mean", "target", "variance", "n_winners", "agreement",
        "asks", "invalid", "reasks", "retries", "refused", "truncated",
        "prompt_tokens", "completion_tokens", "cost_usd",
    ]  # fmt: skip
    assert list(model.agent_frame(5).columns) == [
        "run", "round", "agent", "mind", "choice", "won", "payoff", "level", *Failures._fields,
    ]  # fmt: skip
    assert set(model.model_frame(5)["run"]) == set(model.agent_frame(5)["run"]) == {5}
    assert model.end_measures()["variance"] == pytest.approx(1400 / 3)


def test_agreement_is_the_share_of_messages_that_agree() -> None:
    agreement = list(played().model_frame()["agreement"])

    assert math.isnan(agreement[0])
    assert agreement[1:] == pytest.approx([1 / 3] * 3)


def test_a_run_ends_by_itself_and_a_step_after_it_changes_nothing() -> None:
    model = played(n_rounds=2)
    before = model.model_frame()
    model.step()

    assert model.round == 1
    pd.testing.assert_frame_equal(model.model_frame(), before)


def test_when_nobody_can_be_read_nobody_wins() -> None:
    model = played(answer=lambda _: "", n_rounds=2)
    frame = model.model_frame()

    assert frame[["mean", "target", "variance", "agreement"]].isna().all(axis=None)
    assert list(frame["n_winners"]) == [0, 0]
    assert list(frame["invalid"]) == [3, 6]
    assert model.said == []
    assert set(model.agent_frame()["payoff"]) == {0}
    assert model.agent_frame()[["choice", "level"]].isna().all(axis=None)


def test_a_pick_does_not_outlive_its_round() -> None:
    model = played(n_rounds=3)

    assert [player.choice for player in model.players] == [12, 28, None]
    assert [player.level for player in model.players] == [4, 1, None]


def test_an_unreadable_pick_is_not_a_zero() -> None:
    def answer(ask):
        return "none" if ask.key.agent == 1 else "90"

    model = played(answer=answer, n_rounds=1)

    assert (model.mean, model.target, model.n_winners) == (90, pytest.approx(60), 2)


def test_the_distance_to_the_target_is_compared_exactly() -> None:
    """With picks 0, 1 and 2 the target is 2/3: 1 is nearer (1/3) than 0 (2/3)."""
    near = played(answer=lambda ask: str(ask.key.agent - 1), n_rounds=1)
    # 0 and 40 are both 20 away from 20, and 0.666… is not a binary fraction.
    tie = played(answer=lambda ask: str((0, 40, 50)[ask.key.agent - 1]), n_rounds=1)

    assert [player.won for player in near.players] == [False, True, False]
    assert [player.won for player in tie.players] == [True, True, False]


# Who hears what.


@pytest.fixture
def heard():
    """Everything that was asked in a run of four players, by place."""
    asked = {}

    def answer(ask):
        asked[ask.key.round, ask.name, ask.key.agent] = (ask.observation, ask.messages())
        if ask.name == "communicate":
            return f"Player {ask.key.agent} speaks in round {ask.key.round}."
        return str(70 + ask.key.agent)

    model = played(answer=answer, n_players=4, rng=3)
    return model, asked


def test_nobody_speaks_in_the_first_round_and_everybody_in_the_others(heard) -> None:
    model, asked = heard

    assert {k for k in asked if k[1] == "communicate"} == set(
        product((1, 2, 3), ("communicate",), (1, 2, 3, 4))
    )
    assert {k for k in asked if k[1] == "act"} == set(product(range(4), ("act",), (1, 2, 3, 4)))
    assert len(model.said) == 12


def test_the_speaking_order_is_shuffled_every_round_by_the_seed(heard) -> None:
    model, _ = heard
    orders = [tuple(m.speaker for m in model.said if m.round == k) for k in (1, 2, 3)]

    assert all(sorted(order) == [1, 2, 3, 4] for order in orders)
    assert len(set(orders)) > 1
    other = played(answer=lambda _: "5", n_players=4, rng=4)
    assert [m.speaker for m in other.said] != [m.speaker for m in model.said]


def test_a_speaker_hears_all_that_was_said_before_and_nothing_else(heard) -> None:
    model, asked = heard

    for place, message in enumerate(model.said):
        observation, _ = asked[message.round, "communicate", message.speaker]
        assert observation.said == tuple(model.said[:place])
    for (k, name, _), (observation, _) in asked.items():
        if name == "act":
            assert observation.said == tuple(m for m in model.said if m.round <= k)


def test_own_lines_are_ones_own_and_others_have_their_numbers(heard) -> None:
    model, asked = heard

    for (_, _, player), (observation, (_, question)) in asked.items():
        lines = [
            f"{'You' if m.speaker == player else f'Player #{m.speaker}'}: "
            f"Player {m.speaker} speaks in round {m.round}."
            for m in observation.said
        ]
        shown = "\n".join(lines) or "(nothing yet)"
        assert f"What the players have said so far:\n{shown}\n\n" in question["content"]
        assert observation.player == player
    assert len(model.said) == 12


def test_nobody_sees_a_pick(heard) -> None:
    """Picks are 71 to 74, which no prompt names."""
    _, asked = heard

    for observation, messages in asked.values():
        assert not re.search(r"7[1-4]", "".join(m["content"] for m in messages))
        assert not hasattr(observation, "choice")


def test_a_speaker_who_cannot_be_read_says_nothing() -> None:
    def answer(ask):
        return "" if ask.name == "communicate" and ask.key.agent == 2 else "5"

    model = played(answer=answer, n_rounds=2)

    assert sorted(m.speaker for m in model.said) == [1, 3]
    assert list(model.model_frame()["invalid"]) == [0, 1]


def test_a_long_speech_is_cut_and_stays_on_one_line() -> None:
    def answer(ask):
        return "word\n" * 80 if ask.name == "communicate" else "5"

    model = played(answer=answer, n_rounds=2)

    assert model.said[0].text == "word " * 60 + "[…]"
    assert isinstance(model.said[0], Message)


# What the prompts say.


def prompts_of(**given):
    """Round, question and player → the system text and the question."""
    asked = {}

    def answer(ask):
        system, question = ask.messages()[:2]
        asked[ask.key.round, ask.name, ask.key.agent] = (system["content"], question["content"])
        return follow(ask)

    played(answer=answer, **given)
    return asked


MAY = "You may talk about anything, and you do not have to follow the ideas of others."
COOPERATE = "Use this talk to bring about cooperation among the players."
MUST = "You must cooperate with the other players."
DISLIKE = "You do not like to cooperate with the other players."


@pytest.mark.parametrize(
    ("condition", "talk", "act"),
    [("baseline", MAY, None), ("cooperative", COOPERATE, MUST), ("uncooperative", MAY, DISLIKE)],
)
def test_the_lines_of_a_condition_stand_in_their_questions_alone(condition, talk, act) -> None:
    lines = {MAY, COOPERATE, MUST, DISLIKE}
    for (_, name, _), (system, question) in prompts_of(condition=condition).items():
        expected = {talk if name == "communicate" else act} - {None}
        assert {line for line in lines if line in question} == expected
        assert not any(line in system for line in lines)


def test_the_baseline_gives_no_hint_in_anything_that_is_sent() -> None:
    sent = " ".join(" ".join(pair) for pair in prompts_of().values()).lower()

    assert not re.search(r"beauty|keynes|nash|cooperat|equilibri", sent)


def test_the_scenario_tells_the_rules_and_who_one_is() -> None:
    asked = prompts_of(reward_rule="exclusive")
    system, question = asked[0, "act", 2]

    assert "with 2 other players" in system
    assert "You are Player #2." in system
    assert "from 0 to 100" in system
    assert "two thirds of the average" in system
    assert "when there are several winners, nobody receives anything" in system
    assert question.endswith(
        "On the first line give your reasoning in one sentence. "
        "On the second line write an integer from 0 to 100 and nothing else."
    )
    assert asked[1, "communicate", 2][1].endswith(
        "Answer in at most 60 words, with the text alone."
    )
    assert len({asked[k, "act", 2][0] for k in range(4)}) == 1


def test_a_persona_enters_at_one_place() -> None:
    persona = "You are an anxious person: you worry easily"
    plain, with_persona = prompts_of(), prompts_of(personas=["none", "nervous", "none"])

    for place, (system, question) in with_persona.items():
        was_system, was_question = plain[place]
        assert question == was_question
        if place[2] == 2:
            added = [line for line in system.split("\n") if line not in was_system.split("\n")]
            assert len(added) == 1
            assert added[0].startswith(persona)
            assert system.replace(f"\n{added[0]}", "") == was_system
        else:
            assert system == was_system


# Repeatability.


@pytest.mark.parametrize("condition", ["baseline", "cooperative", "uncooperative"])
def test_the_same_seed_gives_the_same_data(condition) -> None:
    def run(seed):
        model = KeynesianBeautyContest(n_players=8, condition=condition, rng=seed)
        model.run_model()
        return frames(model)

    assert_same(run(11), run(11))
    assert not run(11)[1]["choice"].equals(run(12)[1]["choice"])


@pytest.mark.parametrize("jitter", [1, 2, 3])
def test_latencies_do_not_change_the_data(jitter) -> None:
    def minds():
        return [CognitiveHierarchy("classical") for _ in range(9)]

    at_once = contest(n_players=9, minds=minds(), rng=5)
    late = [Late(mind, 100 * jitter + i) for i, mind in enumerate(minds())]
    delayed = contest(n_players=9, minds=late, rng=5)
    at_once.run_model()
    delayed.run_model()

    assert_same(frames(delayed), frames(at_once))
    assert delayed.said == at_once.said
    assert delayed.critical_path_asks == at_once.critical_path_asks


def test_it_runs_inside_a_running_event_loop() -> None:
    async def notebook():
        return played()

    assert_same(frames(asyncio.run(notebook())), frames(played()))


def batch_of(processes, **options):
    parameters = {"n_players": 5, "condition": ["baseline", "cooperative"], "n_rounds": 3}
    return batch(KeynesianBeautyContest, parameters, [1, 2, 3], processes, **options)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_batch_has_the_rows_of_single_runs(processes) -> None:
    rows = batch_of(processes, data_collection_period=1)

    assert len(rows) == 2 * 3 * 3 * 5
    for (condition, seed), group in rows.groupby(["condition", "rng"]):
        model = KeynesianBeautyContest(n_players=5, n_rounds=3, condition=condition, rng=seed)
        model.run_model()
        single = model.agent_frame().merge(model.model_frame(), on=["run", "round"])
        found = group.sort_values(["Step", "AgentID"]).reset_index(drop=True)
        for column in ("choice", "won", "payoff", "level", "mean", "target", "variance", "mind"):
            assert list(found[column]) == list(single[column]), column


def test_the_agent_rows_of_a_batch_are_of_the_round_of_their_model_row() -> None:
    rows = batch_of(1, data_collection_period=1)
    last = batch_of(1)

    for _, found in rows.groupby(["RunId", "Step"]):
        assert found["mean"].iloc[0] == found["choice"].mean()
    assert len(last) == 2 * 3 * 5
    for _, found in last.groupby("RunId"):
        assert found["mean"].iloc[0] == found["choice"].mean()


# The classical minds.


def variances(condition, mind="classical", seeds=range(12), personas="none"):
    """Mean variance after 0, 1, 2, 3 discussions over some seeds."""
    curves = []
    for seed in seeds:
        model = KeynesianBeautyContest(condition=condition, minds=mind, personas=personas, rng=seed)
        model.run_model()
        curves.append(model.model_frame()["variance"])
    return np.mean(curves, axis=0)


@pytest.mark.parametrize("mind", ["classical", "classical:level_k"])
def test_talk_brings_classical_players_together_as_far_as_they_trust(mind) -> None:
    cooperative, baseline, uncooperative = (
        variances(condition, mind) for condition in ("cooperative", "baseline", "uncooperative")
    )

    assert cooperative[0] == baseline[0] == uncooperative[0]
    assert all(np.diff(baseline) < 0)
    assert all(np.diff(uncooperative) < 0)
    assert all(cooperative[1:] < baseline[1:])
    assert all(baseline[1:] < uncooperative[1:])


def test_agreeable_players_move_further_than_disagreeable_ones() -> None:
    agreeable = variances("baseline", personas="agreeable")
    disagreeable = variances("baseline", personas="disagreeable")

    assert agreeable[0] == disagreeable[0]
    assert all(agreeable[1:] < disagreeable[1:])


def test_a_classical_player_says_the_number_it_would_pick() -> None:
    model = KeynesianBeautyContest(n_players=6, n_rounds=2, rng=2)
    model.run_model()

    assert len(model.said) == 6
    for message in model.said:
        assert re.fullmatch(r"I think that I will choose \d{1,3}\.", message.text)


def test_a_player_moves_by_its_trust_towards_the_mean_of_what_it_heard() -> None:
    """One classical player among three that say 10, 20 and, last, nothing in numbers."""
    said = {2: "I take 10.", 3: "20 is best.", 4: "Well."}

    def answer(ask):
        return said[ask.key.agent] if ask.name == "communicate" else "10"

    mind = CognitiveHierarchy("classical")
    others = ScriptedMind(answer)
    model = contest(n_players=4, n_rounds=2, minds=[mind, *[others] * 3], rng=1)
    model.step()
    first = mind.opinion
    model.step()
    order = [message.speaker for message in model.said]

    opinion = first
    before = {2: 10, 3: 20}
    own_turn = order.index(1)
    for heard in (order[:own_turn], order[own_turn:]):
        numbers = [before[speaker] for speaker in heard if speaker in before]
        if numbers:
            opinion = 0.5 * opinion + 0.5 * sum(numbers) / len(numbers)
    assert mind.opinion == pytest.approx(opinion)
    assert model.players[0].choice == round(opinion)


def test_the_steps_of_the_two_classical_minds() -> None:
    hierarchy, level_k = CognitiveHierarchy("a"), LevelK("b")

    assert level_k.step_choice(1) == pytest.approx(100 / 3)
    assert level_k.step_choice(2) == pytest.approx(200 / 9)
    assert hierarchy.step_choice(1) == pytest.approx(100 / 3)
    # Step 2 meets steps 0 and 1 in the shares 1 : 1.5, which pick 50 and 33.3.
    assert hierarchy.step_choice(2) == pytest.approx(2 / 3 * (50 + 1.5 * 100 / 3) / 2.5)


@pytest.mark.parametrize("n", [2, 3, 100])
def test_any_number_of_players(n) -> None:
    model = KeynesianBeautyContest(n_players=n, n_rounds=2, rng=1)
    model.run_model()
    frame = model.agent_frame()

    assert len(frame) == 2 * n
    assert frame["choice"].between(0, 100).all()
    assert list(model.model_frame()["asks"]) == [n, 2 * n]
    for k, (mean, target, variance, n_winners) in enumerate(
        model.model_frame()[["mean", "target", "variance", "n_winners"]].itertuples(index=False)
    ):
        rows = frame[frame["round"] == k]
        distance = (rows["choice"] - target).abs()
        assert mean == pytest.approx(rows["choice"].mean())
        assert variance == pytest.approx(rows["choice"].var(ddof=0))
        assert n_winners == rows["won"].sum() > 0
        assert distance[rows["won"]].max() <= distance.min() + 1e-9
        assert set(rows.loc[rows["won"], "payoff"]) == {100}


def test_players_of_several_minds_are_told_apart_in_the_data() -> None:
    model = KeynesianBeautyContest(
        n_players=4, n_rounds=2, minds={"classical": 2, "fixed:0": 2}, rng=1
    )
    model.run_model()
    frame = model.agent_frame()

    assert list(frame["mind"]) == ["classical", "classical", "fixed:0", "fixed:0"] * 2
    assert set(frame.loc[frame["mind"] == "fixed:0", "choice"]) == {0}
    assert {m.text for m in model.said if m.speaker > 2} == {"0"}


def test_the_screening_question_is_one_shot() -> None:
    ((_, question),) = set(prompts_of(variant="screening", n_rounds=1).values())

    assert question.startswith("Which number do you choose, and why?")


def test_answers_in_json() -> None:
    def answer(ask):
        if ask.name == "communicate":
            return Reply('{"answer": "Hello."}', answer_format="json")
        return Reply('{"reasoning": "Low.", "answer": 7}', answer_format="json")

    model = played(answer=answer, n_rounds=2, answer_format="json")

    assert model.mean == 7
    assert {m.text for m in model.said} == {"Hello."}
    assert model.total.invalid == 0
