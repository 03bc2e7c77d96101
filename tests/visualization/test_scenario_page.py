"""The pages of the viewer in a real browser, against a real server."""

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sabm_mesa.registry import SCENARIOS, scenario
from sabm_mesa.visualization.panels import number
from tests.llm_server import LLMServer

HOSTILE = "<img src=x onerror=window.hacked=1>"
SEED = 7
WAIT_MS = 20_000
"""Language models need a library that loads slowly."""
ANSWERS_WITHIN_MS = 200
PLAYED = {"kbc": {}, "bertrand": {"n_rounds": 40}, "evacuation": {}}
"""Scenario → the parameters with which it is played in the browser and in Python."""


def fill(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")
    field.blur()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def ended(page: Page) -> None:
    expect(page.locator(".sabm-progress")).to_contain_text("The run has ended", timeout=2 * WAIT_MS)


def use_language_model(page: Page, url: str, minds: str) -> None:
    fill(page, "Minds: who decides", minds)
    page.get_by_text("Language models", exact=True).click()
    fill(page, "Endpoint base URL", url)


def test_the_home_page_has_a_card_for_each_scenario(browse):
    page = browse("/")
    for name in SCENARIOS:
        card = page.locator("article", has_text=scenario(name).title)
        expect(card).to_contain_text(scenario(name).source)
        expect(card.locator("img")).to_be_visible(timeout=30_000)

    page.get_by_text(scenario("kbc").title).click()

    expect(page).to_have_url(re.compile("/scenario/kbc$"))
    expect(page.get_by_role("heading", name="Keynesian beauty contest")).to_be_visible()


@pytest.mark.parametrize("name", PLAYED)
def test_a_scenario_is_played_to_its_end(browse, name: str, tmp_path: Path):
    page = browse(f"/scenario/{name}")
    model = scenario(name)(**PLAYED[name], rng=SEED)
    expect(page.locator(".sabm-banner")).to_contain_text("no language model")
    fill(page, "Seed", str(SEED))
    if "n_rounds" in PLAYED[name]:
        fill(page, "Number of rounds", str(PLAYED[name]["n_rounds"]))

    press(page, "Play")
    ended(page)

    model.run_model()
    data = model.model_frame()
    for column in ("round", *model.columns()):
        shown = page.locator(f'dd[data-name="{column}"]')
        expect(shown).to_have_text(number(data[column].iloc[-1]))
    asks = page.locator('dd[data-name="Asks answered"]')
    expect(asks).to_have_text(f"{model.total.asks:,}")
    charts = page.locator(".sabm-charts")
    expect(charts).to_have_attribute("data-round", str(model.round), timeout=WAIT_MS)
    with page.expect_download() as table:
        press(page, "Download model.csv")
    table.value.save_as(tmp_path / "model.csv")
    assert (tmp_path / "model.csv").read_text() == data.to_csv(index=False)
    with page.expect_download() as recording:
        press(page, "Download recording.sqlite")
    recording.value.save_as(tmp_path / "recording.sqlite")
    assert (tmp_path / "recording.sqlite").read_bytes().startswith(b"SQLite format 3")
    with page.expect_download() as picture:
        page.get_by_role("button", name=re.compile(r"Download \w+\.png")).first.click()
    picture.value.save_as(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_hostile_words_of_a_model_are_shown_as_text(browse):
    with LLMServer(brain=lambda _messages, _body: f"{HOSTILE}\n33") as llm:
        page = browse("/scenario/kbc")
        use_language_model(page, llm.url, "llm:<b>bold=1,fixed:30=23")
        press(page, "Play")
        ended(page)

        expect(page.locator(".sabm-banner")).to_contain_text("Language model <b>bold for 1")
        expect(page.locator(".sabm-banner")).to_contain_text("answers may cost money")
        expect(page.locator(".sabm-words", has_text=HOSTILE)).to_be_visible()
        assert page.locator(".sabm-talk img, .sabm-banner b").count() == 0
        assert page.evaluate("window.hacked") is None


def test_what_is_typed_while_a_model_plays_stays(browse):
    page = browse("/scenario/evacuation")
    press(page, "Play")
    page.get_by_text("Language models", exact=True).click()
    page.get_by_label("Endpoint base URL").click()
    page.keyboard.type("http://127.0.0.1:8000/v1", delay=40)
    expect(page.locator(".sabm-progress")).not_to_contain_text("Nothing is played")
    expect(page.get_by_label("Endpoint base URL")).to_have_value("http://127.0.0.1:8000/v1")


# Clicks a button and resolves with the milliseconds until some text stands in an element.
ANSWER_TIME = """
([button, place, text]) => new Promise((done) => {
  const found = [...document.querySelectorAll("button")]
    .find((each) => each.textContent.trim() === button);
  const started = performance.now();
  const seen = () => document.querySelector(place).textContent.match(text);
  const observer = new MutationObserver(() => {
    if (seen()) { observer.disconnect(); done(performance.now() - started); }
  });
  observer.observe(document.body, {subtree: true, childList: true, characterData: true});
  found.click();
})
"""


def test_the_page_answers_while_a_slow_round_is_under_way(browse):
    with LLMServer(brain=lambda _messages, _body: "33", latency=2.0) as llm:
        page = browse("/scenario/kbc")
        progress = page.locator(".sabm-progress")
        use_language_model(page, llm.url, "llm:slow")

        press(page, "Play")
        expect(progress).to_contain_text(
            "Round 0 is under way: 0 answers, 24 in flight", timeout=WAIT_MS
        )
        to_pause = page.evaluate(ANSWER_TIME, ["Pause", ".sabm-progress", "It pauses when"])
        expect(progress).to_have_text("1 of 4 rounds are played.")

        press(page, "Play")
        expect(progress).to_contain_text("Round 1 is under way")
        expect(progress).to_contain_text("1 answer, ")  # in the middle of the discussion
        expect(page.locator(".sabm-words").first).to_have_text("33")
        to_reset = page.evaluate(
            ANSWER_TIME, ["Reset", ".sabm-progress", "set up|Nothing is played"]
        )

        assert max(to_pause, to_reset) < ANSWERS_WITHIN_MS
        n_asked = len(llm.requests)
        press(page, "Step")
        expect(progress).to_contain_text("1 of 4 rounds are played.")
        assert len(llm.requests) == n_asked + 24  # the round that was reset asks nobody any more


def test_a_closed_page_stops_its_model(browse, server):
    with LLMServer(brain=lambda _messages, _body: "33") as llm:
        page = browse("/scenario/kbc")
        use_language_model(page, llm.url, "llm:closing")
        llm.hold()
        press(page, "Play")
        expect(page.locator(".sabm-progress")).to_contain_text("24 in flight", timeout=WAIT_MS)
        llm.wait_until(lambda llm: llm.in_flight == 24)

        page.close(run_before_unload=True)
        page.context.close()
        llm.release()

        assert outcome(server.folder, "llm:closing") == ("failed", "stopped")
        assert len(llm.requests) == 24


def outcome(folder: Path, mind: str) -> tuple[str, str]:
    """How the recorded run with this mind ended; waits until it has."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for path in (folder / "sabm_recordings").glob("*.sqlite"):
            with closing(sqlite3.connect(path)) as file:
                rows = file.execute("SELECT status, problem, parameters FROM runs").fetchall()
            for status, problem, parameters in rows:
                if mind in parameters and status != "running":
                    return status, problem
        time.sleep(0.1)
    raise AssertionError(f"The run with {mind} goes on.")


def test_bad_input_is_one_line_and_breaks_nothing(browse):
    page = browse("/scenario/kbc")
    fill(page, "Seed", "abc")
    press(page, "Play")
    expect(page.locator(".sabm-problem")).to_have_count(1)
    fill(page, "Seed", "1")
    fill(page, "Minds: who decides", "human")
    press(page, "Reset")
    expect(page.locator(".sabm-problem")).to_contain_text("needs a person at a seat")
    fill(page, "Minds: who decides", "fixed:5")
    press(page, "Play")
    ended(page)
    expect(page.locator(".sabm-problem")).to_have_count(0)
    expect(page.locator('dd[data-name="mean"]')).to_have_text("5")


def test_a_failing_language_model_is_one_line(browse):
    with LLMServer(brain=lambda _messages, _body: "33", api_key="secret") as llm:
        page = browse("/scenario/kbc")
        use_language_model(page, llm.url, "llm:a")
        press(page, "Play")
        expect(page.locator(".sabm-problem")).to_contain_text("The run has stopped:")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_disabled()


def test_an_unknown_scenario_is_one_line(browse):
    expect(browse("/scenario/chess").locator(".sabm-problem")).to_contain_text("Unknown scenario")


def test_the_page_can_be_used_with_the_keyboard_and_on_a_phone(browse):
    page = browse("/scenario/kbc", viewport={"width": 390, "height": 844}, color_scheme="dark")
    expect(page.get_by_role("heading", name="Keynesian beauty contest")).to_be_visible()
    page.get_by_role("button", name="Play", exact=True).focus()
    page.keyboard.press("Enter")
    ended(page)

    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title() == "Keynesian beauty contest · sabm"
    expect(page.locator("#app.theme--dark")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
