"""A class of 40 in the price game, while connections drop: ``python -m benchmarks.class_load``.

The server is that of ``sabm view``, in its own process. No language model plays. 20 pairs talk and
set prices: 12 people have pages in Chromium, and 28 are HTTP clients that behave like the page of a
player. Some of both reach the server through a proxy. For 20 seconds at a time, the proxy closes
all of its connections and accepts no new ones.

The benchmark prints the time from sending a message until the page of the other person shows it,
and compares the answers that the server accepted with the recording. The status is 1 if an answer
or a message is lost or duplicated. Times depend on the machine, so they do not affect the status.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from benchmarks.class_game import FLAGS, listens
from benchmarks.results import machine
from sabm_mesa.recording.frames import Recorded

GROUPS, PEOPLE = 20, 40
PAGES = (*range(8), *range(20, 24))
"""People with a page in Chromium, in order of arrival. Person i plays with person i + 20."""
PROXIED = (0, 4, 5, 10, 16, 21, 30, 35)
"""People whose connections drop."""
AIM_S, OUTAGE_S, EVERY_S, BACK_S = 1.0, 20.0, 120.0, 2.5
"""In seconds: the aim for 95 % of messages, the length and the interval of outages, and the time
after an outage until all pages, which retry every 1.5 seconds, are connected again."""
AGAIN_S, PAUSES_S, TIME_LIMIT_S, WAIT_MS = 1.5, (2.0, 6.0), 90, 90_000
FORM = "form[data-question]"
SERVER = """
import json, threading, time
from pathlib import Path
def open_class():
    from sabm_mesa.models.registry import scenario
    from sabm_mesa.visualization.pages.host import open_session
    session = open_session(
        "host", scenario("bertrand"),
        {{"n_firms": 2, "n_rounds": 1000, "rng": 1, "told_range": True, "talk": "together"}},
        "classical", 2, time_limit_s={limit}, public=True, groups={groups},
    )
    Path("code.new").write_text(session.code)
    Path("code.new").rename("code")
    while not Path("start").exists():
        time.sleep(0.01)  # polls: another process writes this file
    session.start()
    while not Path("ended").exists():
        time.sleep(0.01)  # polls this file, too
    for game in session.games:
        game.stop()
    for game in session.games:
        game.join()
    recorded = {{
        seat.token: [game.model.recorder.run, seat.agent] for game, seat in session.seats
    }}
    path = str(session.games[0].model.recording_path)
    Path("host.new").write_text(json.dumps({{"path": path, "seats": recorded}}))
    Path("host.new").rename("host")
