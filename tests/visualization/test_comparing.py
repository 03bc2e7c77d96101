"""Two recorded runs side by side: what differs, and in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from sabm_mesa.runs.rerun import fork
from sabm_mesa.visualization.labels import Titles
from sabm_mesa.visualization.reading.charts import titles_in
from sabm_mesa.visualization.reading.comparing import (
    Difference,
    changes,
    columns,
    first_difference,
    parameters,
)
from sabm_mesa.visualization.reading.store import RunData, run_data

pytestmark = pytest.mark.check_once


def call(round_: int) -> str:
    return f"round {round_ + 1}"


def played(folder: Path, name: str, mind: Any = "fixed:20", **given: Any) -> RunData:
    path = folder / f"{name}.sqlite"
    settings = {"n_players": 12, "n_rounds": 3, "rng": 1, "minds": mind, **given}
    KeynesianBeautyContest(**settings, recording=path).run_model()
    return run_data(path, 0)


def test_the_first_difference_is_named_with_its_agents_and_columns(tmp_path: Path) -> None:
    one = played(tmp_path, "one")
    later = ScriptedMind(
        lambda ask: "30" if ask.key.round == 1 and ask.key.agent == 2 else "20", spec="fixed:20"
    )
    other = played(tmp_path, "other", later)
    found = first_difference(one, other)

    assert found is not None
    assert (found.round, found.agents, found.missing) == (1, (2,), False)
    assert {"mean", "target", "variance"} <= set(found.model)
    words = found.words(call, titles_in(one))
    assert words.startswith("The first to differ is round 2: mean pick, target (⅔ of the mean), ")
    assert words.endswith("; agents 2.")
    assert first_difference(one, one) is None


def test_a_longer_run_differs_by_its_length(tmp_path: Path) -> None:
    one, longer = played(tmp_path, "one"), played(tmp_path, "longer", n_rounds=4)
    found = first_difference(one, longer)

    assert found == Difference(3, missing=True)
    assert "round 4" in found.words(call, Titles())


def test_parameters_that_differ_have_both_values(tmp_path: Path) -> None:
    one = played(tmp_path, "one")
    other = played(tmp_path, "other", rng=2, personas="agreeable")

    assert parameters(one, other) == [
        ("personas", "none", "agreeable"), ("seed", "1", "2"),
    ]  # fmt: skip
    assert parameters(one, one) == []


def test_columns_that_differ_come_first_and_counts_last(tmp_path: Path) -> None:
    one, other = played(tmp_path, "one"), played(tmp_path, "other", "fixed:40")
    names = columns(one, other)

    assert names[:2] == ["mean", "target"]
    assert not {"run", "round", "condition"} & set(names)
    assert names.index("asks") > names.index("variance")


def test_each_fork_is_a_sentence(tmp_path: Path) -> None:
    run = played(tmp_path, "one")
    into = tmp_path / "forked.sqlite"
    fork(tmp_path / "one.sqlite", 1, {"minds": "fixed:40", "n_rounds": 5}, into)

    (words,) = changes(run_data(into, 0), call)
    assert words.startswith("From round 2 on: ")
    assert '"fixed:40"' in words
    assert "n_rounds = 5" in words
    assert changes(run, call) == []
