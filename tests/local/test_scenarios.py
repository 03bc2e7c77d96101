"""Every scenario is played to its end by the default local model, in every answer format.

The runs in JSON are also replayed, and compared with their estimates. `make slow` plays five
scenarios, two of them in all formats; `make long` plays the rest.
"""

from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Recorded, replay
from sabm_mesa.core.answers import FORMATS
from sabm_mesa.llm import Connection
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.cost import estimate
from sabm_mesa.runs.try_model import try_model

pytestmark = pytest.mark.slow

SMALL: dict[str, dict[str, Any]] = {
    "beauty-contest": {"n_players": 2, "n_rounds": 1},
    "bertrand": {"n_rounds": 2},
    "cocktail-party": {"n_agents": 2, "n_rounds": 1, "max_turns": 2},
    "evacuation": {"n_people": 2, "n_rounds": 1},
    "fishery": {"n_agents": 2, "n_rounds": 1, "max_entries": 4},
    "games": {"n_rounds": 1},
    "kbc": {"n_players": 2, "n_rounds": 2},
    "pasture": {"n_agents": 2, "n_rounds": 1, "max_entries": 4},
    "pollution": {"n_agents": 2, "n_rounds": 1, "max_entries": 4},
    "public-goods": {"n_rounds": 1},
    "sentence-making": {"n_agents": 2, "n_rounds": 1, "n_sentences": 1, "max_turns": 2},
}
FORMS_IN_SLOW = {
    **dict.fromkeys(("bertrand", "evacuation", "public-goods"), ("json",)),
    **dict.fromkeys(("games", "kbc"), FORMATS),
}
"""The formats that `make slow` plays: little text (games) and talk (kbc) in all; others in none."""
CASES = [
    pytest.param(
        name,
        form,
        id=f"{name}-{form}",
        marks=[] if form in FORMS_IN_SLOW.get(name, ()) else pytest.mark.long,
    )
    for name in SMALL
    for form in FORMATS
]
TALK = 48
"""Tokens of an answer at most in the forms without a schema, where small models never end."""
DECLINED = "It was declined."
DECIMALS = {"bertrand", "public-goods"}
"""Scenarios that ask for decimals, whose bounds llama.cpp does not enforce."""
SLOW_S = 900
"""Seconds until a request is given up: machines of tests are slow at times."""


def test_all_scenarios_are_here() -> None:
    assert set(SMALL) == set(SCENARIOS)


@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_scenario_is_played_to_its_end(name: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "recording.sqlite"
    given = SMALL[name] | {"answer_format": form}
    given |= {} if form == "json" else {"max_tokens": TALK, "max_attempts": 1}
    model = scenario(name)(
        **given, minds="local", rng=1, recording=path, connection=Connection(timeout_s=SLOW_S)
    )
    model.run_model()

    asks = Recorded(path).asks()
    assert model.round + 1 == model.n_rounds or not model.running
    assert len(asks) == model.total.asks + model.total.reasks > 0
    if form == "json":
        # What the grammar allows is legal; only a refusal in words is asked for again.
        reasons = set(asks["reason"]) - {"", DECLINED}
        if name in DECIMALS:
            reasons = {reason for reason in reasons if "is outside the range from" not in reason}
        else:
            assert model.total.invalid == 0
        assert not reasons, asks[["raw", "reason"]].to_string()
        (again,) = replay(path).models
        assert again.agent_frame().equals(model.agent_frame())
        once = {**given, "minds": "local", "max_attempts": 1}
        expected = estimate(scenario(name), once).total
        first = asks[asks["attempt"] == 0]
        assert expected.usd.high == model.total.cost_usd == 0.0
        assert len(first) <= expected.asks.high
        assert first["prompt_tokens"].sum() <= expected.prompt_tokens.high
        assert first["completion_tokens"].sum() <= expected.completion_tokens.high


def test_the_trial_asks_in_every_form(caplog: pytest.LogCaptureFixture) -> None:
    trial = try_model(
        scenario("kbc"), {"n_players": 2, "n_rounds": 2, "max_tokens": 250}, "local",
        Connection(), times=1,
    )  # fmt: skip

    assert trial.default == "json"
    (act,) = [row for row in trial.tried if (row.question, row.form) == ("act", "json")]
    assert (act.valid, act.answers) == (1, 1)
    assert trial.run_s > 0
    assert "runs on this machine" in caplog.text
    assert "asked for JSON" not in caplog.text