threading.Timer(1, open_class).start()
from sabm_mesa.cli.view import view
view(port={port}, browser=False)
"""
WATCH = """
new MutationObserver(() => {
  for (const line of document.querySelectorAll(".talk p:not(.own)")) {
    if (line.dataset.noted) continue;
    line.dataset.noted = "yes";
    window.noted(line.lastChild.textContent.trim());
  }
}).observe(document, { childList: true, subtree: true });
"""
"""Reports each message of others that a page shows."""


class Proxy:
    """A proxy to the server that can drop its connections."""

    def __init__(self, port: int) -> None:
        self.server_port = port
        self.outages: list[tuple[float, float]] = []
        self._shut, self._open = False, set[asyncio.StreamWriter]()

    async def start(self) -> int:
        """Start to listen; return the port."""
        server = await asyncio.start_server(self._hold, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def drop(self, seconds: float) -> None:
        """Close all connections, and accept no new ones for a while.

        Args:
            seconds: the duration.
        """
        began = time.perf_counter()
        self.outages.append((began, began + seconds + BACK_S))
        self._shut = True
        for writer in list(self._open):
            writer.transport.abort()
        await asyncio.sleep(seconds)
        self._shut = False

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._shut:
            writer.transport.abort()
            return
        other, to = await asyncio.open_connection("127.0.0.1", self.server_port)
        ends = {writer, to}
        self._open |= ends
        await asyncio.gather(_pump(reader, to), _pump(other, writer))
        self._open -= ends


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


class Course:
    """The course of a class: sent messages, seen messages, and accepted answers.

    Args:
        seconds: the time in which new talks begin.
        proxy: the proxy for some of the people.
    """

    def __init__(self, seconds: float, proxy: Proxy) -> None:
        self.end, self.proxy = time.perf_counter() + seconds, proxy
        self.pressed: dict[str, tuple[float, int]] = {}
        self.took: dict[str, float] = {}
        self.late: dict[str, float] = {}
        self.accepted: list[tuple[str, str]] = []
        self._played: dict[tuple[int, int], bool] = {}

    def plays(self, person: int, number: int) -> bool:
        """Return whether a pair goes on after a question; both get the same answer.

        Args:
            person: one of the pair.
            number: the number of the question.
        """
        key = person % GROUPS, number
        return self._played.setdefault(key, time.perf_counter() < self.end)

    def seen(self, text: str) -> None:
        """Record the time at which the page of the other person shows a message.

        Args:
            text: the message.
        """
        if text in self.took or text in self.late:
            return  # a reloaded or reconnected page shows all messages again
        now = time.perf_counter()
        began, person = self.pressed[text]
        cut = not {person, (person + GROUPS) % PEOPLE}.isdisjoint(PROXIED)
        cut = cut and any(began < last and now > first for first, last in self.proxy.outages)
        (self.late if cut else self.took)[text] = now - began


class Person:
    """One person with an HTTP client.

    Args:
        number: the number, from 0 in the order of arrival.
        url: the address of the server.
        course: the course of the class.
    """

    def __init__(self, number: int, url: str, course: Course) -> None:
        self.number, self.url, self.course = number, url, course
        self.dice = random.Random(number)
        self.token, self.n = "", 0

    def new_text(self) -> str:
        """Return a message that nobody else writes."""
        self.n += 1
        return f"message {self.n} of person {self.number}"

    def new_price(self) -> str:
        """Return a price that this person has not set before."""
        self.n += 1
        return f"{4 + self.n / 1000:.3f}"

    async def think(self) -> None:
        """Wait as long as a person thinks."""
        await asyncio.sleep(self.dice.uniform(*PAUSES_S))

    async def join(self, code: str) -> None:
        """Take a seat.

        Args:
            code: the code of the class.
        """
        self.browser = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        async with self.browser.get(f"{self.url}/join/{code}") as page:
            await page.read()
        async with self.browser.post(f"{self.url}/join", json={"code": code}) as got:
            self.token = (await got.json())["path"].rsplit("/", 1)[1]
        self.state: dict[str, Any] = {"version": -1, "question": None}
        self._changed = asyncio.Event()
        self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        version = -1
        while True:
            address = f"{self.url}/play/{self.token}/state?after={version}"
            try:
                async with self.browser.get(address) as got:
                    self.state = await got.json()
                version = self.state["version"]
            except (aiohttp.ClientError, OSError):
                version = -1
                await asyncio.sleep(AGAIN_S)
                continue
            for message in self.state["talk"] or ():
                if not message["own"]:
                    self.course.seen(message["text"])
            self._changed.set()

    async def _question(self, after: int) -> dict[str, Any]:
        while (question := self.state["question"]) is None or question["number"] <= after:
            self._changed.clear()
            await self._changed.wait()
        return dict(question)

    async def _post(self, action: str, **content: object) -> str:
        """Send content until there is a response; return the problem."""
        while True:
            with suppress(aiohttp.ClientError, OSError):
                address = f"{self.url}/play/{self.token}/{action}"
                async with self.browser.post(address, json=content) as got:
                    return str((await got.json())["problem"])
            await asyncio.sleep(AGAIN_S)

    async def play(self) -> None:
        """Talk and answer until the time of the class is over."""
        number = -1
        while True:
            question = await self._question(number)
            number = question["number"]
            if not question["talk"]:
                await self.think()
                price = self.new_price()
                if not await self._post("answer", question=number, values={"": price}):
                    self.course.accepted.append((self.token, price))
                continue
            if not self.course.plays(self.number, number):
                return
            for _ in range(self.dice.randint(2, 4)):
                await self.think()
                text = self.new_text()
                self.course.pressed[text] = time.perf_counter(), self.number
                if not await self._post("say", question=number, text=text, id=text):
                    self.course.accepted.append((self.token, text))
            await self.think()
            await self._post("answer", question=number, values={})

    async def close(self) -> None:
        """Close the browser."""
        self._following.cancel()
        await self.browser.close()


class Reader(Person):
    """One person with a page in Chromium.

    Args:
        number: the number, from 0 in the order of arrival.
        url: the address of the server.
        course: the course of the class.
        chromium: the browser of all pages.
    """

    def __init__(self, number: int, url: str, course: Course, chromium: Any) -> None:
        super().__init__(number, url, course)
        self.chromium = chromium
        self._reading = set[asyncio.Task[None]]()

    async def join(self, code: str) -> None:
        """Take a seat.

        Args:
            code: the code of the class.
        """
        context = await self.chromium.new_context(viewport={"width": 390, "height": 844})
        context.set_default_timeout(WAIT_MS)
        self.page = await context.new_page()
        await self.page.expose_function("noted", self.course.seen)
        await self.page.add_init_script(WATCH)
        self.page.on("response", self._note)
        await self.page.goto(f"{self.url}/join/{code}")
        await self.page.get_by_role("button", name="Take a seat").click()
        await self.page.wait_for_url("**/play/*")
        self.token = self.page.url.rsplit("/", 1)[1]
        await self.page.locator(".game-word").wait_for()

    def _note(self, response: Any) -> None:
        if response.request.method == "POST":
            task = asyncio.ensure_future(self._taken(response))
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)

    async def _taken(self, response: Any) -> None:
        from playwright.async_api import Error

        content = response.request.post_data_json
        given = content.get("text") or content.get("values", {}).get("")
        with suppress(Error):  # the response was lost on its way
            if given and not (await response.json())["problem"]:
                self.course.accepted.append((self.token, given))

    async def play(self) -> None:
        """Talk and answer until the time of the class is over."""
        number = ""
        while True:
            waiting = self.page.locator(f'{FORM}:not([data-question="{number}"])')
            number = str(await waiting.get_attribute("data-question"))
            field = self.page.get_by_label("Your message")
            if not await field.count():
                await self.think()
                await self.page.locator("[name=answer]").fill(self.new_price())
                await self._send(number, "Send")
                continue
            if not self.course.plays(self.number, int(number)):
                return
            for _ in range(self.dice.randint(2, 4)):
                await self.think()
                text = self.new_text()
                await field.fill(text)
                self.course.pressed[text] = time.perf_counter(), self.number
                await field.press("Enter")
                own = self.page.locator(".talk .own", has_text=text)
                while not await self._appears(own):
                    await self._press("Say it")
            await self.think()
            await self._send(number, "I am done talking")

    async def _send(self, number: str, button: str) -> None:
        form = self.page.locator(f'{FORM}[data-question="{number}"]')
        while await form.count():
            await self._press(button)
            with suppress(TimeoutError):
                await asyncio.wait_for(form.wait_for(state="detached"), 4 * AGAIN_S)

    async def _appears(self, element: Any) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(element.first.wait_for(), 4 * AGAIN_S)
        return bool(await element.count())

    async def _press(self, button: str) -> None:
        """Press a button, unless it waits for a response or the question is over."""
        element = self.page.get_by_role("button", name=button)
        if await element.count() and await element.is_enabled():
            await element.click()

    async def close(self) -> None:
        """Close the page."""
        await asyncio.gather(*self._reading)
        await self.page.context.close()


async def _class(port: int, folder: Path, seconds: float) -> Course:
    """Let the class play; return its course."""
    from playwright.async_api import async_playwright

    proxy = Proxy(port)
    doors = {False: port, True: await proxy.start()}
    course = Course(seconds, proxy)
    async with AsyncExitStack() as stack:
        driver = await stack.enter_async_context(async_playwright())
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        chromium = await driver.chromium.launch(executable_path=path, args=FLAGS)
        stack.push_async_callback(chromium.close)
        people: list[Person] = []
        for number in range(PEOPLE):
            url = f"http://127.0.0.1:{doors[number in PROXIED]}"
            people.append(
                Reader(number, url, course, chromium) if number in PAGES
                else Person(number, url, course)
            )  # fmt: skip
            await people[-1].join((folder / "code").read_text())
        (folder / "start").touch()
        course.end = time.perf_counter() + seconds
        drops = asyncio.ensure_future(_drops(course, seconds))
        async with asyncio.TaskGroup() as playing:
            for person in people:
                playing.create_task(person.play())
        await drops
        for person in people:
            await person.close()
    return course


async def _drops(course: Course, seconds: float) -> None:
    """Drop connections repeatedly; in a short class, for the first time after a quarter of it."""
    await asyncio.sleep(min(EVERY_S, seconds) / 4)
    while True:
        await course.proxy.drop(OUTAGE_S)
        if time.perf_counter() + EVERY_S > course.end:
            return
        await asyncio.sleep(EVERY_S - OUTAGE_S)


def recorded_of(host: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Return how often the recording has each message, price and plan: seat and text → number.

    Args:
        host: the path of the recording, and the run and the agent of each seat.
    """
    tokens = {tuple(place): token for token, place in host["seats"].items()}
    recorded: Counter[tuple[str, str]] = Counter()
    for run, agent, value in Recorded(host["path"]).asks()[["run", "agent", "value"]].to_numpy():
        read = json.loads(value) if isinstance(value, str) else None
        token = tokens[run, agent]
        if isinstance(read, list):
            recorded.update((token, message["text"]) for message in read)
        elif read is not None:  # a price, or a plan, for which long games ask
            recorded[token, read if isinstance(read, str) else f"{read:.3f}"] += 1
    return recorded


