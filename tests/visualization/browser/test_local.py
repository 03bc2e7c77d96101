"""The default local model plays in the viewer: no key, no server, one press on Play."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def test_the_model_in_the_box_plays(browse: Callable[..., Page]) -> None:
    page = browse("/scenario/kbc")
    page.get_by_role("button", name="Language model", exact=True).click()
    expect(page.get_by_label("Minds: who decides", exact=True)).to_have_value("local")
    expect(page.locator(".sabm-banner")).to_contain_text("runs on this machine, and costs nothing")
    for label, number in (("Number of players", "2"), ("Number of rounds", "1")):
        page.get_by_label(label, exact=True).fill(number)
        page.get_by_label(label, exact=True).press("Enter")

    page.get_by_role("button", name="Play", exact=True).click()

    expect(page.locator(".sabm-progress")).to_contain_text("The run has ended")
    expect(page.locator('dd[data-name="Asks answered"]')).to_have_text("2")
    expect(page.locator('dd[data-name="Invalid"]')).to_have_text("0")
    expect(page.locator('dd[data-name="Tokens received"]')).to_have_text(re.compile(r"^\d{2,}$"))
    expect(page.locator('dd[data-name="Cost"]')).to_have_text("none")
