"""Pictures of the viewer for the README and the documentation: `make screenshots`.

The runs have classical minds and fixed seeds, so that the pictures come out alike every time.
"""

import io
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.visualization.browser.conftest import (
    FLAGS,
    NETWORK,
    ROOT,
    Server,
    chromium_path,
)
from tests.visualization.browser.test_play import open_game, says, start

FOLDER = ROOT / "docs" / "images"
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
WAIT_MS = 60_000
SCENARIOS = {
    "kbc": {"Seed": "4"},
    "bertrand": {
        "Seed": "4",
        "Number of rounds": "300",
        "Minds: who decides": "classical:win_continue_lose_reverse",
    },
    "evacuation": {"Seed": "4"},
}
CLASS = {"Seats_for_people": 4, "Number_of_rounds": 3, "Seed": 4}
PICKS = ((50, 33, 25, 40), (20, 15, 22, 12), (8, 10, 5, 9))
"""The numbers of the people of a class, by round."""
STEPS = 7
"""Rounds after which the evacuation is shown, while people are still inside."""


def main(folder: Path = FOLDER) -> None:
    """Take all pictures.

    Args:
        folder: where they go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as own, sync_playwright() as driver:
        folders = [Path(own) / "viewer", Path(own) / "class"]
        for empty in folders:
            empty.mkdir()
        server, network = Server(folders[0]), Server(folders[1], NETWORK)
        browser = driver.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            for name, scheme in [*((name, "light") for name in SCENARIOS), ("evacuation", "dark")]:
                page = _scenario(browser, server, name, scheme)
                _keep(page, folder / f"{name}-{scheme}.png")
            _class(browser, network, folder)
        finally:
            browser.close()
            server.close()
            network.close()


def _keep(page: Page, path: Path) -> None:
    """Take a picture, in 256 colours: enough for a page, at a third of the size."""
    with Image.open(io.BytesIO(page.screenshot())) as drawn:
        drawn.convert("RGB").quantize(256).save(path, optimize=True)


def _open(browser: Browser, server: Server, path: str, scheme: str, size: dict[str, int]) -> Page:
    options = {"viewport": size, "color_scheme": scheme, "reduced_motion": "reduce"}
    context = server.admit(browser.new_context(**options))
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(server.url + path)
    return page


def _scenario(browser: Browser, server: Server, name: str, scheme: str) -> Page:
    page = _open(browser, server, f"/scenario/{name}", scheme, DESKTOP)
    for label, text in SCENARIOS[name].items():
        field = page.get_by_label(label, exact=True)
        field.fill(text)
        field.press("Enter")
        field.blur()
    progress = page.locator(".sabm-progress")
    if name == "evacuation":
        for done in range(1, STEPS + 1):
            page.get_by_role("button", name="Step", exact=True).click()
            expect(progress).to_contain_text(f"{done} of 50 rounds", timeout=WAIT_MS)
    else:
        page.get_by_label("Pace").select_option("as fast as it goes")
        page.get_by_role("button", name="Play", exact=True).click()
        expect(progress).to_contain_text("The run has ended", timeout=WAIT_MS)
    latest = page.locator('dd[data-name="round"]')
    expect(latest).to_have_text(re.compile(r"\d" if name != "evacuation" else f"^{STEPS}$"))
    expect(page.locator(".sabm-canvas canvas").first).to_be_visible()
    page.wait_for_timeout(2500)  # until speech is over and nothing glides
    return page


def _class(browser: Browser, server: Server, folder: Path) -> None:
    """A class of four from the code on the wall to its results."""
    host = _open(browser, server, "/host", "light", DESKTOP)
    open_game(host, "beauty-contest", "Number of players", **CLASS, Seconds_for_an_answer=600.5)
    code = host.locator(".sabm-code").first.inner_text()
    wall = _open(browser, server, f"/screen/{code}", "light", {"width": 1440, "height": 640})
    people = []
    for _ in PICKS[0]:
        people.append(_open(browser, server, f"/join/{code}", "light", PHONE))
        if len(people) == len(PICKS[0]):
            says(wall, f"{len(people) - 1} of {len(people)} joined")
            expect(wall.locator(".sabm-wall-join img")).to_be_visible()
            _keep(wall, folder / "class-wall.png")
        people[-1].get_by_role("button", name="Take a seat").click()
        says(people[-1], "You have your seat.")
    start(host)
    for round_, picks in enumerate(PICKS):
        for place, (page, pick) in enumerate(zip(people, picks, strict=True)):
            form = page.locator(f'form[data-question="{round_}"]')
            form.get_by_label("Number from 0 to 100", exact=True).fill(str(pick))
            if round_ == 1 and place == 2:
                says(wall, "2 of 4 people ready")
                says(host, "thinking")
                _keep(host, folder / "class-host.png")
                _keep(page, folder / "class-question.png")
            form.get_by_role("button", name="Send").click()
            expect(form).to_have_count(0)
    says(people[0], "You and the others")
    people[0].get_by_text("You and the others").scroll_into_view_if_needed()
    people[0].get_by_text("You and the others").evaluate("title => title.scrollIntoView()")
    _keep(people[0], folder / "class-debrief.png")
    wall.get_by_role("button", name="Present the results").click()
    says(wall, "1 of 4")
    wall.keyboard.press("ArrowRight")
    says(wall, "2 of 4")
    wall.set_viewport_size({"width": 1440, "height": 900})
    _keep(wall, folder / "class-slide.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
