"""A second condition beside the first, in a real browser, compared with the same run in Python."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from sabm_mesa import KeynesianBeautyContest

SEED, ROUNDS = 7, 4
MEANS = """() => Object.fromEntries(
  document.querySelector("[data-chart=picks]").sabmSeries().map((s) => [s[0], s[1]]))"""


def test_another_condition_with_the_same_seed_runs_beside(browse: Callable[..., Page]) -> None:
    page = browse("/scenario/kbc")
    page.get_by_label("Seed", exact=True).fill(str(SEED))
    page.get_by_label("Seed", exact=True).press("Enter")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".sabm-charts")).to_have_attribute("data-round", "0")

    page.get_by_label("Compare with").select_option("cooperative")
    expect(page.get_by_text("Beside it, cooperative: 1 of 4 rounds are played.")).to_be_visible()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_text("Beside it, cooperative: The run has ended")).to_be_visible()
    expect(page.locator(".sabm-progress")).to_contain_text("The run has ended")

    for condition in ("baseline", "cooperative"):
        page.wait_for_function(f"({MEANS})()['{condition}: mean'].length === {ROUNDS}")
    shown = page.evaluate(MEANS)
    for condition in ("baseline", "cooperative"):
        model = KeynesianBeautyContest(condition=condition, n_rounds=ROUNDS, rng=SEED)
        model.run_model()
        means = [[n, float(f"{y:.6g}")] for n, y in enumerate(model.model_frame()["mean"], 1)]
        assert shown[f"{condition}: mean"] == means
    expect(page.get_by_role("heading", name="Conversation: cooperative")).to_be_visible()
    page.get_by_role("button", name="Previous round").click()
    page.wait_for_function("document.querySelector('[data-chart=picks]').sabmAt() === 2")

    page.get_by_label("Compare with").select_option("nothing")
    expect(page.get_by_role("heading", name="Conversation", exact=True)).to_be_visible()
