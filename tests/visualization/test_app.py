"""The pages of the viewer, drawn without a browser: what each one shows, and what buttons do."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import solara
from solara.server.kernel import Kernel
from solara.server.kernel_context import PageStatus, VirtualKernelContext

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.recording import Recording
from sabm_mesa.visualization import app, run_controller
from tests.visualization.test_hostile import texts

pytestmark = pytest.mark.check_once
WAIT_S = 60.0


class Drawn:
    """A page that is drawn."""

    def __init__(self, box: Any) -> None:
        self.box = box

    @property
    def texts(self) -> list[str]:
        return [*texts(self.box)]

    def press(self, label: str) -> None:
        """Press the button with a label."""
        (button,) = (
            widget
            for widget in _widgets(self.box)
            if label in (getattr(widget, "children", None) or ()) and hasattr(widget, "fire_event")
        )
        button.fire_event("click", {})

    def until(self, *shown: str) -> list[str]:
        """Wait until texts are shown one after another, and return all texts."""
        deadline = time.monotonic() + WAIT_S
        while True:
            now = self.texts
            if re.search("\n".join(shown), "\n".join(now)):
                return now
            assert time.monotonic() < deadline, now
            time.sleep(0.02)


def _widgets(widget: Any) -> Iterator[Any]:
    if not isinstance(widget, str):
        yield widget
        for child in getattr(widget, "children", None) or ():
            yield from _widgets(child)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Drawn]]:
    """Draws a page of somebody whose folder is empty."""
    monkeypatch.chdir(tmp_path)
    opened = []
    with closing(asyncio.new_event_loop()) as loop:
        context = VirtualKernelContext(id="page", kernel=Kernel(), session_id="me", event_loop=loop)
        context.page_status["tab"] = PageStatus.CONNECTED  # only such a page is drawn again

        def draw(element: Any) -> Drawn:
            with context:
                box, rendered = solara.render(element, handle_error=False)
            opened.append(rendered)
            return Drawn(box)

        yield draw
        with context:
            for rendered in opened:
                rendered.close()
        run_controller.close_all()


def test_a_scenario_that_does_not_exist_is_one_line(page: Callable[..., Drawn]) -> None:
    (line,) = page(app.ScenarioByName("kbk")).texts
    assert "'kbk'" in line
    assert "'kbc'" in line


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_page_of_a_scenario_is_complete_before_the_first_round(
    page: Callable[..., Drawn], name: str
) -> None:
    shown = page(app.ScenarioByName(name)).texts
    assert shown[0].startswith(scenario(name).title)
    assert {"Play", "Step", "Reset", "Agents", "Usage"} <= set(shown)
    assert shown[shown.index("Asks answered") + 1] == "0"


def test_a_step_plays_a_round_and_a_reset_forgets_it(page: Callable[..., Drawn]) -> None:
    drawn = page(app.ScenarioByName("kbc"))
    assert "Pause" not in drawn.texts
    drawn.press("Step")
    drawn.until("1 of 4 rounds")
    drawn.until("Asks answered", "24", "Asks answered")
    drawn.press("Reset")
    drawn.until("Nothing is played yet")


def test_the_list_of_recordings_names_what_is_in_each(
    page: Callable[..., Drawn], tmp_path: Path
) -> None:
    path = tmp_path / "out" / "recording.sqlite"
    path.parent.mkdir()
    with Recording(path) as recording:
        KeynesianBeautyContest(n_players=2, n_rounds=1, rng=7, recording=recording).run_model()
    drawn = page(app.Recordings())
    shown = drawn.until("kbc · 1 run")

    assert "kbc · 1 run (1 finished)" in shown
    assert any("seed 7" in text for text in shown)


@pytest.mark.parametrize("wall", [app.Screen, app.ReadOnlyScreen], ids=["host", "link"])
def test_a_wall_needs_the_code_of_a_game(
    page: Callable[..., Drawn], wall: Callable[[str], Any]
) -> None:
    title, words = page(wall("WXYZ")).texts
    assert title == "No game here"
    assert "code" in words or "link" in words


def test_the_host_chooses_before_a_game_opens(page: Callable[..., Drawn]) -> None:
    shown = page(app.Host()).texts
    assert {"New game", "Scenario", "Seats for people", "Groups", "Open the game"} <= set(shown)
