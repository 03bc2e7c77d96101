"""The contest with a model in a GGUF file, which the real llama.cpp runs in the test's process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest, replay
from sabm_mesa.core import engine
from sabm_mesa.errors import BadRequest, ParameterError
from sabm_mesa.llm import close_all, connect_file
from sabm_mesa.llm.client import Request
from sabm_mesa.llm.gguf_client import CONTEXT, GGUFClient

from .tiny_gguf import write_tiny_model


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_tiny_model(path)
    return path


@pytest.fixture(autouse=True)
def nothing_stays_loaded() -> Any:
    yield
    close_all()


def contest(file: Path, recording: Path, **settings: Any) -> KeynesianBeautyContest:
    given = {"n_players": 2, "n_rounds": 1, "rng": 1, "max_tokens": 30, "temperature": 1.0}
    model = KeynesianBeautyContest(minds=f"gguf:{file}", recording=recording, **(given | settings))
    model.run_model()
    return model


def rows(recording: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(recording)) as connection:
        return connection.execute(query).fetchall()


def ask(text: str = "Say something.", **options: Any) -> Request:
    return Request("gguf:tiny", (("user", text),), **options)


def test_under_a_schema_noise_is_a_valid_pick(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    model = contest(file, path, answer_format="json", n_rounds=2, max_tokens=80)

    picks = model.agent_frame()["choice"].dropna()
    assert picks.size > 0
    assert ((picks >= 0) & (picks <= 100)).all()
    answers = rows(path, "SELECT raw, value FROM asks WHERE valid AND phase = 'act'")
    assert len(answers) == picks.size
    assert all(
        json.loads(raw, strict=False)["answer"] == json.loads(value) for raw, value in answers
    )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert rows(path, "SELECT DISTINCT served_model, cost_usd FROM asks") == [
        (f"tiny.gguf, {file.stat().st_size} bytes, sha256 {digest}", 0.0)
    ]
    counted = rows(path, "SELECT sum(prompt_tokens), sum(completion_tokens) FROM asks")
    assert counted == [(model.total.prompt_tokens, model.total.completion_tokens)]
    assert model.total.completion_tokens > picks.size


def test_a_run_repeats_and_another_seed_is_another_run(file: Path, tmp_path: Path) -> None:
    said = "SELECT agent, attempt, raw FROM asks ORDER BY 1, 2"
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        contest(file, tmp_path / name, rng=seed, max_attempts=2)
        if name == "a":
            close_all()  # what another load of the file says is the same
    first, again, other = (rows(tmp_path / name, said) for name in "abc")

    assert first == again
    assert first != other
    texts = [raw for _, attempt, raw in first if attempt == 0]
    assert len(set(texts)) == len(texts) == 2  # asked the same, and each says something else


def test_an_answer_does_not_depend_on_what_was_asked_before(file: Path) -> None:
    story = "A player says something. " * 20
    texts = [story, f"{story} Two.", f"{story[:300]} Or not.", "Say something.", story[:200]]
    requests = [
        ask(text, seed=seed, max_tokens=20, temperature=1.0) for text in texts for seed in (1, 2)
    ]
    client = GGUFClient(file)

    async def said(i: int, *, alone: bool) -> str:
        if alone:  # as if it were the first
            client._read = []  # noqa: SLF001
        return (await client.complete(requests[i])).text

    async def work() -> None:
        alone = [await said(i, alone=True) for i in range(len(requests))]
        for i in [0, 2, 4, 3, 8, 1, 6, 5, 9, 7, 0, 4, 2]:
            assert await said(i, alone=False) == alone[i]
        assert len(set(alone)) == len(alone)
        await client.close()

    engine.run(work())


def test_it_is_replayed_without_the_file(file: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(file.read_bytes())
    model = contest(own, tmp_path / "r.sqlite", max_attempts=1)
    close_all()
    own.unlink()

    (again,) = replay(tmp_path / "r.sqlite").models
    assert again.agent_frame().equals(model.agent_frame())


def test_a_file_that_is_cut_off_is_refused(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    with pytest.raises(ParameterError, match=r"cannot load .*half\.gguf .*is the file complete"):
        connect_file(path)


def test_a_prompt_beyond_the_context_is_an_error_and_the_next_is_answered(file: Path) -> None:
    client, _ = connect_file(file)

    async def work() -> list[Any]:
        asked = [ask("x" * CONTEXT, seed=1), ask(seed=2, max_tokens=5)]
        parts = (client.complete(request) for request in asked)
        return await asyncio.gather(*parts, return_exceptions=True)

    failed, fine = engine.run(work())
    assert isinstance(failed, BadRequest)
    assert f"may have {CONTEXT} tokens" in str(failed)
    assert fine.completion_tokens > 0
    assert fine.prompt_tokens > 0


def test_an_answer_that_is_cancelled_ends_at_the_next_token(file: Path) -> None:
    client = GGUFClient(file)
    llama, thread = client._llama, client._thread  # noqa: SLF001 - how far it came, it does not say
    request = ask(seed=1, max_tokens=800, temperature=1.0)

    def begun(full: int) -> None:
        while not 0 < llama.n_tokens < full:
            time.sleep(0.001)

    async def work() -> None:
        whole = await client.complete(request)
        full = llama.n_tokens
        assert whole.completion_tokens > 100
        asking = asyncio.ensure_future(client.complete(request))
        await asyncio.to_thread(begun, full)
        asking.cancel()
        await asyncio.wait({asking})
        after = await asyncio.get_running_loop().run_in_executor(thread, lambda: llama.n_tokens)
        assert 0 < after < full
        await client.close()

    engine.run(work())
