"""Every page by the rules of axe-core, at three widths, light and dark; a game by the keyboard."""

import time
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.visualization.reading.bundle import write_bundle
from tests.visualization.browser.conftest import WAIT_MS
from tests.visualization.browser.test_phone import NARROW
from tests.visualization.browser.test_play import PHONE, put, says, start

LOOKS = (("light", 1440), ("light", 1024), ("dark", 390))
NUMBER = "Number from 0 to 100"
DARK = "!!document.querySelector('#app.theme--dark, html.theme--dark')"
MOST_TABS = 120
FITS = "document.documentElement.scrollWidth <= innerWidth"
axe = Axe()


def look(page: Page) -> None:
    """Check a page in each of `LOOKS`: the rules, and that nothing is beside the screen."""
    page.locator("h1").first.wait_for()
    for scheme, width in LOOKS:
        page.set_viewport_size({"width": width, "height": 844})
        light_up(page, scheme)
        page.wait_for_function(FITS)
        if width != 1024:  # whose rules are those of 1440
            keeps_rules(page, scheme)


def light_up(page: Page, scheme: str) -> None:
    """Show a page light or dark."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    button = page.get_by_role("button", name="Dark or light page")
    if button.count() and page.evaluate(DARK) != (scheme == "dark"):
        button.click()
        page.wait_for_function(f"{DARK} === {str(scheme == 'dark').lower()}")


def keeps_rules(page: Page, scheme: str) -> None:
    """Check a page by the rules; the colours of another theme are not there at once."""
    until = time.monotonic() + WAIT_MS / 1000
    while (found := violations(page)) and time.monotonic() < until:
        page.wait_for_timeout(200)
    assert [(page.url, scheme, *each) for each in found] == []


def look_small(page: Page) -> None:
    """Check a page dark, on a screen of 320 px with text of twice the size."""
    page.set_viewport_size(NARROW)
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.wait_for_function(FITS)
    light_up(page, "dark")
    keeps_rules(page, "dark at 320")


def violations(page: Page) -> list[tuple[str, str]]:
    """The rules that a page breaks now, each with the element that does."""
    broken: list[dict[str, Any]] = axe.run(page).response["violations"]
    return [(rule["id"], node["html"]) for rule in broken for node in rule["nodes"]]


def reach(page: Page, words: str) -> None:
    """Come to a control by the Tab key alone."""
    here = "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
    named = f"(document.activeElement.getAttribute('aria-label') || {here})"
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if str(page.evaluate(named)).startswith(words):
            return
    raise AssertionError(f"No control says {words!r}.")


def test_pages_to_watch_and_to_read(server, browse, tmp_path: Path) -> None:
    page = browse("/")
    expect(page.locator("article h2").first).to_be_visible()
    look(page)
    page.goto(f"{server.url}/scenario/evacuation")
    expect(page.locator(".sabm-canvas canvas").first).to_be_visible()
    reach(page, "Step")
    page.keyboard.press("Enter")
    expect(page.locator(".sabm-charts")).to_have_attribute("data-round", "0")
    look(page)

    path = server.folder / "sabm_recordings" / "looked-at.sqlite"
    path.parent.mkdir(exist_ok=True)
    minds = {"fixed:99": 1, "fixed:7": 3}
    KeynesianBeautyContest(n_players=4, n_rounds=2, minds=minds, rng=1, recording=path).run_model()
    page.goto(f"{server.url}/recording")
    expect(page.get_by_text(path.name)).to_be_visible()
    look(page)
    page.goto(f"{server.url}/recording?file={path}")
    look(page)
    page.goto(f"{server.url}/recording?file={path}&run=0&round=1")
    look(page)
    folder = write_bundle(path, tmp_path / "bundle")
    for name in sorted(folder.rglob("*.html"))[:4]:
        page.goto(name.as_uri())
        look(page)


def test_a_whole_game_by_the_keyboard_alone(server, browse) -> None:
    host = browse("/host")
    look(host)
    reach(host, "Repeated beauty contest")
    host.keyboard.press("Enter")
    host.locator('#form[data-game="beauty-contest"]').wait_for()
    for label, number in (("Seats for people", 1), ("Number of rounds", 2)):
        reach(host, label)
        host.keyboard.press("ControlOrMeta+a")
        host.keyboard.type(str(number))
        host.keyboard.press("Enter")
    reach(host, "More settings")
    host.keyboard.press("Enter")
    look(host)
    put(host, "Seconds for an answer", "3000.5")  # looks at pages take a while
    reach(host, "Open the game")
    host.keyboard.press("Enter")
    code = host.locator(".sabm-code").first.inner_text()
    wall = browse(f"/screen/{code}")
    says(wall, "0 of 1 joined")
    look(wall)

    person = browse(f"{server.url}/join")
    look(person)
    person.reload()
    person.keyboard.type(code)  # the field has the focus
    person.keyboard.press("Enter")
    says(person, "You have your seat.")
    look(person)
    reach(host, "Start the game")
    host.keyboard.press("Enter")
    for number in ("20", "10"):
        field = person.get_by_label(NUMBER, exact=True)
        expect(field).to_be_focused()
        if number == "20":
            for page in (person, wall, host):
                look(page)
            person.reload()
            expect(field).to_be_focused()
        asked = person.locator("form[data-question]").get_attribute("data-question")
        person.keyboard.type(number)
        person.keyboard.press("Enter")
        expect(person.locator(f'form[data-question="{asked}"]')).to_have_count(0)
    says(person, "The game is over")
    reach(wall, "Present the results")
    wall.keyboard.press("Enter")
    says(wall, "1 of 4")
    for page in (person, wall, host):
        look(page)


@pytest.mark.parametrize(
    ("link", "drawn"),
    [
        ("bertrand&people=2&rounds=1", "form[data-question] textarea, form[data-question] input"),
        ("evacuation&people=2&rounds=2", ".cell"),
        ("public-goods&people=2&machines=2&rounds=1&vote=on&rank=on", "svg[role=img]"),
    ],
    ids=["talk", "map", "pot and ballot"],
)
def test_boards_of_a_phone_a_ballot_and_slides(server, browse, link: str, drawn: str) -> None:
    host = browse(f"/host?game={link}&seconds=3000")
    host.get_by_role("button", name="Open the game").click()
    code = host.locator(".sabm-code").first.inner_text()
    phone = browse(f"{server.url}/join/{code}", viewport=PHONE)
    phone.get_by_role("button", name="Take a seat").click()
    says(phone, "You have your seat.")
    start(host)
    expect(phone.locator(drawn).first).to_be_visible()
    keeps_rules(phone, "light")
    look_small(phone)
    if "vote" not in link:
        host.get_by_role("button", name="End the game").click()
        host.get_by_role("button", name="Yes, end it").click()
        return
    field = phone.locator("form[data-question] input[type=number]")
    field.fill("5")
    field.press("Enter")
    expect(phone.get_by_role("button", name="Vote")).to_be_visible()
    look_small(phone)
    wall = browse(f"/screen/{code}")
    slides = wall.locator(".sabm-slide")
    n = int(slides.get_attribute("aria-label").rpartition(" ")[2])
    for number in range(1, n + 1):
        expect(slides).to_have_attribute("aria-label", f"Slide {number} of {n}")
        look_small(wall)
        if number < n:
            wall.get_by_role("button", name="Next").click()
