"""The recordings of the page of results can be repeated without the model that played them."""

from pathlib import Path

import pytest

from sabm_mesa.runs.rerun import replay
from tools.results import KEPT, PAGE, tables

RECORDINGS = sorted(KEPT.glob("*/recording.sqlite"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.parent.name)
def test_a_shipped_recording_is_replayed(path: Path) -> None:
    (answers,) = replay(path).answers_repeated()

    assert answers > 0


def test_the_tables_of_the_page_are_those_of_the_recordings() -> None:
    assert "\n".join(tables()) in PAGE.read_text("utf-8")
