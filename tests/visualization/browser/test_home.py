"""The home page in a real browser: its doors."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect


def test_a_door_leads_to_the_list_of_scenarios_or_to_another_page(
    browse: Callable[..., Page],
) -> None:
    page = browse("/")
    page.get_by_role("link", name=re.compile("^Watch")).press("Enter")
    expect(page.get_by_role("heading", name="Scenarios")).to_be_focused()
    page.locator(".sabm-doors").get_by_text("Read a recording").click()
    expect(page).to_have_url(re.compile("/recording$"))
