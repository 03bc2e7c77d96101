"""Connections that ask for nothing, against a real server without its pages; the middleware."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import pytest
import uvicorn
from starlette.responses import FileResponse

from sabm_mesa.visualization import server as viewer

ASKS = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
POSTS = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"
HALF = {"nothing": b"", "a line": b"GET / HT", "headers": ASKS[:-2], "a body": POSTS + b"ab"}


async def app(_scope, receive, send):
    """Reads the whole of a request, and answers."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def serving(app=app) -> AsyncIterator[int]:
    """A server; its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=viewer.BoundedProtocol, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    task = asyncio.ensure_future(server.serve([listening]))
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()
        assert not server.server_state.connections


async def is_ended(port: int, sent: bytes, source: str = "127.0.0.1") -> bool:
    """Whether the server ends the connection, and does not answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    try:
        writer.write(sent)
        return not await reader.read(1)
    except ConnectionResetError:
        return True
    finally:
        writer.close()


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("sent", HALF.values(), ids=HALF)
def test_a_connection_that_asks_for_nothing_is_ended(monkeypatch, sent: bytes):
    monkeypatch.setattr(viewer, "REQUEST_S", 0.2)

    async def scene() -> None:
        async with serving() as port:
            assert await is_ended(port, sent)
            assert not await is_ended(port, ASKS)

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_a_request_that_comes_byte_by_byte_has_no_longer_than_another(monkeypatch):
    monkeypatch.setattr(viewer, "REQUEST_S", 0.3)

    async def scene() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(ASKS)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
            writer.write(b"GET / HTTP/1.1\r\n")  # the next one
            ended = asyncio.ensure_future(reader.read(1))
            while not ended.done():
                writer.write(b"x")
                await asyncio.sleep(0.01)
            writer.close()

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_slow_readers_of_a_large_file_keep_nobody_waiting_and_no_memory(tmp_path):
    large, readers, taken = 2**25, 20, []
    (tmp_path / "large").write_bytes(bytes(large))

    async def app(scope, receive, send):
        async def count(message):
            await send(message)  # returns when there is room for more
            taken.append(len(message.get("body", b"")))

        await FileResponse(tmp_path / "large")(scope, receive, count)

    async def ask(port: int, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
        writer.write(ASKS)
        assert await reader.readexactly(1) == b"H"
        return reader, writer

    async def scene() -> None:
        async with serving(app) as port:
            slow = [await ask(port, limit=1) for _ in range(readers)]
            reader, writer = await ask(port, limit=large)
            for _ in range(large // 2**20):  # the slow ones read a byte where it reads a million
                await reader.readexactly(2**20)
                for slow_reader, _ in slow:
                    await slow_reader.readexactly(1)
            assert sum(taken) < large + readers * large / 2
            for _, each in [*slow, (reader, writer)]:
                each.transport.abort()

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_connections_are_bounded_by_address_and_in_all(monkeypatch):
    monkeypatch.setattr(viewer, "MOST_OPEN_OF_ADDRESS", 5)
    monkeypatch.setattr(viewer, "MOST_OPEN", 8)

    async def scene() -> None:
        async with serving() as port:
            with ExitStack() as stack:

                def silent(source: str) -> None:
                    stack.enter_context(
                        socket.create_connection(("127.0.0.1", port), source_address=(source, 0))
                    )

                for _ in range(5):
                    silent("127.0.0.2")
                assert await is_ended(port, ASKS, "127.0.0.2")
                assert not await is_ended(port, ASKS, "127.0.0.3")
                for _ in range(3):
                    silent("127.0.0.3")
                assert await is_ended(port, ASKS, "127.0.0.4")
                assert not await is_ended(port, ASKS)  # the host's own machine
            while await is_ended(port, ASKS, "127.0.0.2"):  # until they are known to be gone
                pass

    asyncio.run(asyncio.wait_for(scene(), 30))


@pytest.mark.slow
def test_a_home_page_that_is_drawn_when_the_server_ends_is_not_drawn() -> None:
    code = (
        "from sabm_mesa.visualization.viewer import home\n"
        "home.stop_drawing()\n"
        "print(home._drawn('kbc'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("None\n", "")
