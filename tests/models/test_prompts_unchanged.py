"""The prompts of all scenarios, conditions, wordings, personas and answer formats are on record.

A scripted model plays short seeded runs, and the messages that it receives are hashed. Its answers
depend on the messages alone, so one changed letter changes the hash of a run. For an intended
change, `python -m tests.models.test_prompts_unchanged` writes the hashes again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa.llm import ScriptedClient
from sabm_mesa.minds.llm import LLMMind
from sabm_mesa.models.registry import scenario
from tests.llm_server.stub import stub

FILE = Path(__file__).parent / "prompt_hashes.json"
HASHES: dict[str, str] = json.loads(FILE.read_text("utf-8"))
"""Name and parameters of a run → hash of its messages."""


def messages_hash(run: str) -> str:
    """The hash of all messages of a run, in any order: one round is asked concurrently."""
    received: set[str] = set()

    def answer(request: Any) -> str:
        messages = [{"role": role, "content": text} for role, text in request.messages]
        received.add(json.dumps(messages))
        schema = {"type": "json_schema", "json_schema": {"schema": request.schema}}
        return stub(messages, {"response_format": schema} if request.schema else {})

    name, _, parameters = run.partition(" ")
    minds = LLMMind("m", ScriptedClient(answer))
    scenario(name)(minds=minds, rng=7, **json.loads(parameters)).run_model()
    return hashlib.sha256("\n".join(sorted(received)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("run", HASHES)
def test_prompts_are_unchanged(run: str) -> None:
    assert messages_hash(run) == HASHES[run]


if __name__ == "__main__":
    FILE.write_text(json.dumps({run: messages_hash(run) for run in HASHES}, indent=0) + "\n")
