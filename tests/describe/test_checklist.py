"""The reporting checklist: each item from what runs know, and honest about the rest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.describe import (
    checklist,
    checklist_as_markdown,
    checklist_of_recording,
    describe_recording,
)
from sabm_mesa.describe.checklist import KNOWN, NONE, OPEN, PARTLY, checklist_texts
from sabm_mesa.recording import Recording
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.run import run_all
from tests.llm_server import LLMServer

CORE = [*(f"{part}.1" for part in "ABCDEFG"), "A.2", "B.2", "B.3", "B.4", "B.5", "C.2", "E.2"]


def test_the_items_are_those_of_the_source() -> None:
    numbers = list(checklist_texts()["items"])
    assert numbers[:14] == sorted(CORE)
    assert all(number.startswith("O.") for number in numbers[14:])


def test_a_recording_fills_what_it_knows_and_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=lambda *_: "33") as server, Recording(path) as recording:
        settings = {"n_players": 3, "n_rounds": 1, "minds": f"llm:qwen3@{server.url}"}
        run_all(KeynesianBeautyContest, settings, seed=4, recording=recording)
    filled = checklist_of_recording(path)
    items = {item["number"]: item for item in filled["items"]}
    assert "as the servers named them: qwen3; " in items["B.1"]["answer"]
    assert server.url in items["B.2"]["answer"]
    assert "temperature 0.7" in items["B.3"]["answer"]
    assert "run 0: seed 4" in items["B.3"]["answer"]
    assert describe_recording(path)["prompts_sha256"] in items["C.1"]["answer"]
    assert "Of 3 answers 3 were exact, 0 in other words, 0 unusable." in items["E.2"]["answer"]
    assert items["O.8"]["answer"].startswith("3 answers, ")
    assert items["B.5"]["status"] == KNOWN
    for number in ("E.1", "G.1", "O.1", "O.7"):
        assert (items[number]["status"], items[number]["answer"]) == (OPEN, "")
        assert items[number]["left"]
    for item in filled["items"]:
        assert f"| `{item['number']}` | {item['asks']} | " in checklist_as_markdown(filled)


def test_without_a_language_model_its_items_do_not_apply() -> None:
    items = {each["number"]: each for each in checklist(KeynesianBeautyContest)["items"]}
    assert items["B.1"]["status"] == items["E.1"]["status"] == NONE
    assert items["A.1"]["status"] == items["E.2"]["status"] == PARTLY
    planned = checklist(KeynesianBeautyContest, {"minds": "llm:gpt-4o-mini"})["items"]
    assert {each["number"]: each["status"] for each in planned}["B.1"] == PARTLY


def answers(parameters: dict[str, Any] | None = None, model: Any = KeynesianBeautyContest) -> Any:
    """Number of an item → its answer, before any run."""
    return {each["number"]: each["answer"] for each in checklist(model, parameters)["items"]}


FILE, REMOTE = "gguf:model.gguf", "llm:m@http://127.0.0.1:1/v1"
ONE = {"n_players": 3, "minds": "llm:m"}


@pytest.mark.parametrize(
    ("given", "number", "there", "not_there"),
    [
        ({"n_players": 3}, "A.1", ["No language model", "3 of classical"], [" run", "subject"]),
        (ONE, "A.1", ["As the subject", "Agents: 3 of llm:m."], [" in ", "No language model"]),
        ({"n_players": 3}, "A.2", ["No language model"], ["Automated"]),
        (ONE, "A.2", ["Automated"], ["People"]),
        ({"n_players": 3, "minds": {"llm:m": 2, "human": 1}}, "A.2", ["People played"], []),
        ({"minds": {"llm:m": 2, "human": 1}, "n_players": 3}, "D.1", ["People took part"], []),
        (ONE, "D.1", [], ["person", "People"]),
        ({"minds": {"llm:a": 1, "llm:b": 2}, "n_players": 3}, "B.1", ["asked for: llm:a, llm:b."],
         ["servers", "provider", "begun"]),
        (ONE, "B.2", ["Over an OpenAI-compatible", "API;"], ["On this machine", "("]),
        ({"minds": REMOTE}, "B.2", ["API (http://127.0.0.1:1/v1);"], ["On this machine"]),
        ({"minds": FILE}, "B.2", ["On this machine, from a file;"], ["(", "API"]),
        ({"minds": {FILE: 1, REMOTE: 2}, "n_players": 3}, "B.2",
         ["API (http://127.0.0.1:1/v1);"], ["On this machine"]),
        (ONE | {"temperature": 0.5, "top_p": None}, "B.3", ["temperature 0.5; "],
         ["top_p", "None", "differs", "run"]),
        (ONE | {"max_attempts": 4, "reasoning_effort": "low"}, "B.3",
         ["max_attempts 4", "reasoning_effort low"], []),
        (ONE, "B.4", ["Base model"], ["Further"]),
        (ONE | {"extra_body": {"k": 3}}, "B.4", ["Further fields of the requests: {'k': 3}"], []),
        (ONE, "C.1", ["condition baseline", "variant default", "describe kbc."], ["recording"]),
        (ONE | {"condition": "cooperative"}, "C.1", ["condition cooperative"], []),
        (ONE, "C.2", ["; no personas."], ["personas:"]),
        (ONE | {"personas": None}, "C.2", ["; no personas."], ["personas:"]),
        (ONE | {"personas": "agreeable"}, "C.2", ["; personas: agreeable."], ["no personas"]),
        (ONE, "E.2", ["at most 3 times"], ["Of "]),
        (ONE | {"max_attempts": 5}, "E.2", ["at most 5 times"], ["Of "]),
        (ONE, "F.1", ["sabm-mesa "], ["replay"]),
        (ONE, "O.2", ["Wordings that exist: default, "], []),
        (ONE, "O.3", [], ["llm:m"]),
        ({"minds": {"llm:a": 1, "llm:b": 2}, "n_players": 3}, "O.3", ["llm:a, llm:b."], []),
        (ONE, "O.6", [], ["export"]),
        (ONE, "O.8", [], ["answers"]),
    ],
)  # fmt: skip
def test_the_facts_of_a_plan(
    given: dict[str, Any], number: str, there: list[str], not_there: list[str]
) -> None:
    answer = answers(given)[number]
    assert bool(answer) == bool(there)
    assert [each for each in there if each not in answer] == []
    assert [each for each in not_there if each in answer] == []


def kept(path: Path, *runs: dict[str, Any]) -> None:
    """Record runs of one round, each with its parameters."""
    with Recording(path) as recording:
        for given in runs:
            settings = {"n_players": 3, "n_rounds": 1, **given}
            run_all(KeynesianBeautyContest, settings, seed=4, recording=recording)


def test_runs_are_counted_and_their_files_named(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    kept(path, {}, {"n_players": 4})
    kept(path, {"n_players": 5})

    def filled(*runs: int) -> dict[str, dict[str, Any]]:
        return {each["number"]: each for each in checklist_of_recording(path, runs)["items"]}

    one, two = filled(0), filled(0, 1)
    title = KeynesianBeautyContest.title
    assert f"agents of {title} in 1 run: 3 of classical." in one["A.1"]["answer"]
    assert f"agents of {title} in 2 runs: 3 of classical, 4 of" in two["A.1"]["answer"]
    assert one["D.1"]["answer"] == "No person took part in the runs."
    assert f"sabm replay {path}." in one["F.1"]["answer"]
    assert f"sabm export {path} --to jsonl." in one["O.6"]["answer"]
    assert "Of 3 answers 3 were exact" in one["E.2"]["answer"]
    assert "Of 7 answers 7 were exact" in two["E.2"]["answer"]
    assert two["O.8"]["answer"].startswith("7 answers, 0 prompt tokens, 0 answer tokens, 0 dollars")
    latest = {each["number"]: each for each in checklist_of_recording(path)["items"]}
    assert "in 1 run: 5 of classical." in latest["A.1"]["answer"]


def test_answers_are_counted_by_how_they_were_read(tmp_path: Path) -> None:
    path, said = tmp_path / "r.sqlite", ["33", "I choose 40.", "no idea", "12"]
    coming = iter(said)
    with LLMServer(brain=lambda *_: next(coming, "33")) as server, Recording(path) as recording:
        settings = {"n_players": 3, "n_rounds": 1, "minds": f"llm:m@{server.url}"}
        settings |= {"temperature": None}
        run_all(KeynesianBeautyContest, settings, seed=4, recording=recording)
    filled = checklist_of_recording(path)
    found = {each["number"]: each["answer"] for each in filled["items"]}
    assert "Of 4 answers 2 were exact, 1 in other words, 1 unusable." in found["E.2"]
    assert "Each message as it was sent is in the recording." in found["C.1"]
    assert f"describe {path}." in found["C.1"]
    assert re.search(r"; runs begun on \d{4}-\d\d-\d\d\.$", found["B.1"])
    assert "temperature" not in found["B.3"]
    sent = Recorded(path).asks()
    assert found["O.8"].startswith(
        f"4 answers, {sent['prompt_tokens'].sum():,} prompt tokens, "
        f"{sent['completion_tokens'].sum():,} answer tokens, cost not known, "
    )
    head = checklist_as_markdown(filled).split("\n")[2]
    assert head.startswith(f"{filled['name']}, for {path}: ")
    counts = [int(each.split()[0]) for each in head.split(": ")[1].rstrip(".").split(", ")]
    assert sum(counts) == len(filled["items"])
    assert min(counts) > 0
