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

from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.visualization import run_controller
from sabm_mesa.visualization.viewer import app

pytestmark = pytest.mark.check_once
WAIT_S = 60.0


class Drawn:
    """A page that is drawn."""

    def __init__(self, box: Any) -> None:
        self.box = box

    @property
    def texts(self) -> list[str]:
        return [*texts(self.box)]

    @property
    def transport(self) -> Any:
        """The widget of Play, Step and Reset."""
        (found,) = (widget for widget in _widgets(self.box) if hasattr(widget, "vue_press"))
        return found

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
    assert {"Story of", "Usage and files"} <= set(shown)
    assert shown[shown.index("Asks answered") + 1] == "0"


def test_a_step_plays_a_round_and_a_reset_forgets_it(page: Callable[..., Drawn]) -> None:
    drawn = page(app.ScenarioByName("kbc"))
    assert drawn.transport.live == "ready"
    drawn.transport.vue_press("step")
    drawn.until("1 of 4 rounds")
    drawn.until("Asks answered", "24", "Asks answered")
    drawn.transport.vue_press("reset")
    drawn.until("Nothing is played yet")


def texts(widget: Any) -> Iterator[str]:
    """The texts in a widget and in those inside of it."""
    if isinstance(widget, str):
        yield widget
        return
    label = getattr(widget, "label", None)
    if isinstance(label, str):
        yield label
    yield from getattr(widget, "columns", None) or ()
    for fact in getattr(widget, "facts", None) or ():
        yield from fact
    for child in getattr(widget, "children", None) or ():
        yield from texts(child)
