"""The figures of ``sabm run``, drawn by matplotlib on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import solara
import solara.lab

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.visualization.chart import FORMATS
from sabm_mesa.visualization.html import html, inside, picture, problem
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.scenario_view import DrawnChart, painting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawn = tuple[tuple[DrawnChart, "Figure"], ...]


@solara.component
def Figures(draw: Callable[[], Mapping[str, Figure]], moment: object) -> None:
    """A button that draws the figures of a run, and the figures with their downloads.

    Args:
        draw: makes the figures; it is called in a separate thread.
        moment: identifies the state that they show; figures of an earlier state are removed.
    """
    wanted, want = solara.use_state(False)

    def work() -> tuple[object, Drawn, str]:
        if not wanted:
            return moment, (), ""
        try:
            with painting():
                figures = draw()
                drawn = tuple(
                    (
                        DrawnChart(
                            name, figure.get_suptitle(), style.to_png(figure),
                            not any(ax.images for ax in figure.axes),
                        ),
                        figure,
                    )
                    for name, figure in figures.items()
                )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return moment, (), error_line(error)
        return moment, drawn, "" if drawn else "This scenario has no figures but its charts."

    task = solara.lab.use_task(work, dependencies=[wanted, moment])
    done = task.value if task.value is not None and task.value[0] == moment else None
    with inside("div", "rec-bar"):
        solara.Button(
            "Draw the figures of sabm run", icon_name="mdi-chart-box-outline", text=True,
            on_click=lambda: want(True), disabled=wanted and done is None,
        )  # fmt: skip
    with inside("div"):
        if wanted and done is None:
            html("p", "Drawing …", "sabm-empty", role="status")
    if done is None or not wanted:
        return
    with inside("div"):
        if done[2]:
            problem(done[2])
    with inside("div", "sabm-charts"):
        for drawing, figure in done[1]:
            _Paper(drawing, figure).key(drawing.name)


@solara.component
def _Paper(drawn: DrawnChart, figure: Figure) -> None:
    with inside("figure", "sabm-card sabm-chart"):
        with inside("div", "sabm-paper", tabindex="0"):
            picture(drawn)
        with inside("div", "sabm-chart-files"):
            for ending in FORMATS:
                with solara.FileDownload(_bytes(figure, ending), f"{drawn.name}.{ending}"):
                    solara.Button(ending.upper(), text=True, small=True)


def _bytes(figure: Figure, ending: str) -> Callable[[], bytes]:
    def draw() -> bytes:
        with painting():
            return style.to_bytes(figure, ending)

    return draw
