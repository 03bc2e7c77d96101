"""A chart that the browser paints.

ECharts, a library of the Apache Software Foundation, paints it. Its scripts are in the installed
package `solara-assets`, so nothing is downloaded. Matplotlib draws the files for download on
request.
"""

from __future__ import annotations

import base64
import threading
from functools import cache
from typing import Any

import traitlets
from ipyvuetify import VuetifyTemplate  # type: ignore[attr-defined]  # of no types
from solara.server import settings

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import draw
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.viewer.html import painting

FORMATS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
"""Formats of a download → their media types."""


@cache
def _echarts() -> str:
    """The path of ECharts among the scripts that Solara serves."""
    folder = settings.assets.proxy_cache_dir
    return next(folder.glob("echarts@*/dist/echarts.esm.min.js")).relative_to(folder).as_posix()


class ChartWidget(VuetifyTemplate):
    """The widget of a chart.

    Attributes:
        shown: the chart.
        subtitle: which minds and condition were run.
        at: the round that is marked, from 0; None: none.
        script: the path of ECharts among the files of all pages.
        spec: the chart for the browser.
        go: called with a round, from 0, that was chosen in the chart.
        choose: called with an agent whose line or dot was chosen.
        titles: the titles of the charts that can be in this place.
        place: the index of the shown one.
        show: called with the index of another one.
    """

    template_file = (__file__, "chart.vue")
    shown = traitlets.Any()
    subtitle = traitlets.Unicode("")
    go = traitlets.Any(None, allow_none=True)
    choose = traitlets.Any(None, allow_none=True)
    show = traitlets.Any(None, allow_none=True)
    at = traitlets.Int(None, allow_none=True).tag(sync=True)
    titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    place = traitlets.Int(0).tag(sync=True)
    script = traitlets.Unicode().tag(sync=True)
    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, **given: Any) -> None:
        given["spec"] = given["shown"].for_browser()
        given["script"] = _echarts()
        super().__init__(**given)

    @traitlets.observe("shown")
    def _show(self, _change: Any) -> None:
        self.spec = self.shown.for_browser()

    def vue_chosen(self, round_: int) -> None:
        """Go to the round that the user chose in the chart."""
        if self.go is not None:
            self.go(round_)

    def vue_agent(self, agent: int) -> None:
        """Choose the agent whose line or dot the user chose in the chart."""
        if self.choose is not None:
            self.choose(agent)

    def vue_pick(self, place: int) -> None:
        """Show another chart in this place."""
        if self.show is not None:
            self.show(place)

    def vue_download(self, ending: str) -> None:
        """Draw the chart as a file, on a thread, and hand it to the browser."""
        if ending in FORMATS:
            threading.Thread(target=self._draw, args=(ending,), name="sabm-draw-file").start()

    def _draw(self, ending: str) -> None:
        try:
            with painting():
                data = style.to_bytes(draw(self.shown, self.subtitle), ending)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            self.send({"method": "failed", "args": [error_line(error)]})
            return
        encoded = base64.b64encode(data).decode()
        name = f"{self.shown.name}.{ending}"
        self.send({"method": "save", "args": [name, FORMATS[ending], encoded]})
