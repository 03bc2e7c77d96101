"""Runs of several scenarios against a server with 10 % 429, 5 % 500 and 5 % empty answers."""

from typing import Any

import pandas as pd
import pytest

from sabm_mesa import (
    BertrandCompetition,
    CocktailParty,
    Connection,
    EmergencyEvacuation,
    KeynesianBeautyContest,
    PublicGoods,
    RepeatedBeautyContest,
    SmartModel,
)
from sabm_mesa.core.usage import Failures
from sabm_mesa.llm.client import MAX_RETRIES, Client
from tests.llm.noise import Noise
from tests.llm.support import first_question
from tests.llm_server import LLMServer

SMALL: dict[type[SmartModel], dict[str, Any]] = {
    KeynesianBeautyContest: {"n_players": 6, "n_rounds": 4},
    BertrandCompetition: {"n_rounds": 23, "told_range": True},
    EmergencyEvacuation: {"n_people": 5, "n_rounds": 4, "width": 9, "height": 9},
    RepeatedBeautyContest: {"n_players": 6, "n_rounds": 4, "elicitation": "full"},
    PublicGoods: {"n_players": 6, "n_rounds": 9},
    CocktailParty: {"n_agents": 6, "n_rounds": 3, "max_turns": 4},
}
MAX_ATTEMPTS = 5
DIFFER = [*Failures._fields, "prompt_tokens", "completion_tokens", "cost_usd"]


def played(scenario: type[SmartModel], faults: Noise | None) -> tuple[SmartModel, dict[str, int]]:
    with LLMServer(brain=first_question, faults=faults) as server:
        model = scenario(
            **SMALL[scenario], minds=f"llm:stub@{server.url}", rng=1, recording=False,
            answer_format="json", max_attempts=MAX_ATTEMPTS,
            connection=Connection(),
        )  # fmt: skip
        model.run_model()
        return model, server.stats


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("scenario", SMALL)
def test_a_noisy_server_gives_the_same_run_at_a_bounded_number_of_calls(
    scenario: type[SmartModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)
    clean, all_well = played(scenario, None)
    noisy, stats = played(scenario, Noise())

    frames = [model.model_frame().drop(columns=DIFFER) for model in (clean, noisy)]
    pd.testing.assert_frame_equal(*frames)
    names = ["mind", *Failures._fields]
    pd.testing.assert_frame_equal(
        *(model.agent_frame().drop(columns=names) for model in (clean, noisy))
    )
    total = noisy.total
    assert clean.total.asks == total.asks == all_well["requests"] > 30
    assert (clean.total.retries, clean.total.reasks) == (0, 0)
    assert total.invalid == 0
    assert total.retries == stats.get("status_429", 0) + stats.get("status_500", 0) > 0
    assert total.reasks == stats["fault_empty"] > 0
    assert stats["requests"] == total.asks + total.reasks + total.retries
    assert stats["requests"] <= total.asks * MAX_ATTEMPTS * (1 + MAX_RETRIES)
    for name in Failures._fields:
        of_all = getattr(total, name)
        assert noisy.model_frame()[name].sum() == noisy.agent_frame()[name].sum() == of_all
