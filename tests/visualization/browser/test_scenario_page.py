"""The pages of the viewer in a real browser, against a real server."""

import json
import math
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.visualization.labels import number, round_of
from sabm_mesa.visualization.scenario_view import ScenarioView
from tests.llm_server import LLMServer
from tests.visualization.browser.conftest import WAIT_MS, Server

HOSTILE = "<img src=x onerror=window.hacked=1>"
SEED = 7
FOR_EVER_S = 10**6
SHORT = 3
OF_THE_PAGE = "classical:win_continue_lose_reverse"
"""The minds with which the page of Bertrand competition begins."""
AS_LONG = {
    "kbc": {}, "bertrand": {"n_rounds": 40, "minds": OF_THE_PAGE}, "evacuation": {}, "games": {},
}  # fmt: skip
PLAYED = {
    name: AS_LONG.get(
        name, {"n_rounds": min(SHORT, parameters_of(scenario(name))["n_rounds"].default or SHORT)}
    )
    for name in SCENARIOS
}
"""Scenario → the parameters with which it is played in the browser and in Python."""


def fill(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")
    field.blur()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def ended(page: Page) -> None:
    expect(page.locator(".sabm-progress")).to_contain_text("The run has ended")


def use_language_model(page: Page, url: str, minds: str) -> None:
    fill(page, "Minds: who decides", minds)
    # What it adds to the form moves what is below.
    page.get_by_role("button", name="Check the model").wait_for()
    page.get_by_text("Language models", exact=True).click()
    fill(page, "Endpoint base URL", url)


def test_the_home_page_has_a_card_for_each_scenario(browse):
    page = browse("/")
    for name in SCENARIOS:
        card = page.locator("article", has_text=scenario(name).title)
        expect(card).to_contain_text(scenario(name).source)
        expect(card.locator("img")).to_be_visible()

    page.get_by_text(scenario("kbc").title).click()

    expect(page).to_have_url(re.compile("/scenario/kbc$"))
    expect(page.get_by_role("heading", name="Keynesian beauty contest")).to_be_visible()


def test_a_server_that_ends_while_cards_are_drawn_says_nothing(chromium, tmp_path: Path):
    server = Server(tmp_path)
    try:
        with chromium.new_context() as context:
            context.set_default_timeout(WAIT_MS)
            page = server.admit(context).new_page()
            page.goto(server.url)
            expect(page.get_by_text("A run is being drawn …").first).to_be_visible()
            server.close()
    finally:
        server.close()
    assert "Traceback" not in server.log()


PLACES = """
() => ["run", "main", "side"].map((name) => {
  const box = document.querySelector(".sabm-" + name).getBoundingClientRect();
  return [name, Math.round(box.left), Math.round(box.top), Math.round(box.width)];
})
"""
PROJECTOR = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("name", PLAYED)
def test_a_scenario_is_played_to_its_end(browse, name: str, tmp_path: Path):
    page = browse(f"/scenario/{name}", viewport=PROJECTOR)
    model = scenario(name)(**PLAYED[name], rng=SEED)
    model.run_model()
    charts = page.locator(".sabm-charts")
    expect(page.locator(".sabm-banner")).to_contain_text("no language model")
    expect(page.locator(".sabm-timeline output")).to_have_text("Start")
    expect(page.locator(".sabm-talk")).to_have_count(0)
    painted(page)
    before = page.evaluate(PLACES)

    fill(page, "Seed", str(SEED))
    if PLAYED[name]:
        fill(page, "Number of rounds", str(PLAYED[name]["n_rounds"]))
    for round_ in range(2):
        press(page, "Step")
        expect(charts).to_have_attribute("data-round", str(round_))
    page.evaluate("scrollTo(0, 0)")  # a click may have scrolled
    assert page.evaluate(PLACES) == before  # the page does not jump
    if getattr(model, "said", ()):  # there is a conversation
        expect(page.locator(".sabm-words").first).to_be_in_viewport(ratio=0.9)
    for picture in page.locator(".sabm-main figure").all():
        expect(picture).to_be_in_viewport(ratio=1)

    as_fast_as_it_goes(page)
    press(page, "Play")
    ended(page)
    data = model.model_frame()
    expect(page.locator('dd[data-name="round"]')).to_have_text(
        round_of(model, model.round).rpartition(" ")[2]
    )
    for column in model.columns():
        shown = page.locator(f'dd[data-name="{column}"]')
        expect(shown).to_have_text(number(data[column].iloc[-1]))
    asks = page.locator('dd[data-name="Asks answered"]')
    expect(asks).to_have_text(f"{model.total.asks:,}")
    expect(charts).to_have_attribute("data-round", str(model.round))
    page.get_by_text("Usage and files", exact=True).click()
    assert download(page, "Download model.csv", tmp_path) == data.to_csv(index=False).encode()
    recording = download(page, "Download recording.sqlite", tmp_path)
    assert recording.startswith(b"SQLite format 3")
    for chart in charts_of(model):
        drawn = page.locator(f'.sabm-canvas[data-chart="{chart["name"]}"]')
        if not drawn.count():  # it shares its place with others
            page.get_by_label("Chart", exact=True).select_option(chart["title"])
        points = json.loads(json.dumps([each["points"] for each in chart["series"]]))
        assert drawn.evaluate("canvas => canvas.sabmPoints()") == points
    first = charts_of(model)[0]["name"]
    assert download(page, f"Download {first}.png", tmp_path).startswith(b"\x89PNG")
    assert_fits_a_phone(page)


PAINTED = """
window.painted = [];
const pen = CanvasRenderingContext2D.prototype, write = pen.fillText;
pen.fillText = function (text, ...at) {
  if (this.canvas.closest(".sabm-canvas") && text.trim()) {
    window.painted.push([text, Number(/([\\d.]+)px/.exec(this.font)[1])]);
  }
  return write.call(this, text, ...at);
};
"""
"""Notes the texts of charts and their sizes in pixels."""
SMALLEST_PX = 13


def test_every_text_of_a_chart_can_be_read(browse: Callable[..., Page], server: Server) -> None:
    page = browse("/host")
    page.add_init_script(PAINTED)
    for name in SCENARIOS:
        page.goto(f"{server.url}/scenario/{name}")
        page.get_by_role("button", name="Step", exact=True).click()
        expect(page.locator(".sabm-charts")).to_have_attribute("data-round", "0")
        page.wait_for_function("painted.some(([text]) => text === '0')")
        sizes = dict(page.evaluate("painted"))
        assert {text: size for text, size in sizes.items() if size < SMALLEST_PX} == {}, name
        legend = page.locator(".sabm-chart .sabm-legend").evaluate_all(
            "all => all.map(each => parseFloat(getComputedStyle(each).fontSize))"
        )
        assert min(legend, default=SMALLEST_PX) >= SMALLEST_PX
        assert not any("_" in text for text in sizes), name


def painted(page: Page) -> None:
    """Wait until ECharts has painted the first chart."""
    expect(page.locator(".sabm-canvas canvas").first).to_be_visible()


def charts_of(model: SmartModel) -> list[dict[str, Any]]:
    frames = model.model_frame(), model.agent_frame()
    return [each.for_browser() for each in ScenarioView(type(model)).charts(model, *frames)]


def as_fast_as_it_goes(page: Page) -> None:
    page.get_by_label("Pace").select_option("as fast as it goes")


def test_one_clock_is_followed_by_map_numbers_talk_and_charts(browse):
    page = browse("/scenario/evacuation")
    fill(page, "Seed", str(SEED))
    for round_ in range(3):
        press(page, "Step")
        expect(page.locator(".sabm-world-canvas")).to_have_attribute("data-round", str(round_))
    clock, said = page.locator(".sabm-timeline output"), page.locator(".sabm-talks h2")
    expect(clock).to_have_text("Round 3 of 50")
    expect(said).to_have_text("Talk in round 3")
    page.locator("h1").click()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(clock).to_have_text("Round 1 of 50")
    expect(page.locator(".sabm-world-canvas")).to_have_attribute("data-round", "0")
    expect(page.locator('dd[data-name="round"]')).to_have_text("1")
    expect(said).to_have_text("Talk in round 1")
    at = "[...document.querySelectorAll('.sabm-canvas')].map(each => each.sabmAt()).join()"
    page.wait_for_function(f"{at} === '0,0'")

    page.keyboard.press(" ")  # plays what was played, and stops at its end
    expect(clock).to_have_text("Round 3 of 50")
    expect(page.locator(".sabm-progress")).to_have_text("3 of 50 rounds are played.")
    page.keyboard.press(" ")  # at the end of it plays the run itself
    page.wait_for_function("document.querySelector('.sabm-world-canvas').dataset.round > 2")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def download(page: Page, button: str | re.Pattern[str], folder: Path) -> bytes:
    with page.expect_download() as kept:
        page.get_by_role("button", name=button).first.click()
    kept.value.save_as(folder / "kept")
    return (folder / "kept").read_bytes()


def assert_fits_a_phone(page: Page) -> None:
    page.set_viewport_size(PHONE)
    expect(page.locator(".sabm-canvas canvas").first).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= 390")


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
    expect(page.locator(".sabm-progress")).to_contain_text(re.compile("under way|rounds are"))
    page.get_by_text("Language models", exact=True).click()
    page.get_by_label("Endpoint base URL").click()
    page.keyboard.type("http://127.0.0.1:8000/v1", delay=40)
    expect(page.get_by_label("Endpoint base URL")).to_have_value("http://127.0.0.1:8000/v1")


def test_the_page_answers_while_a_slow_round_is_under_way(browse):
    n_answered = [24]  # this many requests are answered
    with LLMServer(
        brain=lambda _messages, _body: "33",
        latency=lambda number, _body: 0 if number < n_answered[0] else FOR_EVER_S,
    ) as llm:
        page = browse("/scenario/kbc")
        progress = page.locator(".sabm-progress")
        use_language_model(page, llm.url, "llm:slow")
        llm.hold()  # what the page answers before the release, it answers during the round
        press(page, "Play")
        expect(progress).to_have_text("Round 1 is under way: 0 of 24 answers, 24 in flight.")
        press(page, "Pause")
        expect(progress).to_contain_text("It pauses when")
        n_answered[0] += 1
        llm.release()
        expect(progress).to_have_text("1 of 4 rounds are played.")

        press(page, "Play")
        expect(progress).to_contain_text("Round 2 is under way: 1 of 48 answers, 1 in flight.")
        expect(page.locator(".sabm-words").first).to_have_text("33")
        press(page, "Reset")
        expect(progress).to_contain_text("Nothing is played yet")
        n_asked = len(llm.requests)
        press(page, "Step")
        expect(progress).to_contain_text("24 in flight")
        llm.wait_until(lambda llm: len(llm.requests) == n_asked + 24)

        n_answered[0] = math.inf
        press(page, "Reset")
        expect(progress).to_contain_text("Nothing is played yet")
        press(page, "Step")
        expect(progress).to_contain_text("1 of 4 rounds are played.")
        # A round that was reset asks nobody any more.
        assert len(llm.requests) == n_asked + 48


def test_a_closed_page_stops_its_model(browse, server):
    with LLMServer(brain=lambda _messages, _body: "33") as llm:
        page = browse("/scenario/kbc")
        use_language_model(page, llm.url, "llm:closing")
        llm.hold()
        press(page, "Play")
        expect(page.locator(".sabm-progress")).to_contain_text("24 in flight")
        llm.wait_until(lambda llm: llm.in_flight == 24)

        page.on("dialog", lambda dialog: dialog.accept())  # it asks whether to leave
        page.goto("about:blank")

        assert outcome(server.folder, "llm:closing") == ("failed", "stopped")  # still held
        llm.release()
        assert len(llm.requests) == 24


def outcome(folder: Path, mind: str) -> tuple[str, str]:
    """How the recorded run with this mind ended; waits until it has."""
    deadline = time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < deadline:
        for path in (folder / "sabm_recordings").glob("*.sqlite"):
            with closing(sqlite3.connect(path)) as file:
                rows = file.execute("SELECT status, problem, parameters FROM runs").fetchall()
            for status, problem, parameters in rows:
                if mind in parameters and status != "running":
                    return status, problem
        time.sleep(0.1)
    raise AssertionError(f"The run with {mind} continues.")


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
        expect(page.locator(".sabm-progress")).to_have_text("0 of 4 rounds are played.")
        expect(page.get_by_text("Later, continue with: sabm resume")).to_be_visible()


def test_every_scenario_is_played():
    assert set(PLAYED) == set(SCENARIOS)


def test_the_page_can_be_used_with_the_keyboard_and_on_a_phone(browse):
    page = browse("/scenario/kbc", viewport={"width": 390, "height": 844}, color_scheme="dark")
    expect(page.get_by_role("heading", name="Keynesian beauty contest")).to_be_visible()
    page.get_by_role("button", name="Play", exact=True).focus()
    page.keyboard.press("Enter")
    ended(page)

    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title() == "Keynesian beauty contest · sabm"
    expect(page.locator("#app.theme--dark")).to_have_count(1)
    page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")


def test_it_is_said_before_play_who_will_decide(browse):
    page = browse("/scenario/kbc")
    banner, line = page.locator(".sabm-banner"), page.locator(".sabm-next")
    expect(line).to_be_hidden()
    fill(page, "Minds: who decides", "llm:gpt-4o-mini")
    expect(banner).to_have_text(
        "Language model gpt-4o-mini decides for all players: answers may cost money."
    )
    expect(line).to_contain_text("Parameters have changed: Play makes a model with them. Language")
    fill(page, "Minds: who decides", "fixed:5")
    expect(line).to_contain_text("The fixed answer 5 decides for all players: no language model.")
    press(page, "Step")
    expect(page.locator(".sabm-progress")).to_have_text("1 of 4 rounds are played.")
    expect(line).to_be_hidden()
    fill(page, "Minds: who decides", "llm:gpt-4o-mini")
    expect(line).to_contain_text("Parameters have changed: Reset makes a model with them.")
    expect(line).to_contain_text("answers may cost money")
    expect(banner).to_contain_text("no language model")


def test_minds_that_cannot_decide_are_refused_before_a_round(browse):
    page = browse("/scenario/kbc", color_scheme="dark", reduced_motion="reduce")
    fill(page, "Minds: who decides", "gpt-4o")
    expect(page.locator(".sabm-problem")).to_contain_text(
        "Cannot read the mind spec 'gpt-4o' (write llm:gpt-4o for"
    )
    expect(page.locator(".sabm-banner")).to_have_text("No mind of this name can decide.")
    expect(page.locator(".sabm-progress")).to_have_text("Nothing is played yet. Press Play.")

    button = page.locator(".sabm-transport .sabm-play")  # white words: 5.2 to 1
    expect(button).to_have_css("background-color", "rgb(0, 114, 178)")
    expect(button).to_have_css("transition-duration", "1e-05s")


def test_a_drawn_seed_is_shown_and_repeats_the_run(browse):
    page = browse("/scenario/kbc")
    press(page, "Play")
    ended(page)
    page.get_by_text("Usage and files", exact=True).click()
    seed = page.locator('[data-name="run"]').inner_text().rpartition("seed ")[2]
    model = scenario("kbc")(rng=int(seed))
    model.run_model()
    expect(page.locator('dd[data-name="target"]')).to_have_text(number(model.target))
    expect(page.locator("dt", has_text="Winners")).to_be_visible()
    expect(page.locator(".sabm-timeline output")).to_have_text("Round 4 of 4")


def test_a_pause_is_taken_back_and_leaving_is_asked_about(browse, server):
    with LLMServer(brain=lambda _messages, _body: "33") as llm:
        page = browse("/")
        asked: list[str] = []

        def stay(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        page.on("dialog", stay)
        page.get_by_text(scenario("kbc").title).click()
        progress = page.locator(".sabm-progress")
        use_language_model(page, llm.url, "llm:leaving")
        expect(page.locator("[data-guards]")).to_have_attribute("data-guards", "no")
        llm.hold()
        press(page, "Play")
        expect(progress).to_contain_text("0 of 24 answers, 24 in flight")
        expect(page.locator('[data-name="run"]')).to_contain_text("recorded in sabm_recordings")
        press(page, "Pause")
        expect(progress).to_contain_text("It pauses when this round is done; Play takes that back")
        press(page, "Play")
        expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
        expect(page.locator("[data-guards]")).to_have_attribute("data-guards", "yes")

        page.get_by_role("link", name="Recordings").click()
        until(page, lambda: asked == ["confirm"])
        page.evaluate("history.back()")
        until(page, lambda: asked == ["confirm", "confirm"])
        expect(progress).to_contain_text("24 in flight")
        expect(page).to_have_url(f"{server.url}/scenario/kbc")

        llm.release()
        ended(page)
        expect(page.locator("[data-guards]")).to_have_attribute("data-guards", "no")
        page.get_by_role("link", name="Read the recording").click()
        expect(page.locator("h1", has_text="Keynesian beauty contest, ")).to_be_visible()
        assert len(asked) == 2


def test_a_reload_in_mid_run_is_asked_about(browse):
    with LLMServer(brain=lambda _messages, _body: "33") as llm:
        page = browse("/scenario/kbc")
        asked: list[str] = []

        def stay(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        page.on("dialog", stay)
        use_language_model(page, llm.url, "llm:reloading")
        llm.hold()
        press(page, "Play")
        expect(page.locator(".sabm-progress")).to_contain_text("24 in flight")
        expect(page.locator("[data-guards]")).to_have_attribute("data-guards", "yes")
        page.close(run_before_unload=True)
        until(page, lambda: asked == ["beforeunload"])
        llm.release()
        ended(page)


def until(page: Page, condition: Callable[[], bool]) -> None:
    """Wait for something that the browser tells of."""
    deadline = time.monotonic() + WAIT_MS / 1000
    while not condition():
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def test_a_run_that_failed_goes_on_where_it_stopped(browse):
    with LLMServer(brain=lambda _messages, _body: "33") as llm:
        page = browse("/scenario/kbc")
        use_language_model(page, llm.url, "llm:capped=2,fixed:20=22")
        fill(page, "Most requests", "3")
        press(page, "Play")
        expect(page.locator(".sabm-problem")).to_contain_text(
            "The run has stopped:", timeout=WAIT_MS
        )
        expect(page.locator(".sabm-progress")).to_have_text("1 of 4 rounds are played.")
        fill(page, "Most requests", "100")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_enabled()
        press(page, "Play")
        ended(page)
        assert len(llm.requests) == 14  # two picks a round, and two sentences in three of them
        expect(page.locator(".sabm-problem")).to_have_count(0)


def test_a_wrong_text_marks_its_field(browse):
    page = browse("/scenario/kbc")
    fill(page, "Seed", "abc")
    press(page, "Play")
    expect(page.locator(".sabm-problem")).to_contain_text("“Seed”: ")
    expect(page.locator(".sabm-wrong")).to_have_count(1)
    expect(page.locator(".sabm-wrong label")).to_have_text("Seed")
    fill(page, "Seed", "1")
    press(page, "Play")
    ended(page)
    expect(page.locator(".sabm-wrong")).to_have_count(0)
    page.get_by_text("Further parameters", exact=True).click()
    expect(page.get_by_text("(a number of 0 or more, or none; default 0.7)")).to_be_visible()


def test_a_number_beyond_the_limits_is_not_taken(browse):
    page = browse("/scenario/kbc")
    fill(page, "Number of players", "250")
    press(page, "Step")
    expect(page.locator('dd[data-name="Asks answered"]')).to_have_text("250")
    fill(page, "Number of players", "0")  # there is no such game
    expect(page.get_by_label("Number of players", exact=True)).to_have_value("250")


def test_the_first_run_plays_by_itself_until_the_page_is_touched(browse):
    page = browse("/scenario/evacuation", reduced_motion="no-preference")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    page.locator('.sabm-charts:not([data-round="-1"])').wait_for()

    page.locator(".sabm-side").click()

    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(page.locator(".sabm-progress")).to_contain_text("of 50 rounds are played")


def test_a_question_plays_its_experiment(browse):
    page = browse("/scenario/public-goods")
    page.get_by_role("button", name="Make one of four malicious: what happens?").click()
    expect(page.locator(".sabm-progress")).to_contain_text("has ended")
    expect(page.get_by_label("Number of players")).to_have_value("4")
    expect(page.locator(".sabm-world-canvas")).to_have_attribute("data-marks", "4")
