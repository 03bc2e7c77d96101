"""Pictures of the pages of a class: ``python -m tests.visualization.browser.class_pictures``.

For each game the phone, the host and the wall while a question waits, and the phone and the wall
at the end, in light and dark, are written to ``test-artefacts/class``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.visualization.browser.conftest import ARTEFACTS, FLAGS, WAIT_MS, Server, chromium_path
from tests.visualization.browser.test_play import PHONE, says, start

SIZES = {
    "phone": PHONE,
    "host": {"width": 1440, "height": 900},
    "wall": {"width": 1280, "height": 720},
}
GAMES = {
    "beauty-contest": "people=3&rounds=1",
    "public-goods": "people=4&rounds=1",
    "bertrand": "people=2&rounds=1&groups=3",
    "evacuation": "people=4&rounds=2",
}
"""Game → the settings in the link to it."""
SECONDS = 3
"""Seconds for an answer; the pictures of a question are taken while the clock is stopped."""


def _open(browser: Browser, server: Server, path: str, kind: str, *, host: bool) -> Page:
    context = browser.new_context(viewport=SIZES[kind])
    context.set_default_timeout(WAIT_MS)
    page = (server.admit(context) if host else context).new_page()
    page.goto(server.url + path)
    return page


def _keep(pages: dict[str, Page], name: str) -> None:
    """Write the pictures of pages in light and dark."""
    folder = ARTEFACTS / "class"
    folder.mkdir(parents=True, exist_ok=True)
    for kind, page in pages.items():
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.reload()  # a theme is chosen when a page is loaded
            page.locator("h1").first.wait_for()
            page.wait_for_timeout(1500)  # until all is painted and nothing moves
            page.screenshot(path=folder / f"{name}-{kind}-{scheme}.png")


def pictures_of(browser: Browser, server: Server, name: str) -> None:
    """Play a game, and write its pictures.

    Args:
        browser: the browser.
        server: the server.
        name: the game.
    """
    link = f"/host?game={name}&{GAMES[name]}&seconds={SECONDS}&rank=on"
    host = _open(browser, server, link, "host", host=True)
    host.get_by_role("button", name="Open the game").click()
    code = host.locator(".sabm-code").first.inner_text()
    wall = _open(browser, server, f"/screen/{code}", "wall", host=True)
    phone = _open(browser, server, f"/join/{code}", "phone", host=False)
    phone.get_by_role("button", name="Take a seat").click()
    says(phone, "You have your seat.")
    start(host)
    host.get_by_role("button", name="Pause").click()
    phone.locator("form[data-question]").wait_for()
    pages = {"phone": phone, "host": host, "wall": wall}
    _keep(pages, f"{name}-1-question")
    host.get_by_role("button", name="Go on").click()
    wall.get_by_role("button", name="Present the results").click()
    expect(wall.locator(".sabm-slide")).to_be_visible()
    _keep(pages, f"{name}-2-results")
    for page in pages.values():
        page.context.close()


def main(names: list[str]) -> None:
    """Write the pictures of games; of all in `GAMES` without a name."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        server = Server(Path(folder))
        browser = driver.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            for name in names or GAMES:
                pictures_of(browser, server, name)
        finally:
            browser.close()
            server.close()


if __name__ == "__main__":
    main(sys.argv[1:])
