"""`sabm probe` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .support import Sabm, one_line


def test_a_probe_and_what_it_would_cost(sabm: Sabm, tmp_path: Path) -> None:
    done = sabm("probe", "--minds", "classical", "--out", tmp_path, "--json")
    assert (done.status, done.err) == (0, "")
    said = json.loads(done.out)
    (found,) = said["minds"]
    assert found["verdict"] == "solves"
    assert json.loads((tmp_path / "probe.json").read_text("utf-8"))["minds"] == [found]

    cost = sabm("probe", "--minds", "llm:gpt-4o-mini", "--out", tmp_path / "none", "--cost")
    assert (cost.status, cost.err) == (0, "")
    assert cost.out.startswith("Probe: 1 run of 1 round, about 30 questions a round, minds")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--minds", "classical:level_k"), "Unknown classical mind of probe 'level_k'"),
        (("--minds", "llm:a=2,llm:b=3"), "A probe tests one mind"),
        (("--minds", "nobody"), "Cannot read the mind spec 'nobody'"),
    ],
)
def test_what_cannot_be_probed_is_said_in_a_line(
    sabm: Sabm, tmp_path: Path, options: tuple[str, ...], line: str
) -> None:
    assert line in one_line(sabm("probe", *options, "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()
