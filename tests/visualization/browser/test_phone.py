"""The phone of a class: the field above the fold, narrow pages, and after a sleep."""

import os
from pathlib import Path

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
            says(phone, "your last number 30")
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


def test_after_a_sleep_the_page_says_what_was_missed(server, browse) -> None:
    host, code = open_class(browse, "beauty-contest", Number_of_rounds=1, Seconds_for_an_answer=20)
    phone = browse(f"{server.url}/join", viewport=PHONE)
    join(phone, server, code)
    start(host)
    host.get_by_role("button", name="Pause").click()  # however slow the phone is
    phone.locator("form[data-question]").wait_for()
    address = phone.url
    phone.goto("about:blank")
    host.get_by_role("button", name="Go on").click()
    host.get_by_role("button", name="Present the results").wait_for()  # this game is over
    phone.goto(address)
    says(phone, "While you were away, time was up: Round")
