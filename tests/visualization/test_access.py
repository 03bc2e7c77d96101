"""Who may use the pages of the host of a server that others can reach."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from sabm_mesa.visualization import access
from tests.visualization.conftest import Server


@pytest.fixture(autouse=True)
def _nobody_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_known", set())
    monkeypatch.delenv(access.VARIABLE, raising=False)


def test_on_loopback_all_may() -> None:
    assert access.may_host("anybody", None)


def test_with_a_key_only_who_showed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.VARIABLE, "")
    key = access.new_key()

    assert len(key) >= 20
    assert not access.may_host("a", None)
    assert not access.may_host("a", "key=wrong")
    assert access.may_host("a", f"key={key}")
    assert access.may_host("a", None)  # on the next page too
    assert not access.may_host("b", "")


def test_a_page_of_the_host_opens_with_the_key(
    tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(access.VARIABLE, "open sesame")
    server = Server(tmp_path)
    try:
        with chromium.new_context() as context:
            page = context.new_page()
            page.goto(f"{server.url}/scenario/kbc")
            page.get_by_text("This page is for the host").wait_for()
            assert page.get_by_role("button", name="Play").count() == 0
            page.goto(f"{server.url}/scenario/kbc?key=open+sesame")
            page.get_by_role("button", name="Play").wait_for()
            page.goto(f"{server.url}/scenario/bertrand")
            page.get_by_role("button", name="Play").wait_for()
        with chromium.new_context() as other:
            page = other.new_page()
            page.goto(f"{server.url}/host")
            page.get_by_text("This page is for the host").wait_for()
            page.goto(f"{server.url}/play/nobody")
            page.get_by_text("This link leads to no game").wait_for()
            assert "This page is for the host" not in page.content()
    finally:
        server.close()
