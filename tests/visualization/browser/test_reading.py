"""Texts on pages; on every Python, since the pages use Mesa's own viewer."""

from playwright.sync_api import expect


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
