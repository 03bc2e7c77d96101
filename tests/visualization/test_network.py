"""The application that listens on the network, and strangers."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from sabm_mesa.visualization.access import host_key, may_host
from sabm_mesa.visualization.middleware import FREE_TRIES, RequestMiddleware
from sabm_mesa.visualization.web.app import network_app, routes
from sabm_mesa.visualization.web.page import SESSION

EVIL = "evil.example"
OPEN = {
    "/": 303,
    "/join": 200,
    "/join/ABCDEF": 200,
    "/join/ABCDEF/qr.svg": 404,
    "/play/nobody": 200,
    "/play/nobody/state": 200,
    "/wall/nobody": 200,
    "/wall/nobody/state": 200,
    "/api/seats/nobody": 404,
    "/host": 403,
    "/host/state": 403,
    "/recording": 403,
    "/screen/ABCDEF": 403,
    "/results/ABCDEF": 403,
    "/scenario/kbc": 404,
    "/jupyter/api/kernels/any/channels": 404,
    "/_solara/cdn/requirejs@2.3.6/require.js": 404,
    "/static/main-vuetify.js": 404,
    "/nowhere": 404,
    "/.env": 404,
}
"""All that answers a stranger, and addresses of Solara, with the status."""


@pytest.fixture
def stranger() -> TestClient:
    """A browser that comes by a name in the network."""
    return TestClient(network_app(), base_url="http://class.example:8765", follow_redirects=False)


@pytest.fixture
def neighbour() -> TestClient:
    """A browser at an application that only this machine reaches."""
    app = RequestMiddleware(Starlette(routes=routes()), local=True)
    return TestClient(app, base_url="http://localhost:8765", follow_redirects=False)


@pytest.mark.parametrize(("path", "status"), OPEN.items())
def test_a_stranger_gets_games_and_the_page_that_asks_for_the_key(
    stranger: TestClient, path: str, status: int
) -> None:
    answer = stranger.get(path)
    policy = dict(
        p.split(maxsplit=1) for p in answer.headers["content-security-policy"].split("; ")
    )

    assert answer.status_code == status
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert re.fullmatch(r"'nonce-[\w-]{22}'", policy["script-src"])
    assert "http" not in str(policy)
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_an_opener_policy_is_sent_where_browsers_take_it(
    stranger: TestClient, neighbour: TestClient
) -> None:
    header = "cross-origin-opener-policy"
    assert stranger.get("https://class.example:8765/join").headers[header] == "same-origin"
    assert neighbour.get("/join").headers[header] == "same-origin"
    assert header not in stranger.get("/join").headers  # it would be an error on the console


@pytest.mark.parametrize(
    "headers", [{"host": f"127.0.0.1.{EVIL}"}, {"host": EVIL}, {"host": "["}, {"host": ""}]
)
def test_on_loopback_another_name_of_the_host_is_refused(
    neighbour: TestClient, headers: dict[str, str]
) -> None:
    assert neighbour.get("/join", headers=headers).status_code == 403
    for name in ("localhost:8765", "127.0.0.1:8765", "[::1]:8765"):
        assert neighbour.get("/join", headers={"host": name}).status_code == 200


def test_a_request_of_another_site_is_refused(stranger: TestClient, neighbour: TestClient) -> None:
    for browser in (stranger, neighbour):
        own = str(browser.base_url).rstrip("/")
        for origin in (f"http://{EVIL}", "http://localhost:9999", "http://["):
            assert browser.get("/join", headers={"origin": origin}).status_code == 403
            assert browser.post("/join", headers={"origin": origin}, json={}).status_code == 403
        for origin in (own, "null"):  # pages that send no referrer have the origin null
            assert browser.get("/join", headers={"origin": origin}).status_code == 200


def test_the_key_leaves_the_address_and_stays_in_a_cookie(stranger: TestClient) -> None:
    shown = stranger.get(f"/recording?key={host_key()}&file=a")
    assert (shown.status_code, shown.headers["location"]) == (303, "/recording?file=a")
    cookie = shown.headers["set-cookie"]
    assert re.fullmatch(r"sabm-host-8765=[\w-]{22}; HttpOnly; Path=/; SameSite=strict", cookie)
    assert host_key() not in cookie
    assert may_host(stranger.cookies)
    assert stranger.get("/host").status_code == 200
    outwards = stranger.get(f"{stranger.base_url}//{EVIL}/?key={host_key()}")
    assert outwards.headers["location"] == f"/{EVIL}/"


def test_a_key_is_entered_on_the_page_and_the_address_is_kept(stranger: TestClient) -> None:
    page = stranger.get("/recording?key=guessed&file=a")
    assert page.status_code == 403
    assert "This is not the key." in page.text
    assert '<input type="hidden" name="file" value="a">' in page.text
    assert "set-cookie" not in page.headers


def test_a_wrong_address_is_said_in_the_language_of_the_browser(stranger: TestClient) -> None:
    missing = stranger.get("/jion", headers={"Accept-Language": "de"})
    assert missing.text == "Unter dieser Adresse gibt es keine Seite."


def test_guesses_of_the_key_wait(stranger: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from sabm_mesa.visualization import middleware

    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(middleware, "TRIES", middleware.SecretLimiter(lambda: 0.0, wait))
    for _ in range(FREE_TRIES + 2):
        assert stranger.get("/host?key=guessed").status_code == 403
    assert waits == [0.5, 1.0]
    assert stranger.get(f"/host?key={host_key()}").status_code == 303


def test_the_session_is_read_by_no_script_and_sent_by_no_other_site(stranger: TestClient) -> None:
    cookie = stranger.get("/join").headers["set-cookie"]
    assert cookie.startswith(f"{SESSION}=")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


def test_what_strangers_send_has_a_limit(stranger: TestClient) -> None:
    for path in ("/join", "/play/nobody/answer", "/play/nobody/vote"):
        answer = stranger.post(path, json={"code": "x" * 100_000})
        assert "too long" in answer.json()["problem"]
