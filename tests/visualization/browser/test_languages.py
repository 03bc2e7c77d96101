"""One phone a language in one game: each reads its own, as its phone is set."""

import os
from pathlib import Path

import httpx

from tests.visualization.browser.test_class import join
from tests.visualization.browser.test_play import PHONE, choose, put, says, start

PHONES = {
    "en": ("en-GB", "The target was", "The game is over"),
    "de": ("de-AT", "Das Ziel war", "Das Spiel ist vorbei"),
    "fr": ("fr-FR", "La cible était", "Le jeu est terminé"),
    "es": ("es-ES", "El objetivo era", "El juego ha terminado"),
    "zh": ("zh-CN", "目标是", "游戏结束"),
    "ja": ("ja-JP", "目標は", "ゲームは終わりました"),
}
"""Language → setting of the phone, a word of a result, and the end."""


def keep(page, name):
    """Keep a picture of the phone where SCREENSHOTS says."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_each_phone_reads_its_own_language_and_a_host_english(server, browse) -> None:
    host = browse("/host", locale="de-DE")
    assert host.evaluate("document.documentElement.lang") == "en"
    of_class = host.get_by_label("Language of the wall and the results")
    assert of_class.evaluate("choice => choice.selectedOptions[0].text") == "Deutsch"
    choose(host, "beauty-contest")
    settings = {"Seats for people": str(len(PHONES)), "Number of rounds": "2"}
    for label, value in settings.items():
        put(host, label, value)
    host.get_by_role("button", name="Open the game").click()
    host.get_by_role("button", name="Start the game").wait_for()
    code = host.locator(".sabm-code").first.inner_text()
    pages = {}
    for language, (locale, _, _) in PHONES.items():
        page = pages[language] = browse(f"{server.url}/join/{code}", viewport=PHONE, locale=locale)
        page.locator(".game-code button").click()
        page.wait_for_url("**/play/*")
        page.locator(".sabm-lead").wait_for()
        assert page.evaluate("document.documentElement.lang") == language
        keep(page, f"{language}-seat")
    start(host)
    for round_ in range(2):
        for language, page in pages.items():
            form = page.locator(f'form[data-question="{round_}"]')
            form.locator("input[type=number]").fill(str(20 + 10 * round_))
            keep(page, f"{language}-{round_}-question")
            form.locator("[type=submit]").click()
            form.wait_for(state="detached")
    for language, page in pages.items():
        _, result, over = PHONES[language]
        says(page, over)
        says(page, result)
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        keep(page, f"{language}-over")

    phone = pages["en"]
    phone.get_by_label("Menu").click()
    phone.locator("#language").select_option("ja")
    says(phone, PHONES["ja"][2])
    assert phone.evaluate("document.documentElement.lang") == "ja"


def test_whoever_joins_twice_reads_that_the_seat_is_theirs(server, browse) -> None:
    host = browse("/host")
    choose(host, "beauty-contest")
    host.get_by_role("button", name="Open the game").click()
    host.get_by_role("button", name="Start the game").wait_for()
    code = host.locator(".sabm-code").first.inner_text()
    phone = browse(f"{server.url}/join?lang=en", viewport=PHONE)
    join(phone, server, code)
    says(phone, "You have your seat.")
    join(phone, server, code)
    says(phone, "You have this seat already.")


class Person:
    """A person at a seat, without a page.

    It keeps no connection: the server may close one that waits when the next request is sent.
    """

    def __init__(self, url: str, code: str) -> None:
        self._client = httpx.Client(base_url=url, limits=httpx.Limits(max_keepalive_connections=0))
        self._client.get("/join")
        self._path = self._client.post("/join", json={"code": code}).json()["path"]

    def answer(self, text: str) -> None:
        """Answer the first question, and go."""
        question, version = None, -1
        while question is None:
            state = self._client.get(f"{self._path}/state", params={"after": version}, timeout=60)
            question, version = state.json()["question"], state.json()["version"]
        given = {"question": question["number"], "values": {"": text}}
        assert self._client.post(f"{self._path}/answer", json=given).json()["problem"] == ""
        self._client.close()


def test_the_wall_and_slides_of_20_groups_fit_in_the_language_of_the_class(server, browse) -> None:
    link = "/host?game=beauty-contest&people=2&groups=20&rounds=2&rank=on&vote=on&lang=de"
    host = browse(link)
    host.get_by_role("button", name="Open the game").click()
    host.get_by_role("button", name="Start the game").wait_for()
    host.wait_for_url("**/host")  # the link is used, and the form for another game is folded
    host.locator("details:not([open]) > summary", has_text="New game").wait_for()
    address = host.get_by_role("link", name="Read-only").get_attribute("href")
    wall = browse(server.url + address, viewport={"width": 1280, "height": 720})
    says(wall, "0 von 40 dabei")
    french = browse(f"{server.url}{address}?lang=fr", viewport={"width": 1280, "height": 720})
    says(french, "0 sur 40 ont rejoint")
    code = host.locator(".sabm-code").first.inner_text()
    people = [Person(server.url, code) for _ in range(20)]  # one in each group
    start(host)
    for person in people:
        person.answer("20")
    says(wall, "Gruppe 1 in Farbe")
    keep(wall, "wall-20")
    says(host, "1 of 2 rounds done")
    host.get_by_role("button", name="End the game").click()
    host.get_by_role("button", name="Yes, end it").click()
    for number in range(1, 7):
        wall.get_by_label(f"Folie {number} von ").wait_for()
        french.get_by_label(f"Diapositive {number} sur ").wait_for()
        keep(wall, f"slide-{number}")
        for page in (wall, french):
            page.wait_for_function("document.querySelector('main').scrollHeight <= 720")
            page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        if number == 3:
            assert wall.locator(".sabm-slide polyline").count() == 20
            assert wall.locator(".sabm-slide rect").count() == 2, "the chosen group and the others"
        if number < 6:
            host.get_by_text(f"{number} of 7", exact=True).wait_for()
            host.get_by_role("button", name="Next").click()


def test_a_wrong_address_is_said_in_the_language_of_the_browser(server, browse) -> None:
    wall = browse(f"{server.url}/wall/nobody", locale="de-DE")
    says(wall, "Hier ist kein Spiel")
