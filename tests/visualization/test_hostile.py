"""Recordings of strangers in the viewer: each is drawn, or is one line, in every tab."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import solara

from sabm_mesa.errors import RecordingError
from sabm_mesa.visualization.pages.recording import Opened, tabs_of
from sabm_mesa.visualization.records.parts import Guarded
from sabm_mesa.visualization.records.store import run_data, runs_of
from tests.recording.hostile import OF_BYTES, WAYS, make_good, spoil

HUGE = "answers are 300 MB"
FAST = {"runs is an endless view": 1, "costs are texts": 1, "the provenance leads nowhere": 1}
"""Recordings that the page itself refuses, and those that a tab does."""
ENOUGH_S = 60
REFUSED = "is not a usable recording"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "recording.sqlite"
    make_good(path)
    return path


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, marks=() if how in FAST else pytest.mark.slow)
        for how in (*WAYS, *OF_BYTES)
        if how != HUGE
    ],
)
def test_no_recording_of_a_stranger_ends_a_page_in_a_traceback(
    good: Path, tmp_path: Path, how: str
) -> None:
    path = tmp_path / "r.sqlite"
    spoil(good, path, how)

    @solara.component
    def shown() -> None:
        Opened(str(path), 0, {}, [], lambda _path, _run: None, lambda _url: None)
        for draw in tabs(path):
            Guarded(draw)

    shown_texts = drawn(shown())
    if how in FAST:
        assert any(REFUSED in text for text in shown_texts)


def test_a_good_recording_is_drawn_without_a_line_of_an_error(good: Path) -> None:
    @solara.component
    def shown() -> None:
        for draw in tabs(good):
            Guarded(draw)

    shown_texts = drawn(shown())
    assert "Only invalid ones" in shown_texts
    assert not any(REFUSED in text for text in shown_texts)


def tabs(path: Path) -> list[Any]:
    """The functions that draw the tabs of the first run; none for a refused recording."""
    try:
        return [*tabs_of(run_data(path, 0), runs_of(path), {}, [], lambda _url: None).values()]
    except RecordingError:
        return []


def drawn(element: Any) -> list[str]:
    """The texts of what is drawn, when nothing is being read any more."""
    box, rendered = solara.render(element, handle_error=False)
    try:
        deadline = time.monotonic() + ENOUGH_S
        while True:
            found = [*texts(box)]
            if not any(text.endswith(" …") for text in found):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
    finally:
        rendered.close()


def texts(widget: Any) -> Iterator[str]:
    """The texts in a widget and in those inside of it."""
    if isinstance(widget, str):
        yield widget
        return
    label = getattr(widget, "label", None)
    if isinstance(label, str):
        yield label
    for child in getattr(widget, "children", None) or ():
        yield from texts(child)
