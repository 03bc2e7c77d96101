"""Every scenario, played by a language model: repeated, resumed, forked, and with another seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection
from sabm_mesa.errors import RunError
from sabm_mesa.models.base import OF_EVERY_SCENARIO
from sabm_mesa.models.registry import SCENARIOS
from sabm_mesa.runs.rerun import fork, replay, resume
from sabm_mesa.runs.run import Runs
from tests.core.support import rows
from tests.llm_server import LLMServer
from tests.runs.reruns import count, first_question, no_key, play, replayed, same_data

pytestmark = pytest.mark.fast_cases(2)

JSON = {"kbc", "evacuation", "cocktail-party", "games", "pasture", "public-goods"}
"""Played with structured answers; the others with plain text."""
DRAWN = {"bertrand": "classical:q_learning", "games": "classical:logit"}
"""Classical minds that draw, where the default ones do not."""
PAID = "mind LIKE 'llm:%'"
ROUNDS = 3
AT = 2
OWN_PROMPTS = '[answers]\nagain = "{{ answer }} will not do. {{ reason }} Again: {{ form }}"\n'
OTHER = {
    "condition": "uncooperative", "personas": "calm", "temperature": 0.1, "max_tokens": 77,
    "max_thought_tokens": 99, "reasoning_effort": "low", "extra_body": {"top_k": 5},
    "top_p": 0.5, "max_attempts": 1, "n_rounds": 5, "variant": "reworded_1",
}  # fmt: skip
"""Parameter of every scenario → what a fork changes it to."""
COMMONS = ("fishery", "pasture", "pollution")
OF_COMMONS = {
    "communication": False, "report": True, "max_entries": 4, "collapse_below": 2,
    "condition": "baseline", "variant": "default", "personas": "agreeable",
}  # fmt: skip
OWN = {
    "kbc": {"reward_rule": "exclusive"},
    "bertrand": {
        "variant": "reworded_1",
        "communication": False, "cost": 3, "a": 11.0, "beta": 0.008, "d": 0.001, "mu": 0.5,
        "a_0": 0.1, "tolerance": 0.4, "stop_after": 1,
        "phase_order": "planning,communication,action", "told_range": True, "plan_every": 1,
    },
    "evacuation": {
        "communication": False, "movement": "simultaneous", "friction": 0.5,
        "variant": "no_diagonals",
    },
    "beauty-contest": {
        "p": 0.5, "prize": 6.0, "window": 1, "revealed": "mean,own", "notice": False,
        "told_number": False, "told_count": True,
        "elicitation": "full", "condition": "baseline",
    },
    "public-goods": {
        "malicious": 1, "multiplier": 2.5, "memory": 1, "condition": "baseline",
        "variant": "default",
    },
    "cocktail-party": {"window": 3, "condition": "baseline"},
    "games": {
        "talk": False, "continuation": 0.9, "matching": "stranger", "currency": "crowns",
        "condition": "baseline", "variant": "default",
    },
    "sentence-making": {"window": 3, "condition": "baseline"},
    **dict.fromkeys(COMMONS, OF_COMMONS),
}  # fmt: skip


@dataclass
class Played:
    """A run of a scenario, and the server that has played it."""

    name: str
    path: Path
    server: LLMServer
    runs: Runs
    requests: int


def by_language_model(name: str, server: LLMServer, path: Path) -> Runs:
    answer_format = "json" if name in JSON else "paper"
    return play(
        name, path, "llm:stub", n_rounds=ROUNDS, answer_format=answer_format,
        connection=Connection(server.url),
    )  # fmt: skip


def sparing(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """A brain that takes 1 unit at most, so that no commons collapses before it is forked."""
    return re.sub(r"[1-9][0-9]*(?=\}?$)", "1", first_question(messages, body))


def brain_of(name: str) -> Callable[..., str]:
    return sparing if name in COMMONS else first_question


@pytest.fixture(scope="module", params=SCENARIOS)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Played]:
    """One run of each scenario, which all tests of this file share."""
    path = tmp_path_factory.mktemp("played") / "r.sqlite"
    server = LLMServer(brain=brain_of(request.param))
    with pytest.MonkeyPatch.context() as patch, no_key(patch), server:
        runs = by_language_model(request.param, server, path)
        yield Played(request.param, path, server, runs, server.stats["requests"])


def test_a_language_model_plays_over_http(played: Played) -> None:
    assert played.requests == count(played.path, PAID) > 0
    assert played.runs.total().invalid == 0
    assert not played.server.errors


def test_it_replays_without_server(played: Played) -> None:
    before, requests = played.path.read_bytes(), played.server.stats["requests"]
    replayed(played.path, played.runs)

    assert played.server.stats["requests"] == requests
    assert played.path.read_bytes() == before


def test_a_run_that_fails_is_resumed(played: Played, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    faults = {played.requests // 2: "404"}
    with LLMServer(brain=brain_of(played.name), faults=faults) as server:
        with pytest.raises(RunError, match="404"):
            by_language_model(played.name, server, path)
        assert 0 < count(path, PAID) < played.requests
        resumed = resume(path)

        assert server.stats["status_200"] == played.requests == count(path, PAID)
    same_data(played.runs, resumed)


def test_a_fork_changes_all_that_can_change(
    played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(OWN_PROMPTS, "utf-8")
    (parent,) = played.runs.models
    n_llm = len(parent.agents) - 1
    given = {
        **OTHER, "prompts": "own.toml", "minds": {"fixed:3": 1, "llm:stub": n_llm},
        "answer_format": "paper" if played.name in JSON else "json",
    } | OWN[played.name]  # fmt: skip
    assert set(given) == OF_EVERY_SCENARIO | type(parent).changeable
    requests = played.server.stats["requests"]
    child = fork(played.path, AT, given, path := tmp_path / "f.sqlite")

    (model,) = child.models
    assert {name: model.parameters[name] for name in given if name != "prompts"} == {
        name: value for name, value in given.items() if name != "prompts"
    }
    for kind in ("model_frame", "agent_frame"):
        old, new = (getattr(runs, kind)() for runs in (played.runs, child))
        columns = [column for column in old.columns if column in new.columns]
        old, new = (
            frame[frame["round"] < AT][columns].astype(object).where(lambda f: f.notna(), None)
            for frame in (old, new)
        )
        assert old.equals(new)
    copied = "SELECT round, phase, agent, call, attempt, raw FROM asks WHERE {} ORDER BY position"
    assert rows(path, copied.format("copied")) == rows(played.path, copied.format(f"round < {AT}"))
    sent = played.server.requests[requests:]
    assert len(sent) == count(path, f"NOT copied AND {PAID}") > 0
    assert {seen.body["temperature"] for seen in sent} == {0.1}
    assert {seen.body["top_p"] for seen in sent} == {0.5}
    same_data(child, replay(path))


def test_another_seed_is_another_run(played: Played) -> None:
    minds = DRAWN.get(played.name, "classical")
    one, other = (
        play(played.name, False, minds, rng, n_rounds=ROUNDS).agent_frame() for rng in (1, 2)
    )
    assert not one.equals(other)