def report(course: Course, recorded: Counter[tuple[str, str]], load: object) -> bool:
    """Print the measurements, and return whether no answer is lost or duplicated.

    Args:
        course: the answers and times that the people recorded.
        recorded: the answers in the recording, as `recorded_of` returns them.
        load: the load of the machine before.
    """
    lost = [answer for answer in course.accepted if answer not in recorded]
    twice = [answer for answer, n in recorded.items() if n > 1]
    took, late = [*course.took.values()], [*course.late.values()]
    half, nineteen, most = (float(v) for v in np.percentile(took, [50, 95, 100]))
    aim = f"The aim, 95 % in {AIM_S:g} s, is {'reached' if nineteen <= AIM_S else 'missed'}"
    print(
        f"Press to seen on the other phone: 50 % in {half:.3f} s, 95 % in {nineteen:.3f} s, most "
        f"{most:.3f} s; {len(took)} messages. {aim} (load {load}, {os.cpu_count()} cores)."
    )
    if late:
        print(
            f"While connections were down ({len(course.proxy.outages)} × {OUTAGE_S:g} s, "
            f"{len(PROXIED)} people): {len(late)} messages, seen after {max(late):.1f} s at most."
        )
    print(
        f"Accepted answers and messages: {len(course.accepted)}; lost: {len(lost)}; "
        f"twice in the recording: {len(twice)}."
    )
    for token, text in (lost + twice)[:10]:
        print(f"  {text!r} at the seat {token[:4]}…")
    return not lost and not twice


def main() -> int:
    """Run the class; the status is 1 when something was lost or duplicated."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.class_load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="duration of the class")
    seconds: float = parser.parse_args().seconds
    load = machine()["load"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = SERVER.format(groups=GROUPS, limit=TIME_LIMIT_S, port=port)
        log = folder / "server.log"
        with log.open("w") as out, subprocess.Popen(
            [sys.executable, "-c", code], cwd=folder, stdout=out, stderr=subprocess.STDOUT
        ) as process:  # fmt: skip
            try:
                while not (folder / "code").exists() or not listens(port):
                    if process.poll() is not None:
                        sys.exit(log.read_text(errors="replace"))
                    time.sleep(0.1)  # polls until the other process listens
                course = asyncio.run(_class(port, folder, seconds))
                (folder / "ended").touch()
                while not (folder / "host").exists():
                    time.sleep(0.1)  # polls: the server writes this file after all games
                host = json.loads((folder / "host").read_text())
                whole = report(course, recorded_of({**host, "path": folder / host["path"]}), load)
            finally:
                process.terminate()
        tracebacks = log.read_text(errors="replace").count("Traceback")
        print(f"Tracebacks in the log of the server: {tracebacks}.")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
