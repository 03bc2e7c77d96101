"""A class of people whose connections drop: ``python -m benchmarks.lost_connections``.

A viewer plays one game after another with 40 seats. A client at each seat opens its page as a
browser does, answers the questions, and repeatedly loses its connection without notice. Other
clients send half a request and no more. The server process is measured once a minute: its threads,
open files and memory must not grow with the number of lost connections. On a busy machine (see its
load), pages open and close late, and these numbers grow for a while.

The duration is an option. This is not a benchmark of speed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

SEATS, ROUNDS = 40, 3
LOST_AFTER_S = 60
"""Mean seconds until a connection is lost. The seat is taken again a little later."""
HALF_REQUESTS = 20
"""Connections per minute that never complete a request."""
SERVER = f"""
import threading, time
from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.cli.view import view
from sabm_mesa.runs.game import Game
from sabm_mesa.visualization.pages.play_parts import GAMES
from solara.server.kernel_context import contexts

def play():
    for seed in range(10**6):
        game = Game(KeynesianBeautyContest, time_limit_s=30.0, n_players={SEATS},
                    n_rounds={ROUNDS}, rng=seed, recording=True)
        GAMES.add("host", game)
        game.start()
        print("SEATS", *(seat.token for seat in game.seats.values()), flush=True)
        game.join()
        print("OVER", seed, len(contexts), flush=True)
        GAMES.close(game)

threading.Thread(target=play, daemon=True).start()
view(port={{port}}, browser=False)
"""


class Player:
    """A person who takes one seat after another.

    Args:
        url: the address of the server, for connections.
        dice: draws the time until a connection is lost, and the time for an answer.
    """

    def __init__(self, url: str, dice: random.Random) -> None:
        self.url, self.dice = url, dice
        self.session = uuid4().hex
        self.n_answers = self.n_lost = 0
        self._sends: set[asyncio.Task[None]] = set()

    async def play(self, seat: asyncio.Queue[str]) -> None:
        """Play until this is cancelled.

        Args:
            seat: the tokens of seats as they come.
        """
        token = await seat.get()
        while True:
            holds_s = self.dice.expovariate(1 / LOST_AFTER_S)
            with suppress(OSError, WebSocketException, TimeoutError):
                async with asyncio.timeout(holds_s), self._connect() as connection:
                    try:
                        await self._watch(connection, token)
                    except (TimeoutError, asyncio.CancelledError):
                        connection.transport.abort()  # the page closes without notice
                        raise
            self.n_lost += 1
            await asyncio.sleep(self.dice.uniform(0.5, 10))
            while not seat.empty():
                token = seat.get_nowait()

    def _connect(self) -> connect:
        return connect(
            f"{self.url}/jupyter/api/kernels/{uuid4()}/channels?session_id={self.session}",
            additional_headers={"cookie": f"solara-session-id={self.session}"},
            max_size=None,
        )  # fmt: skip

    async def _watch(self, connection: ClientConnection, token: str) -> None:
        control = {"comm_id": "control", "target_name": "solara.control", "data": {}}
        await self._send(connection, "comm_open", control)
        run = {"method": "run", "args": {"path": f"/play/{token}", "dark": False}}
        await self._send(connection, "comm_msg", {"comm_id": "control", "data": run})
        async for said in connection:
            if isinstance(said, bytes) or '"remaining_s"' not in said:
                continue
            content = json.loads(said).get("content", {})
            state = content.get("data", {}).get("state", {})
            if "question" in state and "kind" in state and "comm_id" in content:
                send = asyncio.ensure_future(self._answer(connection, content["comm_id"], state))
                self._sends.add(send)
                send.add_done_callback(self._sends.discard)

    async def _answer(self, connection: ClientConnection, form: str, state: dict[str, Any]) -> None:
        await asyncio.sleep(self.dice.uniform(1, 15))
        given = "40" if state["kind"] == "number" else "I say a number"
        event = {"event": "give", "data": {"answer": given, "reasoning": ""}}
        data = {"method": "custom", "content": event}
        with suppress(OSError, WebSocketException):
            await self._send(connection, "comm_msg", {"comm_id": form, "data": data})
            self.n_answers += 1

    async def _send(self, connection: ClientConnection, kind: str, content: object) -> None:
        header = {"msg_id": uuid4().hex, "msg_type": kind, "session": self.session,
                  "username": "", "version": "5.3", "date": "2026-01-01T00:00:00Z"}  # fmt: skip
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content,
                   "buffers": [], "channel": "shell"}  # fmt: skip
        await connection.send(json.dumps(message))


def _said(log: Path, pattern: str) -> list[str]:
    """Return the matches of a pattern in the server's output."""
    return re.findall(pattern, log.read_text(errors="replace"), re.MULTILINE)


