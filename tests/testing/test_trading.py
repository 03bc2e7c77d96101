"""A scenario whose answers have parts of every kind, from the minds to the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection, Recorded, ScriptedMind, replay
from sabm_mesa.errors import RunError
from sabm_mesa.runs.cost import estimate
from sabm_mesa.testing import check_scenario
from sabm_mesa.testing.case import Case
from sabm_mesa.testing.checks import CHECKS
from tests.llm_server import LLMServer
from tests.testing.trading import Stop, Trading

BUY: dict[str, Any] = {
    "act": {"action": "buy", "order": {"good": "bread", "amount": 1}},
    "invited": ["Ann"],
    "note": "Hello, amount: 5.",
    "wishes": [{"good": "wood", "amount": 2}],
}


def test_it_conforms() -> None:
    check_scenario(Trading)


class Halved(Trading):
    """Its rules forget one option of the answer."""

    def after_act(self, trader: Any, day: Any) -> None:
        if day.valid and isinstance(day.value.act, Stop):
            raise LookupError("nobody stops")
        Trading.after_act(self, trader, day)


def test_an_option_that_the_rules_cannot_take_is_found_whatever_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nobody stops"):
        list(CHECKS["answers"](Case(Halved, {"n_rounds": 3}, tmp_path, 3)))


@pytest.mark.parametrize("answer_format", ["paper", "labelled", "json"])
def test_a_language_model_is_asked_recorded_and_replayed(
    tmp_path: Path, answer_format: Any
) -> None:
    path, seen = tmp_path / "r.sqlite", []

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
        seen.append((messages, body))
        if len(seen) == 1:
            return json.dumps({"answer": {**BUY, "invited": ["Dan"]}})
        return json.dumps({"answer": BUY})

    given = {"n_traders": 1, "n_rounds": 2, "rng": 1, "answer_format": answer_format}
    with LLMServer(brain=brain) as server:
        connection = Connection(base_url=server.url)
        model = Trading(minds="llm:any", recording=path, connection=connection, **given)
        model.run_model()
        model.close()

    (trader,) = model.agents
    assert (trader.coins, trader.goods, trader.note, model.wished) == (0, 2, BUY["note"], 4)
    assert "In invited.0: Input should be 'Ann', 'Bob' or 'Carl'." in seen[1][0][-1]["content"]
    assert '"note": <a text of at most 11 words>' in seen[0][0][-1]["content"]
    assert all(body["response_format"]["type"] == "json_schema" for _, body in seen)
    decided = Recorded(path).decisions()
    assert [json.loads(value) for value in decided["value"]] == [BUY, BUY]
    (again,) = replay(path, scenario=Trading).models
    assert again.agent_frame().equals(model.agent_frame())


@pytest.mark.slow
def test_minds_give_plain_data_or_text(tmp_path: Path) -> None:
    mind = tmp_path / "mine.py"
    mind.write_text(f"def mine(ask):\n    return {BUY!r}\n")
    scripts = [ScriptedMind([given] * 2) for given in (BUY, json.dumps(BUY))]
    rows = []
    for minds in (*scripts, f"py:{mind}"):
        model = Trading(n_traders=1, minds=minds, recording=False, rng=1)
        model.run_model()
        model.close()
        assert model.total.invalid == 0
        rows.append(model.agent_frame()[["coins", "owned", "note"]].to_dict("records"))
    assert rows[0] == rows[1] == rows[2]


def test_its_cost_counts_fields_and_texts() -> None:
    found = estimate(Trading, {"minds": "llm:gpt-4o-mini", "n_rounds": 2})
    received = found.total.completion_tokens
    assert found.total.asks.likely == 6
    assert 6 * 10 < received.likely < 6 * 200 < received.high
