"""The world on the canvas: what is painted, what is said, and what moves."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.visualization.browser.conftest import ROOT, VIEW, WAIT_MS, Server

NOTED = """
window.painted = []; window.frames = 0;
const pen = CanvasRenderingContext2D.prototype, write = pen.fillText, next = requestAnimationFrame;
pen.fillText = function (text, ...at) {
  if (this.canvas.className === "sabm-world-canvas") window.painted.push(text);
  return write.call(this, text, ...at);
};
window.requestAnimationFrame = (work) => {
  if (String(work).includes("tick")) window.frames += 1;
  return next(work);
};
"""
"""Notes the words on the canvas of the world, and the frames that it asks for."""
OF_EXAMPLES = f"""
from sabm_mesa.models import registry
for name in ("schelling", "opinions"):
    registry.load(f"{ROOT}/examples/{{{{name}}}}/{{{{name}}}}.py")
{VIEW}
"""


def step(page: Page) -> None:
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".sabm-charts")).to_have_attribute("data-round", "0")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_people_speak_in_bubbles_and_glide_unless_motion_is_unwelcome(
    browse, server, motion: str
) -> None:
    page = browse("/recording", reduced_motion=motion)
    page.add_init_script(NOTED)
    page.goto(f"{server.url}/scenario/evacuation")
    expect(page.locator(".sabm-world-canvas")).to_have_attribute("data-marks", "100")
    before = page.evaluate("window.frames")
    if motion == "no-preference":  # the page plays by itself
        page.wait_for_function("painted.some((words) => words.length > 5)")
        page.wait_for_function(f"window.frames - {before} > 1")
        return
    step(page)
    expect(page.locator(".sabm-world-canvas")).to_have_attribute("data-round", "0")
    said = page.locator(".sabm-words").first.inner_text()
    page.wait_for_function("painted.some((words) => words.length > 5)")
    words = " ".join(page.evaluate("painted"))
    assert any(word in words for word in said.split() if len(word) > 5)
    # A bubble is looked after a few times until it is over.
    assert page.evaluate("window.frames") - before < 10


def test_pictures_that_a_scenario_declares_are_painted(chromium: Browser, tmp_path: Path) -> None:
    server = Server(tmp_path, OF_EXAMPLES)
    try:
        with chromium.new_context(reduced_motion="reduce") as context:
            context.set_default_timeout(WAIT_MS)
            page = server.admit(context).new_page()
            for name in ("schelling", "opinions"):
                page.goto(f"{server.url}/scenario/{name}")
                canvas = page.locator(".sabm-world-canvas").first
                expect(canvas).to_be_visible()
                step(page)
                expect(canvas).to_have_attribute("data-round", "0")
                marks = canvas.get_attribute("data-marks") or ""
                expect(page.locator('dd[data-name="Asks answered"]')).to_have_text(marks)
                colours = canvas.evaluate(
                    "c => new Set(new Uint32Array("
                    "c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
                )
                assert colours > 2
    finally:
        server.close()
