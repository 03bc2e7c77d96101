"""The parameters and tags that differ between the runs of a recording."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sabm_mesa import Recorded, fork, sweep
from sabm_mesa.recording.varied import label_of, word_of
from sabm_mesa.visualization.reading.bundle import write_bundle
from sabm_mesa.visualization.reading.store import listed, values_by_name

PLAIN = {"n_rounds": 2, "communication": False}


@pytest.mark.parametrize(
    ("value", "word"),
    [(True, "yes"), (np.False_, "no"), (None, "none"), (2.0, "2"), ("a", "a")],
)
def test_values_are_words(value: Any, word: str) -> None:
    assert word_of(value) == word


@pytest.mark.slow
def test_a_sweep_says_what_it_varied_everywhere(tmp_path: Path) -> None:
    sweep(
        "bertrand", {"initial_prices": [3, 5], "minds": ["fixed:8", "fixed:7"]}, runs=2,
        folder=tmp_path, parameters=PLAIN,
    )  # fmt: skip
    path = tmp_path / "recording.sqlite"
    runs = Recorded(path).runs()

    assert runs["set.initial_prices"].tolist() == [3, 3, 3, 3, 5, 5, 5, 5]
    assert runs["set.minds"].tolist() == 2 * (2 * ["fixed:8"] + 2 * ["fixed:7"])
    assert runs.groupby(["set.initial_prices", "set.minds"])["rounds"].sum().tolist() == [4] * 4
    row = runs.iloc[2].to_dict()
    assert label_of(row) == "initial_prices 3, minds fixed:7"
    assert values_by_name(runs) == {
        "set.initial_prices": ("initial_prices", ["3", "5"]),
        "set.minds": ("minds", ["fixed:8", "fixed:7"]),
    }
    (found,) = listed(tmp_path)
    assert found.about.endswith("· varied: initial_prices (2), minds (2)")
    index = (write_bundle(path, tmp_path / "pages") / "index.html").read_text("utf-8")
    assert '<th scope="col">initial_prices</th><th scope="col">minds</th>' in index
    assert "<td>3</td><td>fixed:7</td>" in index
    page = (tmp_path / "pages/run-2.html").read_text("utf-8")
    assert "<dt>Varied</dt><dd>initial_prices 3, minds fixed:7</dd>" in page


def test_a_fork_counts_with_what_it_changed(tmp_path: Path) -> None:
    sweep("bertrand", {}, folder=tmp_path, parameters={**PLAIN, "minds": "fixed:8"})
    path = tmp_path / "recording.sqlite"
    fork(path, 1, {"minds": "fixed:7"}, path)

    assert Recorded(path).runs()["set.minds"].tolist() == ["fixed:8", "fixed:7"]
