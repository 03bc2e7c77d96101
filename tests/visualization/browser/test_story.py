"""The story of an agent in a real browser: live and in the recording of the same run."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.llm_server import LLMServer, Reply

Browse = Callable[..., Page]
OWN = """() => [...document.querySelectorAll(".sabm-canvas")].map(
  (canvas) => canvas.sabmChosen()).flat()"""
SPOT = """() => {
  const canvas = document.querySelector(".sabm-world-canvas"), box = canvas.getBoundingClientRect();
  const [id, x, y] = canvas.sabmSpots().find(([id]) => id > 0);
  return [id, box.left + x, box.top + y];
}"""


def brain(messages: list[dict[str, str]], body: dict[str, object]) -> Reply:
    """Thinks, speaks of 20, and picks 40."""
    del body
    if "it is your turn to speak" in messages[-1]["content"]:
        thoughts = {"reasoning_content": "They will believe it."}
        return Reply("I will pick 20. <b>All</b> of us should.", message=thoughts)
    return Reply("40", message={"reasoning_content": "Nobody sees this."})


@pytest.fixture(scope="module")
def llm() -> Iterator[LLMServer]:
    with LLMServer(brain=brain) as server:
        yield server


def read_story(page: Page) -> list[str]:
    """The kinds and texts of a story."""
    story = page.locator(".sabm-story")
    expect(story.locator("section").last.locator(".sabm-outcome")).to_be_visible()
    return [
        f"{each.get_attribute('data-kind')}: {each.inner_text()}"
        for each in story.locator("li").all()
    ]


def test_a_live_run_tells_the_story_of_an_agent_and_links_its_recording(
    browse: Browse, llm: LLMServer
) -> None:
    page = browse("/scenario/kbc")
    field = page.get_by_label("Minds: who decides", exact=True)
    page.get_by_role("button", name="Language model", exact=True).press("Enter")
    expect(field).to_have_value("local")
    page.locator(".sabm-box input").uncheck()
    page.get_by_label("Server").fill(llm.url)
    page.get_by_label("Server").press("Enter")
    expect(field).to_have_value(f"llm:gpt-4o-mini@{llm.url}")
    page.get_by_role("button", name="Check the model").press("Enter")
    expect(page.locator(".sabm-found")).to_contain_text("no parameter was refused")
    expect(page.locator(".sabm-found")).to_contain_text("4 of 4 answers to the scenario's")
    page.get_by_role("button", name="Mix", exact=True).press("Enter")
    expect(field).to_have_value(f"llm:gpt-4o-mini@{llm.url}=12,classical=12")
    field.fill(f"llm:gpt-4o-mini@{llm.url}=2,fixed:7=1")
    field.press("Enter")
    for label, number in (("Number of players", "3"), ("Number of rounds", "3")):
        page.get_by_label(label, exact=True).fill(number)
        page.get_by_label(label, exact=True).press("Enter")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".sabm-progress")).to_contain_text("The run has ended")

    agents = page.get_by_label("Story of")
    llm_agent = agents.locator("option", has_text="gpt-4o-mini").first
    agents.select_option(llm_agent.get_attribute("value"))
    panel = page.locator(".sabm-agent")
    expect(panel.get_by_role("heading", level=2)).to_be_focused()
    told = read_story(page)
    assert "thought: thought · private: nobody else was shown it" in told[0]
    assert any(re.match(r"heard: heard from Player \d", each) for each in told)
    said = next(each for each in told if each.startswith("said"))
    assert "said to all" in said
    assert "<b>All</b>" in said
    assert any(each.startswith("did") and "40" in each for each in told)
    page.wait_for_function(f"JSON.stringify(({OWN})()) === '[[40,40,40]]'")

    panel.get_by_role("button", name=re.compile("Show the prompt: act")).last.press("Enter")
    expect(panel.locator("[data-role=user]")).to_contain_text("I will pick 20")
    expect(panel.locator("[data-role=answer]")).to_have_text("40")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("output")).to_contain_text("Round 2 of 3")
    expect(panel.get_by_role("heading", level=3).last).to_have_text("Round 2")
    page.keyboard.press("ArrowRight")
    expect(panel.get_by_role("heading", level=3).last).to_have_text("Round 3")

    page = browse(str(page.locator("a", has_text="Read the recording").get_attribute("href")))
    expect(page.locator("body")).to_contain_text("gpt-4o-mini")


def test_a_person_of_the_world_is_chosen_by_a_click(browse: Browse) -> None:
    page = browse("/scenario/evacuation", viewport={"width": 390, "height": 844})
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".sabm-charts")).to_have_attribute("data-round", "0")
    page.locator(".sabm-world-canvas").scroll_into_view_if_needed()
    agent, x, y = page.evaluate(SPOT)
    page.mouse.click(x, y)
    panel = page.locator(".sabm-agent")
    expect(panel.get_by_role("heading", level=2)).to_have_text(re.compile(rf"\D{agent}$"))
    expect(panel.locator("[data-kind=did]").first).to_be_visible()
    expect(panel).to_be_in_viewport()
