"""The rounds of the Keynesian beauty contest: whole runs, talk, repeatability."""

import math

import pandas as pd
import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.core.usage import Failures
from tests.models.kbc.support import PICKS, played
from tests.models.support import batch

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
    assert model.conversation(rounds=None) == []
    assert set(model.agent_frame()["payoff"]) == {0}
    assert model.agent_frame()[["choice", "level"]].isna().all(axis=None)


def test_a_pick_does_not_outlive_its_round() -> None:
    model = played(n_rounds=3)

    assert [player.choice for player in model.players] == [12, 28, None]
    assert [player.level for player in model.players] == [4, 1, None]


def test_the_distance_to_the_target_is_compared_exactly() -> None:
    """With picks 0, 1 and 2 the target is 2/3: 1 is nearer (1/3) than 0 (2/3)."""
    near = played(answer=lambda ask: str(ask.key.agent - 1), n_rounds=1)
    # 0 and 40 are both 20 away from 20, and 0.666… is not a binary fraction.
    tie = played(answer=lambda ask: str((0, 40, 50)[ask.key.agent - 1]), n_rounds=1)

    assert [player.won for player in near.players] == [False, True, False]
    assert [player.won for player in tie.players] == [True, True, False]


def batch_of(processes, **options):
    parameters = {"n_players": 5, "condition": ["baseline", "cooperative"], "n_rounds": 3}
    return batch(KeynesianBeautyContest, parameters, [1, 2, 3], processes, **options)


@pytest.mark.slow
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


def test_language_models_are_asked_with_the_published_settings() -> None:
    settings = KeynesianBeautyContest(n_players=2, rng=1, recording=False).parameters

    assert {name: settings[name] for name in ("temperature", "max_tokens", "top_p")} == {
        "temperature": 0.7, "max_tokens": 256, "top_p": 1.0
    }  # fmt: skip


def test_nobody_has_won_before_the_first_round() -> None:
    model = KeynesianBeautyContest(n_players=2, rng=1, recording=False)

    assert model.n_winners == 0
    assert not any(player.won for player in model.players)
