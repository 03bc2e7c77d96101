"""A screening of minds: which runs are played, and whose answers are whose."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.studies.screening import Published, as_frame, battery, scores, screen

PICKS = dataclasses.replace(battery(), tests=[t for t in battery().tests if t.name == "kbc"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("screened")


def test_each_row_is_of_its_mind(folder: Path) -> None:
    done = screen(["fixed:20", "fixed:30"], folder, tests=PICKS, runs=2, seed=5)
    agents = done.frames["kbc"]["agent_data"]

    assert [*done.seeds] == [5, 6]
    assert done.ran == 4
    assert agents.groupby("mind")["choice"].unique().map(list).to_dict() == {
        "fixed:20": [20],
        "fixed:30": [30],
    }
    for frame in done.frames["kbc"].values():
        assert [*frame.index] == [*range(len(frame))]
        assert "index" not in frame

    with_more = screen(["fixed:20", "fixed:30", "fixed:40"], folder, tests=PICKS, runs=2, seed=5)
    assert with_more.ran == 2
    one = screen(["fixed:30"], folder, tests=PICKS, runs=1, seed=6)
    assert one.ran == 0
    assert set(one.frames["kbc"]["agent_data"]["mind"]) == {"fixed:30"}
    assert len(one.frames["kbc"]["runs"]) == 1


def test_the_scores_as_a_table(folder: Path) -> None:
    results = scores(screen(["fixed:20", "fixed:90"], folder, tests=PICKS))
    published = [
        Published("GPT-9", "picks 31.5", "Somebody 2024", "kbc", "mean", 31.5),
        Published("GPT-9", "gives reasons", "Somebody 2024", "kbc", "words"),
    ]
    table = as_frame(results, published).set_index(["mind", "measure"])["value"]

    assert [(result.mind, result.passes) for result in results] == [
        ("fixed:20", True), ("fixed:90", False),
    ]  # fmt: skip
    assert table["fixed:20", "passes"] == 1.0
    assert table["fixed:20", "asks"] == 24
    assert table["fixed:20", "invalid"] == 0
    assert table["GPT-9", "mean"] == 31.5
    assert ("GPT-9", "words") not in table.index
    assert not math.isnan(table["fixed:20", "cost_usd"])


@pytest.mark.parametrize("minds", [[], ["fixed:1", "fixed:1"]])
def test_minds_are_named_once(minds: list[str], tmp_path: Path) -> None:
    with pytest.raises(MindSpecError):
        screen(minds, tmp_path, tests=PICKS)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"seed": -1}])
def test_a_wrong_number_writes_nothing(wrong: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        screen(["fixed:1"], tmp_path, tests=PICKS, **wrong)
    assert [*tmp_path.iterdir()] == []
