"""The reporting checklist: each item from what runs know, and honest about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.describe import (
    checklist,
    checklist_as_markdown,
    checklist_as_text,
    checklist_of_recording,
    describe_recording,
)
from sabm_mesa.describe.checklist import KNOWN, NONE, OPEN, PARTLY, checklist_texts
from sabm_mesa.recording import Recording
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
        assert item["asks"] in checklist_as_text(filled)
        assert f"| `{item['number']}` | {item['asks']} | " in checklist_as_markdown(filled)


def answers_of(filled: Mapping[str, Any]) -> dict[str, str]:
    return {item["number"]: item["answer"] for item in filled["items"]}


@pytest.mark.parametrize(("runs", "words"), [(1, " in 1 run"), (2, " in 2 runs")])
def test_the_runs_are_counted(tmp_path: Path, runs: int, words: str) -> None:
    path = tmp_path / "r.sqlite"
    with Recording(path) as recording:
        run_all(
            KeynesianBeautyContest,
            {"n_players": 2, "n_rounds": 1},
            seed=4,
            runs=runs,
            recording=recording,
        )

    answers = answers_of(checklist_of_recording(path))

    assert f"{words}: 2 of classical." in answers["A.1"]
    assert answers["D.1"] == "No person took part in the runs."
    assert " in " not in answers_of(checklist(KeynesianBeautyContest))["A.1"]


def test_what_is_set_is_stated_and_nothing_else() -> None:
    settings = {"minds": "llm:gpt-4o-mini", "personas": "agreeable", "extra_body": {"top_k": 5}}
    with_more = answers_of(checklist(KeynesianBeautyContest, settings))
    without = answers_of(checklist(KeynesianBeautyContest, {"minds": "llm:gpt-4o-mini"}))

    assert "{'top_k': 5}" in with_more["B.4"]
    assert "Further fields" not in without["B.4"]
    assert "personas: agreeable" in with_more["C.2"]
    assert without["C.2"].endswith("no personas.")


def test_without_a_language_model_its_items_do_not_apply() -> None:
    items = {each["number"]: each for each in checklist(KeynesianBeautyContest)["items"]}
    assert items["B.1"]["status"] == items["E.1"]["status"] == NONE
    assert items["A.1"]["status"] == items["E.2"]["status"] == PARTLY
    planned = checklist(KeynesianBeautyContest, {"minds": "llm:gpt-4o-mini"})["items"]
    assert {each["number"]: each["status"] for each in planned}["B.1"] == PARTLY
