"""Dialects and thinkers crossed with faults and scenarios: right value, message and record."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa import Connection, KeynesianBeautyContest
from sabm_mesa.llm import Client, close_all
from sabm_mesa.models.registry import SCENARIOS
from tests.llm.support import first_question, rows
from tests.llm.test_dialects import SENT, TAKEN
from tests.llm_server import LLMServer
from tests.llm_server.dialects import DIALECTS
from tests.llm_server.thinkers import MARK, THINKERS
from tests.runs.reruns import play

pytestmark = pytest.mark.slow
PLAIN = "plain"
THINKS = "thinks:"
FAULTS = {
    # Sent again, and nothing else is to be seen of it.
    "429": ("retries", ""), "500": ("retries", ""), "reset": ("retries", ""),
    "error-200": ("retries", ""),
    # Given up after `TIMEOUT_S`, and sent again.
    "hang": ("retries", ""), "stall": ("retries", ""),
    # An answer that cannot be used, and is asked for again with the reason.
    "empty": ("reasks", "It was empty."), "null": ("reasks", "It was empty."),
    "length": ("truncated", "It was cut off before it was complete."),
    "refusal": ("refused", "It was declined."),
}  # fmt: skip
"""Fault → the count that it raises, and the reason that is recorded."""
TIMEOUT_S = 0.5
WITHOUT_END = ("hang", "stall")
ASKED = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 50}


def dialect(body: dict[str, Any]) -> Any:
    """The dialect that the name of the model says, before a plus."""
    refuses = DIALECTS.get(body["model"].partition("+")[0])
    return refuses(body) if refuses else None


def fault(number: int, body: dict[str, Any]) -> str | None:
    """Every fifth request fails as the name of the model says, behind a plus; without end one."""
    kind = body["model"].partition("+")[2]
    if kind in WITHOUT_END:
        before = body["model"] in hung
        hung.add(body["model"])
        return None if before else kind
    return kind if kind and number % 5 == 0 else None


hung: set[str] = set()
"""Models of which one request was not answered."""


def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
    kind, _, name = body["model"].rpartition(":")
    thinker = THINKERS[name] if kind else None
    return (thinker.brain(first_question) if thinker else first_question)(messages, body)


@pytest.fixture(scope="module")
def server() -> Iterator[LLMServer]:
    with (
        pytest.MonkeyPatch.context() as patch,
        LLMServer(brain=brain, dialect=dialect, faults=fault) as server,
    ):
        patch.setattr(Client, "_wait", lambda *_: 0.001)
        yield server
    close_all()


def contest(server: LLMServer, name: str, path: Path) -> KeynesianBeautyContest:
    how = Connection(timeout_s=TIMEOUT_S) if name.endswith(WITHOUT_END) else None
    model = KeynesianBeautyContest(
        n_players=3, n_rounds=2, rng=1, recording=path, minds=f"llm:{name}@{server.url}",
        connection=how, **ASKED,
    )  # fmt: skip
    model.run_model()
    model.close()
    return model


@pytest.fixture(scope="module")
def clean(server: LLMServer, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return contest(server, PLAIN, tmp_path_factory.mktemp("clean") / "r.sqlite").agent_frame()


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_crossed_with_every_fault(
    name: str, server: LLMServer, clean: pd.DataFrame, tmp_path: Path
) -> None:
    for kind, (count, reason) in FAULTS.items():
        path = tmp_path / f"{kind}.sqlite"
        model = contest(server, f"{name}+{kind}", path)

        # A message that was cut off is heard and marked, so that others answer something else.
        same = list(model.agent_frame()["choice"]) == list(clean["choice"])
        assert same or kind == "length", kind
        assert (model.total.asks, model.total.invalid) == (9, 0), kind
        assert getattr(model.total, count) > 0, kind
        told = rows(path, "SELECT DISTINCT reason FROM asks WHERE NOT valid AND raw IS NOT NULL")
        expected = [(reason,)] if reason else []
        # A message that was cut off is kept, so this reason is for picks alone.
        assert told == expected or (kind == "length" and told == []), kind
        query = "SELECT DISTINCT text FROM asks JOIN texts ON texts.hash = provenance"
        for (text,) in rows(path, query):
            sent = json.loads(text)["sent"]
            known = ASKED if name in TAKEN else SENT[name]
            form = {"seed", "response_format"}  # the last attempt asks for a schema
            assert {*sent} - form == {*known} - form, kind


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_at_its_defaults_crossed_with_every_dialect_and_thinker(
    name: str, server: LLMServer, tmp_path: Path
) -> None:
    def played(model: str) -> Any:
        return play(
            name, tmp_path / f"{model.replace(':', '-')}.sqlite", f"llm:{model}", n_rounds=1,
            connection=Connection(server.url),
        )  # fmt: skip

    first = played(PLAIN)
    expected = [dict(first.total())[count] for count in ("asks", "invalid", "reasks")]
    server.requests.clear()
    for model in [*DIALECTS, *(THINKS + each for each in THINKERS)]:
        runs = played(model)
        total = dict(runs.total())
        assert [total[count] for count in ("asks", "invalid", "reasks")] == expected, model
        # The first answers of a model that thinks are asked for again, with room for thoughts.
        mine, theirs = (
            each.agent_frame().drop(columns=["mind", "retries"]) for each in (runs, first)
        )
        pd.testing.assert_frame_equal(mine, theirs)
        assert total["retries"] == 0 or model.startswith(THINKS), model
    sent = "".join(str(seen.body["messages"]) for seen in server.requests)
    assert MARK not in sent
