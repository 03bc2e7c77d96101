"""A chart that the browser paints: all points are sent once, then only new ones.

ECharts, a library of the Apache Software Foundation, paints it. Its scripts are in the installed
package `solara-assets`, so nothing is downloaded. Matplotlib draws the files for download on
request.
"""

from __future__ import annotations

import base64
import threading
from typing import Any

import solara
import traitlets
from ipyvuetify import VuetifyTemplate  # type: ignore[attr-defined]  # of no types

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, draw
from sabm_mesa.visualization.assets import address_of_asset
from sabm_mesa.visualization.html import inside
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.scenario_view import painting

FORMATS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
"""Formats of a download → their media types."""


def charts(
    shown: tuple[Chart, ...] | list[Chart],
    *,
    subtitle: str = "",
    at: int | None = None,
    played: int = -1,
    event_go: Any = None,
    event_choose: Any = None,
) -> None:
    """Charts, each in a separate card.

    Args:
        shown: the charts.
        subtitle: the minds and the condition of the run, for the downloads.
        at: the marked round; None: none.
        played: the last round in the charts.
        event_go: called with a round that was chosen in a chart.
        event_choose: called with an agent whose line or dot was chosen.
    """
    with inside("div", "sabm-charts", data_round=str(played)):
        for drawn in shown:
            BrowserChart(drawn, subtitle, at, event_go, event_choose).key(drawn.name)


@solara.component
def BrowserChart(
    shown: Chart,
    subtitle: str = "",
    at: int | None = None,
    event_go: Any = None,
    event_choose: Any = None,
) -> None:
    """One chart.

    Args:
        shown: the chart.
        subtitle: which minds and condition were run, for the downloads.
        at: the round that is marked; None: none.
        event_go: called with a round that was chosen in the chart.
        event_choose: called with an agent whose line or dot was chosen.
    """
    ChartWidget.element(shown=shown, subtitle=subtitle, at=at, go=event_go, choose=event_choose)


class ChartWidget(VuetifyTemplate):
    """The widget of a chart.

    Attributes:
        shown: the chart.
        subtitle: which minds and condition were run.
        at: the round that is marked, from 0; None: none.
        script: the path of ECharts among the files of all pages.
        spec: all of the chart for the browser; sent when more has changed than that points came.
        go: called with a round, from 0, that was chosen in the chart.
        choose: called with an agent whose line or dot was chosen.
    """

    template_file = (__file__, "chart.vue")
    shown = traitlets.Any()
    subtitle = traitlets.Unicode("")
    go = traitlets.Any(None, allow_none=True)
    choose = traitlets.Any(None, allow_none=True)
    at = traitlets.Int(None, allow_none=True).tag(sync=True)
    script = traitlets.Unicode().tag(sync=True)
    spec = traitlets.Dict().tag(sync=True)
    _quiet = False
    _behind = False

    def __init__(self, **given: Any) -> None:
        given["spec"] = given["shown"].for_browser()
        given["script"] = address_of_asset("echarts", "dist/echarts.esm.min.js")
        super().__init__(**given)

    @traitlets.observe("shown")
    def _show(self, _change: Any) -> None:
        spec = self.shown.for_browser()
        rows = new_points(self.spec, spec)
        if rows is None:
            self._behind = False
            self.spec = spec
            return
        self._quiet = self._behind = True
        self.spec = spec
        self._quiet = False
        self.send({"method": "add", "args": [rows]})

    def _should_send_property(self, key: str, value: Any) -> bool:
        kept_back = key == "spec" and self._quiet
        return not kept_back and bool(super()._should_send_property(key, value))

    def vue_shown_again(self, _data: Any) -> None:
        """Send a new view the points that were added since the whole chart was sent."""
        if self._behind:
            self._behind = False
            self.send_state("spec")

    def vue_chosen(self, round_: int) -> None:
        """Go to the round that the user chose in the chart."""
        if self.go is not None:
            self.go(round_)

    def vue_agent(self, agent: int) -> None:
        """Choose the agent whose line or dot the user chose in the chart."""
        if self.choose is not None:
            self.choose(agent)

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


def new_points(before: dict[str, Any], now: dict[str, Any]) -> list[list[Any]] | None:
    """The points that were added to each series.

    Args:
        before: the chart that was sent.
        now: the current chart (see `Chart.for_browser`).

    Returns:
        A list of points for each series; None when anything else has changed.
    """
    without = [{**chart, "series": [_bare(s) for s in chart["series"]]} for chart in (before, now)]
    if without[0] != without[1]:
        return None
    pairs = list(zip(before["series"], now["series"], strict=True))
    if any(new["points"][: len(old["points"])] != old["points"] for old, new in pairs):
        return None
    return [new["points"][len(old["points"]) :] for old, new in pairs]


def _bare(series: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in series.items() if key != "points"}
