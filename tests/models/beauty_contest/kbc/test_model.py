"""The rounds of the Keynesian beauty contest: whole runs, talk, repeatability."""

import math

import pytest

from sabm_mesa import KeynesianBeautyContest
from tests.models.beauty_contest.kbc.support import played
from tests.models.beauty_contest.support import MEAN, PICKS, TARGET, VARIANCE, WON, by_round

LEVEL = [(4, 2, -1), (1, 1, 1), (4, 1, None), (4, 1, 0)]
PAYOFF = {
    "independent": [(0, 100, 0), (100, 100, 100), (100, 0, 0), (100, 100, 0)],
    "amplified": [(0, 100, 0), (300, 300, 300), (100, 0, 0), (200, 200, 0)],
    "exclusive": [(0, 100, 0), (0, 0, 0), (100, 0, 0), (0, 0, 0)],
}


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


def test_agreement_is_the_share_of_messages_that_agree() -> None:
    agreement = list(played().model_frame()["agreement"])

    assert math.isnan(agreement[0])
    assert agreement[1:] == pytest.approx([1 / 3] * 3)


def test_when_nobody_can_be_read_nobody_wins() -> None:
    model = played(answer=lambda _: "", n_rounds=2)
    frame = model.model_frame()

    assert frame[["mean", "target", "variance", "agreement"]].isna().all(axis=None)
    assert list(frame["n_winners"]) == [0, 0]
    assert list(frame["invalid"]) == [3, 6]
    assert model.conversation(rounds=None) == []
    assert set(model.agent_frame()["payoff"]) == {0}
    assert model.agent_frame()[["choice", "level"]].isna().all(axis=None)


def test_the_distance_to_the_target_is_compared_exactly() -> None:
    """With picks 0, 1 and 2 the target is 2/3: 1 is nearer (1/3) than 0 (2/3)."""
    near = played(answer=lambda ask: str(ask.key.agent - 1), n_rounds=1)
    # 0 and 40 are both 20 away from 20, and 0.666… is not a binary fraction.
    tie = played(answer=lambda ask: str((0, 40, 50)[ask.key.agent - 1]), n_rounds=1)

    assert [player.won for player in near.players] == [False, True, False]
    assert [player.won for player in tie.players] == [True, True, False]


def test_language_models_are_asked_with_the_published_settings() -> None:
    settings = KeynesianBeautyContest(n_players=2, rng=1, recording=False).parameters

    assert {name: settings[name] for name in ("temperature", "max_tokens", "top_p")} == {
        "temperature": 0.7, "max_tokens": 256, "top_p": 1.0
    }  # fmt: skip