async def _watch_log(log: Path, seats: list[asyncio.Queue[str]]) -> None:
    """Hand out the seats of each new game."""
    n_known = 0
    while True:
        found = _said(log, r"^SEATS (.+)$")
        for tokens in found[n_known:]:
            for queue, token in zip(seats, tokens.split(), strict=True):
                queue.put_nowait(token)
        n_known = len(found)
        await asyncio.sleep(0.5)


async def _half_requests(port: int) -> None:
    """Connect and send the beginning of a request, again and again."""
    while True:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HT")
        asyncio.get_running_loop().call_later(3600, writer.close)  # the server must end it
        await asyncio.sleep(60 / HALF_REQUESTS)


async def _measure(process: psutil.Process, log: Path, players: list[Player], minutes: int) -> None:
    began = time.monotonic()
    print("| minute | threads | open files | memory (MB) | CPU (s) | pages kept | games | answers "
          "| connections lost | load |\n|" + "---|" * 10, flush=True)  # fmt: skip
    for minute in range(minutes + 1):
        await asyncio.sleep(max(0.0, began + 60 * minute - time.monotonic()))
        over = _said(log, r"^OVER \d+ (\d+)$")
        row = [minute, process.num_threads(), process.num_fds(),
               process.memory_info().rss // 2**20, round(sum(process.cpu_times()[:2])),
               over[-1] if over else 0, len(over), sum(each.n_answers for each in players),
               sum(each.n_lost for each in players), round(os.getloadavg()[0])]  # fmt: skip
        print(f"| {' | '.join(map(str, row))} |", flush=True)


async def _run(process: psutil.Process, port: int, log: Path, minutes: int) -> None:
    dice = random.Random(1)
    players = [Player(f"ws://127.0.0.1:{port}", random.Random(dice.random())) for _ in range(SEATS)]
    seats: list[asyncio.Queue[str]] = [asyncio.Queue() for _ in players]
    tasks = [asyncio.ensure_future(each) for each in (
        _watch_log(log, seats), _half_requests(port),
        *(player.play(seat) for player, seat in zip(players, seats, strict=True)),
    )]  # fmt: skip
    try:
        await _measure(process, log, players, minutes)
        for task in tasks:
            if task.done():
                task.result()  # a failed client must not hide a growing curve
    finally:
        for task in tasks:
            task.cancel()


def main() -> None:
    """Run the class and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=60, help="duration")
    parser.add_argument("--log", type=Path, help="file for the log of the server")
    given = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        log = given.log or Path(folder) / "server.log"
        with log.open("w") as out:
            server = subprocess.Popen(
                [sys.executable, "-c", SERVER.format(port=port)],
                cwd=folder, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            while "The viewer is at" not in log.read_text(errors="replace"):
                if server.poll() is not None:
                    sys.exit(log.read_text(errors="replace"))
                time.sleep(0.2)  # polls, since a file has no event for a new line
            asyncio.run(_run(psutil.Process(server.pid), port, log, given.minutes))
        finally:
            server.terminate()
            server.wait()
            said = log.read_text(errors="replace")
            print(f"Tracebacks in the log: {said.count('Traceback')}; its size: {len(said)}")


if __name__ == "__main__":
    main()
