"""The phone of a class: the field above the fold, narrow pages, and after a sleep."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.visualization.browser.test_class import join
from tests.visualization.browser.test_play import PHONE, choose, put, says, start

NARROW = {"width": 320, "height": 640}


def keep(page, name):
    """Keep a picture of the phone where SCREENSHOTS says."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def open_class(browse, game, **settings):
    """Open a class on the page of the host; returns the page and the code."""
    host = browse("/host")
    choose(host, game)
    host.get_by_text("More settings").click()
    for label, value in settings.items():
        put(host, label.replace("_", " "), str(value))
    host.get_by_role("button", name="Open the game").click()
    host.get_by_role("button", name="Start the game").wait_for()
    return host, host.locator(".sabm-code").first.inner_text()


def test_the_field_of_a_contest_of_40_is_above_the_fold_and_wraps_on_a_narrow_phone(
    server, browse
) -> None:
    host, code = open_class(
        browse, "beauty-contest", Number_of_players=40, Number_of_rounds=2,
        Seconds_for_an_answer=3000.5,
    )  # fmt: skip
    phone = browse(f"{server.url}/join", viewport=PHONE)
    join(phone, server, code)
    start(host)
    for round_ in range(2):
        form = phone.locator(f'form[data-question="{round_}"]')
        field = form.locator("input[type=number]")
        field.wait_for()
        phone.evaluate("scrollTo(0, 0)")
        box = field.bounding_box()
        if round_ == 1:
            keep(phone, "fold")
            says(phone, "The target was")
            says(phone, "your last pick 30")
            assert "Player #40" not in phone.locator("main").inner_text()
        assert box["y"] + box["height"] <= PHONE["height"]
        phone.set_viewport_size(NARROW)
        phone.evaluate("document.documentElement.style.fontSize = '200%'")
        phone.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        keep(phone, f"narrow-{round_}")
        phone.evaluate("document.documentElement.style.fontSize = ''")
        phone.set_viewport_size(PHONE)
        field.fill("30")
        field.press("Enter")
        form.wait_for(state="detached")
    says(phone, "The game is over")
    phone.set_viewport_size(NARROW)
    phone.evaluate("document.documentElement.style.fontSize = '200%'")
    for summary in phone.locator("summary").all():
        summary.click()
    phone.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    keep(phone, "narrow-over")


SIZES = ((390, 844), (390, 664), (390, 380))
"""A phone, one with bars of its browser, and one with its keyboard."""
LESSONS = {"beauty-contest": "30", "public-goods": "10", "bertrand": "Hello"}


@pytest.mark.parametrize("game", LESSONS)
def test_input_and_send_are_always_seen_and_nothing_opens_the_keyboard(
    server, browse, game: str
) -> None:
    host = browse(f"/host?game={game}&people=1&rounds=3&seconds=3000")
    host.get_by_role("button", name="Open the game").click()
    code = host.locator(".sabm-code").first.inner_text()
    phone = browse(f"{server.url}/join/{code}", viewport=PHONE, has_touch=True, is_mobile=True)
    phone.get_by_role("button", name="Take a seat").click()
    says(phone, "You have your seat.")
    start(host)
    for turn in range(2):
        form = phone.locator("form[data-question]")
        field = form.locator("input[type=number], textarea")
        field.wait_for()
        assert phone.evaluate("document.activeElement === document.body")
        asked, bar = phone.locator("[aria-live] h2").bounding_box(), phone.locator(".phone-bar")
        assert asked["y"] + asked["height"] <= bar.bounding_box()["y"]
        for width, height in SIZES:
            phone.set_viewport_size({"width": width, "height": height})
            for part in (phone.locator(".phone-head"), field, form.get_by_role("button")):
                expect(part).to_be_in_viewport(ratio=1)
            assert phone.locator(".phone-head").bounding_box()["height"] < 50
            phone.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
            keep(phone, f"{game}-{turn}-{height}")
        number = form.get_attribute("data-question")
        top = phone.evaluate("document.querySelector('main').scrollTop")
        field.fill(LESSONS[game])
        assert phone.evaluate("document.querySelector('main').scrollTop") == top
        form.get_by_role("button").click()
        phone.locator(f'form[data-question="{number}"]').wait_for(state="detached")
    host.get_by_role("button", name="End the game").click()
    host.get_by_role("button", name="Yes, end it").click()


def test_a_talk_wraps_on_a_narrow_phone_and_a_result_is_read(server, browse) -> None:
    host, code = open_class(browse, "bertrand", Seats_for_people=2, Number_of_rounds=1)
    phone = browse(f"{server.url}/join", viewport=NARROW)
    join(phone, server, code)
    phone.evaluate("document.documentElement.style.fontSize = '200%'")
    start(host)
    phone.locator("form[data-question]").wait_for()
    phone.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    keep(phone, "narrow-talk")
    host.get_by_role("button", name="End the game").click()
    host.get_by_role("button", name="Yes, end it").click()


def test_after_a_sleep_the_page_says_what_was_missed(server, browse) -> None:
    once = {"Number_of_rounds": 1, "Seconds_for_an_answer": 3000}
    host, code = open_class(browse, "beauty-contest", **once)
    phone = browse(f"{server.url}/join", viewport=PHONE)
    join(phone, server, code)
    start(host)
    phone.locator("form[data-question]").wait_for()
    address = phone.url
    phone.goto("about:blank")
    host.get_by_role("button", name="Skip Player 1").click()
    host.locator("#now").get_by_text("The game is over.").wait_for()
    phone.goto(address)
    says(phone, "While you were away, time was up: Round")
