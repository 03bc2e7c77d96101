"""The viewer's first page, and a press of *Step*: ``python -m benchmarks.viewer``.

The time of the first page is that from the start of the server until the button *Step* is visible,
in a Chromium that already runs. For each scenario, the benchmark opens the page, presses *Step* and
waits until ECharts has the new points; the page measures both moments. The CPU time is that of the
whole server process: the round, reading the model (data frames, charts, the world), and rendering
the page. It needs Chromium and playwright, as the tests of the viewer do.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.visualization.browser.conftest import FLAGS, Server, chromium_path

SCENARIOS = ("bertrand", "kbc", "evacuation")
STEPS = 3
SERVER = """
import signal, time
from sabm_mesa.cli.view import view
from sabm_mesa.visualization import server
server.DRAW_AFTER_S = 1e6  # no pictures for the home page meanwhile
signal.signal(signal.SIGUSR1, lambda *_: print("SPENT", time.process_time(), flush=True))
view(port={port}, browser=False)
"""
WATCH = """
() => {
  const chart = document.querySelector(".sabm-canvas");
  const note = () => { window.painted = performance.now(); };
  new MutationObserver(note).observe(chart, { attributeFilter: ["data-points"] });
  const press = () => { window.pressed = performance.now(); window.painted = 0; };
  document.addEventListener("click", press, true);
}
"""


def main() -> None:
    """Measure and print a line for each scenario."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
        started = time.perf_counter()
        server = Server(Path(folder), SERVER)
        try:
            page = server.admit(browser.new_context()).new_page()
            page.goto(f"{server.url}/scenario/{SCENARIOS[0]}")
            page.get_by_role("button", name="Step", exact=True).wait_for()
            print(f"first usable page: {time.perf_counter() - started:.1f} s", flush=True)
            page.context.close()
            for name in SCENARIOS:
                page = server.admit(browser.new_context()).new_page()
                page.goto(f"{server.url}/scenario/{name}")
                _measure(page, server, name)
                page.context.close()
        finally:
            browser.close()
            server.close()


def _measure(page: Page, server: Server, name: str) -> None:
    step = page.get_by_role("button", name="Step", exact=True)
    page.locator(".sabm-canvas canvas").first.wait_for()
    page.wait_for_timeout(2000)
    step.click()  # the first round loads libraries
    page.locator('.sabm-charts[data-round="0"]').wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(WATCH)
    before = _spent(page, server)
    took = []
    for _ in range(STEPS):
        step.click()
        page.wait_for_function("window.painted > 0", polling=10)
        took.append(page.evaluate("window.painted - window.pressed"))
        page.wait_for_timeout(700)
    after = _spent(page, server)
    print(
        f"{name}: {min(took):.0f} to {max(took):.0f} ms from press to picture, median "
        f"{statistics.median(took):.0f} of {STEPS}; server CPU a step: "
        f"{1000 * (after - before) / STEPS:.0f} ms",
        flush=True,
    )


def _spent(page: Page, server: Server) -> float:
    n = server.log().count("SPENT")
    server.signal(signal.SIGUSR1)
    while server.log().count("SPENT") == n:
        page.wait_for_timeout(50)
    return float(re.findall(r"SPENT (\S+)", server.log())[-1])


if __name__ == "__main__":
    main()
