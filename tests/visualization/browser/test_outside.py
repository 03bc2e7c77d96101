"""Scenarios of other packages in the viewer: listed, played, and named when they cannot be."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.testing.installed import install_all
from tests.visualization.browser.conftest import VIEW, WAIT_MS, Server

INSTALLED = "import sys; sys.path.insert(0, 'site')\n" + VIEW


def test_they_are_listed_and_played_like_all_others(tmp_path: Path, chromium: Browser) -> None:
    install_all(tmp_path / "site")
    server = Server(tmp_path, INSTALLED)
    try:
        with chromium.new_context(reduced_motion="reduce") as context:
            context.set_default_timeout(WAIT_MS)
            page = server.admit(context).new_page()
            page.goto(server.url)
            card = page.locator("article", has_text="The scenario lake")
            expect(card).to_contain_text("Gordon 1954")
            told = page.get_by_role("alert").filter(has_text="torn 2.5 (torn:Torn) cannot be used")
            expect(told).to_have_count(1)
            expect(page.get_by_role("alert").filter(has_text="'kbc' of rival 2.5")).to_be_visible()

            page.goto(f"{server.url}/scenario/lake")
            page.get_by_role("button", name="Step", exact=True).click()
            expect(page.locator(".sabm-progress")).to_contain_text("1 of 10 rounds are played")

            page.goto(f"{server.url}/scenario/torn")
            expect(page.get_by_role("alert")).to_contain_text("No module named 'nowhere_to_be_")
    finally:
        server.close()
