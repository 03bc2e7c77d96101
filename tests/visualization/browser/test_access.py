"""Pages of the host of a server that others can reach."""

from pathlib import Path

from playwright.sync_api import Browser

from sabm_mesa.visualization import access
from tests.visualization.browser.conftest import WAIT_MS, Server


def test_a_page_of_the_host_opens_with_the_key(tmp_path: Path, chromium: Browser) -> None:
    server = Server(tmp_path, **{access.VARIABLE: "open sesame, now"})
    try:
        with chromium.new_context() as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            page.goto(f"{server.url}/scenario/kbc")
            page.get_by_text("This page is for the host").wait_for()
            assert page.get_by_role("button", name="Play", exact=True).count() == 0
            page.goto(f"{server.url}/scenario/kbc?key=open+sesame%2C+now")
            page.get_by_role("button", name="Play", exact=True).wait_for()
            page.goto(f"{server.url}/scenario/bertrand")
            page.get_by_role("button", name="Play", exact=True).wait_for()
            page.get_by_text("Language models", exact=True).click()
            page.get_by_text("its key is sent to no address that is given here").wait_for()
            page.goto(f"{server.url}/recording?file=/etc/hosts")
            page.get_by_text("only recordings below").wait_for()
        with chromium.new_context() as other:
            other.set_default_timeout(WAIT_MS)
            page = other.new_page()
            page.goto(f"{server.url}/host")
            page.get_by_text("This page is for the host").wait_for()
            page.goto(f"{server.url}/play/nobody")
            page.get_by_text("This link leads to no game").wait_for()
            assert "This page is for the host" not in page.content()
    finally:
        server.close()
