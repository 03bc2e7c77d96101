"""The tests' own chat-completions server: what it answers by itself, and as a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
from openai import OpenAI

from tests.llm_server import stub

ROOT = Path(__file__).resolve().parents[1]


SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 20},
        "pick": {"type": "integer", "minimum": 3, "maximum": 5},
        "share": {"type": "number", "minimum": 0.25, "exclusiveMaximum": 0.5},
        "sure": {"type": "boolean"},
        "exit": {"enum": ["left", "bottom", "right"]},
        "order": {"type": "array", "items": {"$ref": "#/$defs/rank"}, "minItems": 2, "maxItems": 2},
        "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
    },
    "required": ["reason", "pick", "share", "sure", "exit", "order", "note"],
    "additionalProperties": False,
    "$defs": {"rank": {"type": "integer", "minimum": 1, "maximum": 2}},
}


def answer(text: str, **body: Any) -> str:
    """The first answer of the stub brain."""
    return stub([{"role": "user", "content": text}], body)


def test_stub_fills_a_json_schema() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    picks = set()
    for player in range(30):
        value = json.loads(answer(f"You are {player}.", response_format=form))
        jsonschema.validate(value, SCHEMA)
        picks.add(value["pick"])
    assert picks == {3, 4, 5}
    assert list(value) == list(SCHEMA["properties"])


def test_as_a_process() -> None:
    command = [sys.executable, "-m", "tests.llm_server", "--latency", "0.01"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            client = OpenAI(base_url=json.loads(process.stdout.readline())["url"], api_key="none")
            asked = [{"role": "user", "content": "Hello"}]
            assert client.chat.completions.create(model="m", messages=asked).model == "m"
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
