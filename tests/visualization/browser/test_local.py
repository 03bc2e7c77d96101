"""The model in the box plays in the viewer: no key, no server, one press on Play."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

SLOW_MS = 900_000
"""Milliseconds until all answers of a check are there: machines of tests are slow at times."""


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


def test_the_model_in_the_box_is_checked(browse: Callable[..., Page]) -> None:
    page = browse("/scenario/kbc")
    page.get_by_role("button", name="Language model", exact=True).click()
    found = page.locator(".sabm-found")

    page.get_by_role("button", name="Check the model", exact=True).click()

    expect(page.get_by_role("button", name="It is being asked …", exact=True)).to_be_disabled()
    expect(found).to_contain_text("advice", timeout=SLOW_MS)
    expect(found).to_contain_text("✓ answers SmolLM2")
    expect(found).to_contain_text("✓ schema enforced")
    expect(found).to_contain_text(re.compile("json [34] of 4 answers to the scenario's questions"))
    expect(page.get_by_role("button", name="Check the model", exact=True)).to_be_enabled()
    expect(page.locator(".sabm-run .sabm-problem")).to_have_count(0)


def test_new_options_of_a_paused_run_need_no_more_than_reset(browse: Callable[..., Page]) -> None:
    page = browse("/scenario/kbc")
    minds = page.get_by_label("Minds: who decides", exact=True)
    minds.fill("local?threads=1&slots=1")
    minds.press("Enter")
    for label, number in (("Number of players", "2"), ("Number of rounds", "2")):
        page.get_by_label(label, exact=True).fill(number)
        page.get_by_label(label, exact=True).press("Enter")
    page.get_by_role("button", name="Step", exact=True).click()
    charts = page.locator(".sabm-charts")
    expect(charts).to_have_attribute("data-round", "0")

    minds.fill("local?threads=1&slots=2")
    minds.press("Enter")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(charts).to_have_attribute("data-round", "-1")
    page.get_by_role("button", name="Step", exact=True).click()

    expect(charts).to_have_attribute("data-round", "0")
    expect(page.locator(".sabm-problem")).to_have_count(0)
