"""Texts on pages; on every Python, since the pages use Mesa's own viewer."""

from playwright.sync_api import expect

WIDE = {"width": 1200, "height": 800}


def test_a_month_is_called_so_everywhere_and_a_slider_is_one(browse):
    page = browse("/scenario/fishery", viewport=WIDE)
    slider = page.locator(".sabm-slider", has_text="Number of agents")
    box = slider.locator(".v-slider").bounding_box()
    assert box["width"] > 100
    assert slider.inner_text().strip() == "Number of agents:"
    page.get_by_role("button", name="Step", exact=True).click()

    expect(page.locator(".sabm-timeline output")).to_contain_text("Month 1 of ")
    expect(page.locator(".sabm-who").first).to_have_text("Month 1 · John → all")
    expect(page.locator(".sabm-progress")).to_have_text("1 of 12 months are played.")
    expect(page.get_by_role("heading", name="This month")).to_be_visible()
    expect(page.locator('dd[data-name="round"]')).to_have_text("1")


def test_what_cannot_be_used_is_said_as_soon_as_it_is_typed(browse):
    page = browse("/scenario/beauty-contest")
    page.get_by_text("Further parameters", exact=True).click()
    field = page.get_by_label("p", exact=True)
    for text, wrong in (("-3", 1), ("1/2", 0)):
        field.fill(text)
        field.press("Enter")
        field.blur()
        expect(page.locator(".sabm-wrong")).to_have_count(wrong)
        expect(page.get_by_text("“p”: p must be a number from")).to_have_count(wrong)
