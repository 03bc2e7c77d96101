"""A class in real browsers: joining by a code, groups, late comers, reloads and lost devices."""

import re

from playwright.sync_api import expect

from tests.visualization.browser.test_play import PHONE, choose, put, says, start

CODE = "Code of six letters"
NUMBER = "Number from 0 to 100"


WALL, SMALLEST_PX = {"width": 1280, "height": 720}, 16
SIZES = """all => all.map(
  (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
"""The sizes of texts in pictures, in pixels of the screen."""


def join(page, server, code, *, word=""):
    """Join by the code, with the keyboard alone; or get a seat back."""
    page.goto(f"{server.url}/join")
    page.get_by_label(CODE).fill(code)
    if not word:
        page.get_by_label(CODE).press("Enter")
    else:
        page.get_by_text("I had a seat already").click()
        page.get_by_label("Your word").fill(word)
        page.get_by_label("Your word").press("Enter")
    page.wait_for_url("**/play/*")


def give(page, text):
    """Answer with the keyboard alone: the input has the focus."""
    field = page.get_by_label(NUMBER, exact=True)
    expect(field).to_be_focused()
    number = page.locator("form[data-question]").get_attribute("data-question")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    expect(page.locator(f'form[data-question="{number}"]')).to_have_count(0)


def test_a_class_of_two_groups_from_the_code_to_the_results(server, browse) -> None:
    host = browse("/host")
    choose(host, "beauty-contest")
    host.get_by_text("More settings").click()
    settings = {"Seats for people": "2", "Groups": "2", "Number of rounds": "3"}
    for label, value in (settings | {"Seconds for an answer": "3000.5"}).items():
        put(host, label, value)
    host.get_by_role("button", name="Open the game").click()
    host.get_by_role("button", name="Start the game").wait_for()
    code = host.locator(".sabm-code").first.inner_text()
    wall = browse(f"/screen/{code}", viewport=WALL)
    says(wall, "0 of 4 joined")
    assert server.key not in wall.content()
    assert "/play/" not in wall.content()

    projector = browse(
        server.url + host.get_by_role("link", name="Read-only").get_attribute("href")
    )
    says(projector, "0 of 4 joined")
    assert projector.locator("nav, a, button, input").count() == 0

    ann, ben, carl = (browse(f"{server.url}/join", viewport=PHONE) for _ in range(3))
    for page in (ann, ben):
        join(page, server, code)
        says(page, "You have your seat.")
    says(wall, "2 of 4 joined")
    ben.get_by_label("Menu").click()
    word = ben.locator(".game-word").inner_text()
    ben.get_by_label("Menu").click()
    start(host)
    expect(wall.locator(".sabm-wall-rule")).to_be_visible()  # there is no result yet
    give(ann, "33")  # one person a group: a classical mind plays for the other
    ann.locator('form[data-question="1"]').wait_for()  # the second round has begun
    ben.get_by_label(NUMBER, exact=True).fill("4")
    ben.reload()
    expect(ben.get_by_label(NUMBER, exact=True)).to_have_value("4")

    join(carl, server, code)  # late
    lost = browse(f"{server.url}/join")
    join(lost, server, code, word=word)
    says(ben, "This seat is taken by another browser.")
    for text in ("44", "10", "10"):
        give(lost, text)
    for page in (ann, ann, carl):  # who comes late is asked in the next round
        give(page, "10")
    for page in (ann, carl, lost):
        says(page, "The game is over")
        says(page, "You and the others")
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    says(wall, "The game is over")
    assert min(wall.locator("main svg text").evaluate_all(SIZES)) >= SMALLEST_PX
    host.locator(".sabm-board-tile").nth(1).click()
    says(projector, "Group 2 in colour")
    host.get_by_role("button", name="Present the results").click()
    for page in (wall, projector):
        page.set_viewport_size({"width": 1280, "height": 720})
        page.get_by_label("Slide 1 of 4").wait_for()
        page.wait_for_function("document.querySelector('main').scrollHeight <= 720")
    assert projector.locator("nav, a, button, input").count() == 0
    for number in range(1, 5):
        says(wall, re.compile(rf"^{number} of 4$"))
        if number < 4:
            wall.get_by_role("button", name="Next").click()
    with host.expect_download() as download:
        host.get_by_role("link", name="Download all").click()
    assert download.value.suggested_filename == f"{code}.zip"


def test_the_wall_shows_how_to_join_who_is_there_and_the_time_left(server, browse) -> None:
    host = browse("/host?game=beauty-contest&people=2&rounds=1&seconds=3000")
    host.get_by_role("button", name="Open the game").click()
    code = host.locator(".sabm-code").first.inner_text()
    wall = browse(f"/screen/{code}", viewport=WALL)
    expect(wall.locator(".sabm-wall-steps li")).to_have_count(3)
    expect(wall.locator(".sabm-wall-steps li").last).to_contain_text("whoever is closest")
    phone = browse(f"{server.url}/join", viewport=PHONE)
    join(phone, server, code)
    expect(wall.locator(".sabm-wall-names li")).to_have_text(["Player 1"])
    start(host)
    expect(wall.locator(".sabm-wall-clock")).to_have_text(re.compile(r"^(50:00|49:\d\d)$"))
    says(wall, "0 of 1 person ready")
    expect(wall.get_by_role("img", name="nobody has picked yet")).to_be_visible()
    give(phone, "20")
    says(wall, "The game is over")
    expect(wall.locator(".sabm-wall-clock")).to_have_count(0)


def test_a_lesson_is_one_click(browse) -> None:
    host = browse("/host")
    expect(host.get_by_role("link", name="Lesson: ")).to_have_count(4)
    host.get_by_role("link", name="Lesson: Public goods").click()
    says(host, "Public goods: 4 seats for people in each of 10 groups; 8 rounds")
    host.get_by_role("button", name="Open the game").wait_for()
