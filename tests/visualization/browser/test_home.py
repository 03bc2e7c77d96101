"""The home page in a real browser: what moves on it, and its doors."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

Browse = Callable[..., Page]


def test_runs_move_by_themselves_unless_less_motion_is_wanted(browse: Browse) -> None:
    page = browse("/")
    room = page.locator(".sabm-film .sabm-world-canvas")
    expect(room).to_have_attribute("data-place", re.compile("[2-9]"))
    expect(page.get_by_role("button", name="Stop: Prices by round")).to_be_visible()
    page.get_by_role("button", name="Stop: The room").press("Enter")
    expect(page.get_by_role("button", name="Play: The room")).to_be_focused()
    page.get_by_role("link", name=re.compile("^Watch")).press("Enter")
    expect(page.get_by_role("heading", name="Scenarios")).to_be_focused()

    still = browse("/", reduced_motion="reduce")
    expect(still.get_by_role("button", name="Play: The room")).to_be_visible()
    expect(still.get_by_role("button", name="Play: Prices by round")).to_be_visible()
    assert float(room.get_attribute("data-marks") or 0) > 1
    still.locator(".sabm-doors").get_by_text("Read a recording").click()
    expect(still).to_have_url(re.compile("/recording$"))
