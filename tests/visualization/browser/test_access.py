"""Two sites: games on the network, and the viewer on loopback at the next port."""

import socket
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.visualization.browser.conftest import NETWORK, WAIT_MS, Server


def test_the_network_reaches_games_and_a_host_the_viewer(tmp_path: Path, chromium: Browser) -> None:
    server = Server(tmp_path, NETWORK)
    network = f"http://127.0.0.2:{server.port}"
    viewer = f"http://localhost:{server.port + 1}"
    try:
        with chromium.new_context() as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            page.goto(network)
            page.get_by_label("Code of six letters").wait_for()
            page.goto(f"{network}/host?game=beauty-contest")
            page.get_by_text("This page is for the host").wait_for()
            page.get_by_label("Key").fill("guessed")
            page.get_by_role("button", name="Open").click()
            page.get_by_text("This is not the key.").wait_for()
            page.get_by_label("Key").fill(server.key)
            page.get_by_role("button", name="Open").click()
            page.get_by_role("button", name="Open the game").wait_for()
            assert page.url == f"{network}/host?game=beauty-contest"
            assert page.get_by_role("link", name="Scenarios").count() == 0
            page.goto(f"{network}/recording?file=/etc/hosts")
            page.get_by_text("only recordings below").wait_for()
        with chromium.new_context() as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            page.goto(f"{viewer}/scenario/kbc")
            page.get_by_text("This page is for the host").wait_for()
            page.goto(f"{viewer}/scenario/kbc?key={server.key}")
            page.get_by_role("button", name="Play", exact=True).wait_for()
            page.get_by_role("link", name="Play with people").click()
            page.get_by_role("button", name="Open the game").click()
            links = page.get_by_label("Link to the seat of").first
            page.get_by_text("A link for each seat").click()
            address = links.input_value()
            assert f":{server.port}/play/" in address
            assert "localhost" not in address
            page.goto(address.replace(address.split("/")[2], f"127.0.0.2:{server.port}"))
            expect(page.get_by_text("You have your seat.")).to_be_visible()
        with socket.socket() as tried:
            assert tried.connect_ex(("127.0.0.2", server.port + 1)) != 0
        for n in range(100):
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                raw.sendall(b"no request\r\n\r\n" if n % 2 else b"POST /join HTTP/1.1\r\n\r\n")
                raw.recv(1000)
        assert len(server.log()) < 1000, server.log()
    finally:
        server.close()
    assert "Traceback" not in server.log()
