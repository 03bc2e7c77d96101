"""The page of recordings in a real browser, compared with what `Recorded` reads."""

import csv
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import StringIO
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from sabm_mesa import EmergencyEvacuation, KeynesianBeautyContest, Recorded, Recording, fork
from sabm_mesa.llm import close_all
from sabm_mesa.visualization.labels import number
from tests.llm_server import LLMServer
from tests.visualization.browser.conftest import Server

HOSTILE = "<img src=x onerror=\"document.title='taken'\"> **bold** I choose 30."
UNUSABLE = "I would rather not <b>say</b>."
MOVE = "path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')) }"
Browse = Callable[..., Page]


def brain(messages: list[dict[str, str]], body: dict[str, object]) -> str:
    """Says something hostile; answers unusably at first, and then with a number."""
    del body
    if "it is your turn to speak" in messages[-1]["content"]:
        return HOSTILE
    return UNUSABLE if len(messages) == 2 else "Now I can.\n30"


FILES = ("parent.sqlite", "branches/fork.sqlite", "cut.sqlite", "new.sqlite")


@pytest.fixture(scope="module")
def files(server: Server) -> Path:
    """A folder with a run, its fork, and files that cannot be opened."""
    folder = server.folder
    with pytest.MonkeyPatch.context() as patch, LLMServer(brain=brain) as llm:
        patch.setenv("OPENAI_API_KEY", "none")
        contest = KeynesianBeautyContest(
            n_players=3, n_rounds=4, minds=f"llm:gpt-4o-mini@{llm.url}", rng=1,
            recording=folder / "parent.sqlite",
        )  # fmt: skip
        contest.run_model()
        (folder / "branches").mkdir()
        fork(
            folder / "parent.sqlite", 2, {"condition": "cooperative", "minds": "fixed:7"},
            folder / "branches" / "fork.sqlite",
        )  # fmt: skip
        close_all()
    whole = (folder / "parent.sqlite").read_bytes()
    (folder / "cut.sqlite").write_bytes(whole[: len(whole) // 2])
    (folder / "new.sqlite").write_bytes(whole)
    with closing(sqlite3.connect(folder / "new.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    (folder / "notes.txt").write_text("No recording.")
    return folder


def address(file: str, run: int | str = 0) -> str:
    return f"/recording?{urlencode({'file': file, 'run': run})}"


def move_to(page: Page, path: str) -> None:
    """Change the address as links of the page do: what it has loaded stays."""
    page.evaluate(MOVE, path)


def open_ask(page: Page, agent: int, phase: str) -> None:
    page.get_by_role("button", name=f"Agent {agent}, {phase}: read the exchange").click()
    expect(page.locator(".rec-reader h2")).to_contain_text(f"Player {agent}, {phase}")
    page.locator(".rec-exchange").wait_for()


def go_to(page: Page, round_: int) -> None:
    expect(page.locator("output")).to_contain_text(f"Round {round_ + 1} of")
    expect(page.locator("h2", has_text="Round ").first).to_have_text(f"Round {round_ + 1}")
    expect(page.get_by_text(f"asks in round {round_ + 1},")).to_be_visible()


def test_the_list_and_a_round(files: Path, browse: Browse) -> None:
    page = browse("/recording")
    names = page.locator(".rec-list strong")
    expect(names.filter(has_text="parent.sqlite")).to_be_visible()
    # No text file is among them. Recordings of other tests are in a folder.
    listed = {name for name in names.all_inner_texts() if not name.startswith("sabm_recordings")}
    assert listed == set(FILES)
    expect(page.locator(".rec-list li", has_text="branches/fork.sqlite")).to_contain_text(
        "kbc · 1 run (1 finished)"
    )

    page.locator(".rec-list button", has_text="parent.sqlite").click()
    go_to(page, 0)
    expect(page).to_have_url(re.compile("file=parent.sqlite"))
    data = Recorded(files / "parent.sqlite").model_data(0)
    page.get_by_role("button", name="Next round").click()
    go_to(page, 1)
    expect(page.locator("[data-name=target]")).to_have_text(number(data["target"][1]))
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    go_to(page, 2)
    page.locator("input[type=range]").focus()
    page.keyboard.press("End")
    go_to(page, 3)
    expect(page.get_by_role("button", name="Next round")).to_be_disabled()
    asks = Recorded(files / "parent.sqlite").decisions(0)
    expect(page.locator(".rec-asks tbody tr")).to_have_count(int((asks["round"] == 3).sum()))
    page.get_by_text("Only invalid ones").click()
    expect(page.get_by_text("None to show.")).to_be_visible()
    page.wait_for_function("document.querySelector('.sabm-canvas')?.sabmAt?.() === 3")


def test_what_was_sent_and_answered_is_shown_exactly_and_as_text(
    files: Path, browse: Browse
) -> None:
    recorded = Recorded(files / "parent.sqlite")
    page = browse(address("parent.sqlite"))
    page.get_by_role("button", name="Next round").click()
    go_to(page, 1)
    open_ask(page, 2, "act")
    expect(page.locator(".rec-attempt")).to_have_count(2)
    for attempt, shown in enumerate(page.locator(".rec-attempt").all()):
        sent = recorded.chat(0, 1, "act", 2, attempt=attempt)
        found = shown.locator("pre:not([data-role=answer]):not([data-role=reasoning])")
        texts = found.evaluate_all("all => all.map(e => [e.dataset.role, e.textContent])")
        assert [tuple(each) for each in texts] == sent
    answers = page.locator("pre[data-role=answer]")
    assert answers.evaluate_all("all => all.map(e => e.textContent)") == [
        UNUSABLE, "Now I can.\n30"
    ]  # fmt: skip
    expect(page.locator(".rec-exchange")).to_contain_text("gpt-4o-mini")

    open_ask(page, 1, "communicate")
    expect(page.locator("pre[data-role=answer]")).to_have_text(HOSTILE)
    page.get_by_role("tab", name="Conversation").click()
    expect(page.locator(".sabm-words").first).to_have_text(HOSTILE)
    expect(page.locator(".sabm-words")).to_have_count(9)
    assert page.locator("img[src=x], .rec-page b").count() == 0
    assert "taken" not in page.title()


@pytest.mark.usefixtures("files")
def test_a_fork_beside_its_parent(browse: Browse) -> None:
    page = browse(address("branches/fork.sqlite"))
    page.get_by_role("tab", name="Compare").click()
    expect(page.get_by_text("Its parent is chosen.")).to_be_visible()
    expect(page.locator("[data-name=difference]")).to_contain_text("The first to differ is round 3")
    page.get_by_text('From round 3 on: condition = "cooperative"').wait_for()
    page.locator(".sabm-canvas canvas").first.wait_for()


def test_what_cannot_be_opened_is_said_in_a_line(files: Path, browse: Browse) -> None:
    page = browse("/recording")
    for name, told in {  # no line is like the one before it
        "none.sqlite": "There is no recording",
        "cut.sqlite": "is not a usable recording",
        "~nosuchuser/x.sqlite": "There is no recording",
        "new.sqlite": "has format 99, and this sabm-mesa reads format",
        "\0": "There is no recording",
        "notes.txt": "is not a usable recording",
        "a" * 300: "There is no recording",
    }.items():
        move_to(page, address(name))
        expect(page.get_by_role("alert")).to_contain_text(told)
    page.get_by_role("button", name="All recordings").click()
    page.get_by_label("Path on the computer").fill(str(files / "parent.sqlite"))
    page.get_by_role("button", name="Open", exact=True).click()
    go_to(page, 0)
    for run in (5, 10**25, "9" * 5000):
        move_to(page, address("parent.sqlite", run=run))
        expect(page.get_by_role("alert")).to_contain_text("run")
        move_to(page, address("parent.sqlite"))
        go_to(page, 0)
    page.get_by_role("tab", name="Conversation").click()
    page.get_by_label("Only round").fill("9" * 5000)
    expect(page.locator(".sabm-words").first).to_be_visible()


def test_a_recording_in_use(files: Path, browse: Browse) -> None:
    try:
        with Recording(files / "live.sqlite") as recording:
            model = KeynesianBeautyContest(n_players=3, n_rounds=3, rng=1, recording=recording)
            model.step()
            page = browse(address("live.sqlite"))
            expect(page.locator(".rec-bar", has_text="kbc, running")).to_be_visible()
            page.get_by_role("tab", name="Downloads").click()
            expect(page.get_by_text("when its runs have ended")).to_be_visible()
            model.run_model()
        page.get_by_role("button", name="Read again").click()
        expect(page.locator(".rec-bar", has_text="finished, 3 rounds")).to_be_visible()
    finally:
        (files / "live.sqlite").unlink(missing_ok=True)


@pytest.mark.usefixtures("files")
def test_what_is_found_has_an_address_that_leads_there(server: Server, browse: Browse) -> None:
    page = browse(address("parent.sqlite"))
    page.get_by_role("tab", name="Find").click()
    field = page.get_by_label("Words, or a phrase")
    field.fill("rather not")
    field.press("Enter")
    found = Recorded(server.folder / "parent.sqlite").asks(run=0)
    n = int(found["raw"].str.contains("rather not").sum())
    page.get_by_role("combobox", name="Texts").select_option("answers")
    expect(page.locator("[data-name=found]")).to_have_text(f"{n} places.")
    expect(page.locator(".rec-hits mark").first).to_have_text("rather")
    expect(page.locator(".rec-hits b")).to_have_count(0)
    page.locator(".rec-hits a", has_text="Player 2, act, round 2").first.click()
    go_to(page, 1)
    expect(page.locator(".rec-reader h2")).to_have_text("Player 2, act, round 2")
    page.get_by_text("Changed since the last request").click()
    expect(page.locator(".rec-diff ins").first).to_be_visible()
    copied = page.locator(".rec-reader .rec-address").get_attribute("data-url")

    again = browse(copied or "")
    expect(again.locator(".rec-reader h2")).to_have_text("Player 2, act, round 2")
    message = again.locator(".rec-here").nth(2).get_attribute("href")
    move_to(again, message or "")
    expect(again.locator("li.rec-chosen .sabm-who")).to_contain_text("Round 2")
    move_to(again, f"{address('parent.sqlite')}&round=99")
    expect(again.get_by_role("alert")).to_contain_text("no such round")


def test_downloads(files: Path, browse: Browse) -> None:
    page = browse(address("parent.sqlite"))
    page.get_by_role("tab", name="Downloads").click()
    with page.expect_download() as whole:
        page.get_by_role("button", name="Download parent.sqlite").click()
    assert Path(whole.value.path()).read_bytes() == (files / "parent.sqlite").read_bytes()
    with page.expect_download() as table:
        page.get_by_role("button", name="Download parent-asks.csv").click()
    found = list(csv.DictReader(StringIO(Path(table.value.path()).read_text())))
    asks = Recorded(files / "parent.sqlite").asks()
    assert [row["raw"] for row in found] == asks["raw"].tolist()
    assert json.loads(found[0]["value"] or "30") == 30


@pytest.mark.usefixtures("files")
def test_a_fork_is_read_beside_its_parent(browse: Browse) -> None:
    page = browse(address("branches/fork.sqlite"))
    expect(page.get_by_text("minds:", exact=False).first).to_contain_text("fixed:7")
    page.get_by_role("tab", name="Compare").click()
    sides = page.locator(".rec-beside > .rec-one")
    expect(sides.nth(0).locator("h3").first).to_contain_text("The fork: run 0")
    expect(sides.nth(1).locator("h3").first).to_contain_text("Its parent: run 0")
    next_ = page.get_by_role("button", name="Next round")
    for round_ in (1, 2):
        next_.click()
        for side in sides.all():
            expect(side.locator("h2").first).to_have_text(f"Round {round_ + 1}")
    expect(sides.nth(0).locator(".sabm-words").first).to_have_text("7")
    expect(sides.nth(1).locator(".sabm-words").first).to_have_text(HOSTILE)
    sides.nth(0).get_by_role("button", name="Agent 2, act: read the exchange").click()
    for side in sides.all():
        expect(side.get_by_text("Player 2, act, round 3", exact=True)).to_be_visible()
    expect(sides.nth(1).locator("pre[data-role=answer]").first).to_have_text(UNUSABLE)
    assert page.locator("img[src=x], .rec-page b").count() == 0


@pytest.mark.usefixtures("files")
def test_cards_tell_of_minds_condition_and_seed(browse: Browse) -> None:
    page = browse("/recording")
    card = page.locator(".rec-list li", has_text="parent.sqlite")
    expect(card).to_contain_text("llm:gpt-4o-mini")
    expect(card).to_contain_text("· baseline · seed 1")


@pytest.mark.usefixtures("files")
def test_an_agent_that_does_not_exist_is_said(browse: Browse) -> None:
    page = browse(address("parent.sqlite"))
    go_to(page, 0)
    page.get_by_label("Only agent").fill("99")
    expect(page.get_by_text("Agent 99 is not in this run.")).to_be_visible()


def test_a_stopped_run_is_no_failure(files: Path, browse: Browse) -> None:
    stopped = files / "stopped run.sqlite"
    model = KeynesianBeautyContest(n_players=3, n_rounds=3, rng=1, recording=stopped)
    model.step()
    model.close("stopped")
    page = browse(address(stopped.name))
    expect(page.get_by_text("The run was stopped before its end.")).to_contain_text(
        "Continue with: sabm resume 'stopped run.sqlite'"
    )
    expect(page.get_by_role("alert")).to_have_count(0)
    stopped.unlink()


def test_an_evacuation_has_a_picture_of_each_round(files: Path, browse: Browse) -> None:
    path = files / "room.sqlite"
    EmergencyEvacuation(n_people=8, n_rounds=2, rng=1, recording=path).run_model()
    page = browse(address(path.name), viewport={"width": 390, "height": 844})
    go_to(page, 0)
    room = page.locator(".sabm-world-canvas")
    expect(room).to_have_attribute("data-round", "0")
    expect(room).to_have_attribute("data-marks", "8")
    page.get_by_role("button", name="Next round").click()
    go_to(page, 1)
    expect(room).to_have_attribute("data-round", "1")
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.get_by_role("tab", name="Conversation").click()
    recorded = Recorded(path)
    first = recorded.messages().iloc[0]
    to = first["to"].split() if isinstance(first["to"], str) else []
    heard_by = ", ".join(f"Evacuee {agent}" for agent in to) or "nobody"
    who = f"Round 1 · Evacuee {first['speaker']} → {heard_by}"
    expect(page.locator(".sabm-who").first).to_have_text(who)
    path.unlink()


@pytest.mark.usefixtures("files")
def test_a_phone_in_the_dark(browse: Browse) -> None:
    page = browse(
        address("parent.sqlite"), viewport={"width": 390, "height": 844}, color_scheme="dark"
    )
    go_to(page, 0)
    page.locator(".sabm-canvas canvas").first.wait_for()
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
