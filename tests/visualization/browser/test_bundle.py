"""The static pages of a recording, opened from the disk."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.visualization.reading.bundle import write_bundle


def test_pages_are_searched_and_an_address_opens_its_ask(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    minds = {"fixed:99": 1, "fixed:7": 3}
    KeynesianBeautyContest(n_players=4, n_rounds=1, minds=minds, rng=1, recording=path).run_model()
    folder = write_bundle(path, tmp_path / "bundle")
    page = chromium.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("requestfailed", lambda request: problems.append(request.url))

    page.goto(f"{folder.as_uri()}/index.html")
    page.get_by_role("link", name="Run 0").click()
    expect(page.locator("img").first).to_have_js_property("complete", True)
    page.get_by_role("link", name="1", exact=True).click()
    page.get_by_label("Filter prompts and answers").fill("99")
    expect(page.locator("details.ask:visible")).to_have_count(1)
    address = page.locator("details.ask:visible").get_attribute("id")
    page.goto(f"{page.url}#{address}")
    page.reload()

    expect(page.locator(f"details[id='{address}'][open]")).to_contain_text("Answer as it came")
    assert not problems
    page.close()
