"""Recordings of strangers in the viewer: each is drawn, or is one line, in every tab."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import solara

from sabm_mesa.errors import RecordingError
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.pages.recording import Chooser, Opened, tabs_of
from sabm_mesa.visualization.records.compare_view import Sides
from sabm_mesa.visualization.records.parts import Guarded
from sabm_mesa.visualization.records.reading_view import source_of
from sabm_mesa.visualization.records.store import listed, run_data, runs_of
from sabm_mesa.visualization.story import story_of
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


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of another run, to compare with."""
    path = tmp_path_factory.mktemp("other") / "recording.sqlite"
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
    good: Path, other: Path, tmp_path: Path, how: str
) -> None:
    path = tmp_path / "r.sqlite"
    spoil(good, path, how)

    @solara.component
    def shown() -> None:
        Opened(str(path), 0, {}, [], lambda _path, _run: None, lambda _url: None)
        for draw in tabs(path):
            Guarded(draw)

    @solara.component
    def elsewhere() -> None:
        Chooser(listed(tmp_path), False, lambda _path: None)
        Guarded(lambda: Sides(run_data(other, 0), str(path), 0))

    shown_texts, texts_elsewhere, told = drawn(shown()), drawn(elsewhere()), story(path)
    assert "\n" not in told
    assert all(len(text) < 1_000 for text in texts_elsewhere)
    if how in FAST:
        assert any(REFUSED in text for text in shown_texts)
        assert any(REFUSED in text for text in texts_elsewhere)
        assert REFUSED in told


def test_a_good_recording_is_drawn_without_a_line_of_an_error(good: Path) -> None:
    @solara.component
    def shown() -> None:
        for draw in tabs(good):
            Guarded(draw)

    shown_texts = drawn(shown())
    assert "Only invalid ones" in shown_texts
    assert '"Round 2"' in story(good)
    assert not any(REFUSED in text for text in shown_texts)


def test_a_pipe_with_the_name_of_a_recording_is_not_listed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.sqlite")

    assert listed(tmp_path) == []


def tabs(path: Path) -> list[Any]:
    """The functions that draw the tabs of the first run; none for a refused recording."""
    try:
        return [*tabs_of(run_data(path, 0), runs_of(path), {}, [], lambda _url: None).values()]
    except RecordingError:
        return []


def story(path: Path) -> str:
    """The story of the first agent as it goes to the browser, or the line that is shown."""
    try:
        source = source_of(run_data(path, 0))
        told = source and story_of(source, 1, 1)
    except Exception as error:  # noqa: BLE001 - as on the page
        return error_line(error)
    return json.dumps(told, allow_nan=False)


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
    yield from getattr(widget, "columns", None) or ()
    for recording in getattr(widget, "recordings", None) or ():
        yield from (recording["words"], recording["about"])
    for fact in getattr(widget, "facts", None) or ():
        yield from fact
    for child in getattr(widget, "children", None) or ():
        yield from texts(child)
