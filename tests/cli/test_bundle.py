"""`sabm bundle` and `sabm anchors` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest

from .support import Sabm, one_line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "r.sqlite"
    KeynesianBeautyContest(
        n_players=3, n_rounds=1, minds="fixed:5", rng=1, recording=path
    ).run_model()
    return path


def test_a_bundle_stands_beside_the_recording_and_is_never_replaced(sabm: Sabm, path: Path) -> None:
    done = sabm("bundle", path)
    index = path.parent / "bundle" / "index.html"
    assert (done.status, done.err) == (0, "")
    assert done.out == f"Written to {index.parent}: open {index} in a browser.\n"
    assert "is there already" in one_line(sabm("bundle", path))
    out = path.parent / "other"
    told = json.loads(sabm("bundle", path, "--out", out, "--run", "0", "--json").out)
    assert told == {
        "recording": str(path), "folder": str(out), "index": str(out / "index.html"),
    }  # fmt: skip


def test_anchors_are_asked_of_language_models_and_looked_for_in_recordings(
    sabm: Sabm, path: Path
) -> None:
    assert "holds no answers to anchors" in one_line(sabm("anchors", path))
    assert "There is no recording" in one_line(sabm("anchors", path.with_name("none.sqlite")))
    refused = one_line(sabm("anchors", path, "--minds", "classical"))
    assert refused == "Anchors are asked of language models, not of 'classical'."
