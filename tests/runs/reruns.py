"""Helpers of the tests of replay, resume and fork: small runs, and a mind that can be cut off."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa import (
    BertrandCompetition,
    CocktailParty,
    EmergencyEvacuation,
    FiniteGame,
    Fishery,
    KeynesianBeautyContest,
    Pasture,
    Pollution,
    PublicGoods,
    RepeatedBeautyContest,
    SentenceMaking,
    SmartModel,
)
from sabm_mesa.core.answers import Choice, Number
from sabm_mesa.core.asks import Ask
from sabm_mesa.llm import close_all
from sabm_mesa.runs.rerun import replay
from sabm_mesa.runs.run import Runs, run_models
from tests.llm_server import writer

ROOT = Path(__file__).parents[2]
SMALL: dict[str, tuple[type[SmartModel], dict[str, Any]]] = {
    "kbc": (KeynesianBeautyContest, {"n_players": 3, "n_rounds": 3}),
    "bertrand": (BertrandCompetition, {"n_rounds": 3}),
    "evacuation": (
        EmergencyEvacuation, {"n_people": 3, "n_rounds": 3, "width": 9, "height": 9},
    ),
    "beauty-contest": (RepeatedBeautyContest, {"n_players": 3, "n_rounds": 3}),
    "games": (FiniteGame, {"n_rounds": 3, "talk": True}),
    "public-goods": (PublicGoods, {"n_players": 3, "n_rounds": 3}),
    "cocktail-party": (CocktailParty, {"n_agents": 3, "n_rounds": 3, "max_turns": 3}),
    "sentence-making": (
        SentenceMaking, {"n_agents": 3, "n_rounds": 3, "max_turns": 2, "n_sentences": 1},
    ),
    "fishery": (Fishery, {"n_agents": 3, "n_rounds": 3}),
    "pasture": (Pasture, {"n_agents": 3, "n_rounds": 3}),
    "pollution": (Pollution, {"n_agents": 3, "n_rounds": 3}),
}  # fmt: skip


class Drawing:
    """A paid mind of one's own that draws what it answers, now and then nothing usable.

    Args:
        most: answers after which it fails.
    """

    spec, instant, paid = "drawing", False, True

    def __init__(self, most: int = 10**9) -> None:
        self.answered, self.most = 0, most

    async def answer(self, ask: Ask) -> object:
        await asyncio.sleep(0)
        if self.answered >= self.most:
            raise ConnectionError("no connection")
        self.answered += 1
        if ask.rng.random() < 0.2:
            return "no idea"
        match ask.spec:
            case Number(low=low, high=high, integer=True):
                return int(ask.rng.integers(int(low), int(high) + 1))
            case Number(low=low, high=high):
                return float(ask.rng.uniform(low, min(high, low + 20)))
            case Choice(options=options):
                return options[ask.rng.integers(len(options))]
        return "I say " + "ha " * int(ask.rng.integers(1, 4))


def play(name: str, recording: Path | bool, minds: Any, rng: int = 1, **more: Any) -> Runs:
    kind, parameters = SMALL[name]
    return run_models([kind(**parameters | more, minds=minds, rng=rng, recording=recording)])


def same_data(one: Runs, other: Runs) -> None:
    """All frames, and what is said of each run but where it is recorded, are the same."""
    for kind in ("model_frame", "agent_frame"):
        a, b = (getattr(runs, kind)().drop(columns="run") for runs in (one, other))
        pd.testing.assert_frame_equal(a, b)
    own = {"run", "answers_from_recording", "cost_usd_from_recording", "parent", "forks"}
    told = [
        [{k: repr(v) for k, v in run.items() if k not in own} for run in runs.summary()["runs"]]
        for runs in (one, other)
    ]
    assert told[0] == told[1]


def change(path: Path, statement: str, *values: Any) -> int:
    """Tamper with a recording; the number of rows that were changed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).rowcount


def count(path: Path, where: str = "1") -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute(f"SELECT count(*) FROM answers WHERE {where}").fetchone()[0]
    return found


def first_question(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """A brain that answers a question that is asked again as it did the first time."""
    return writer(messages[:2], body)


@contextmanager
def no_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    close_all()
    yield
    close_all()


@contextmanager
def process(arguments: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Another process, with pipes, which does not outlive the block."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes, **options) as other:
        try:
            yield other
        finally:
            other.kill()


def replayed(path: Path, done: Runs, **services: Any) -> Runs:
    """Replay, and see that all came out as it was and every answer was used."""
    again = replay(path, **services)
    same_data(done, again)
    assert sum(again.answers_repeated()) == count(path)
    return again
