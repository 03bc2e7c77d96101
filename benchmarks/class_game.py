"""A class of 40 in one game: the times of every step, from the code to the debrief.

The server is that of ``sabm view``, in its own process. The people are two groups of 20. Three of
them come late, five reload their page, and two continue on another device. They are either 40 HTTP
clients that behave like the page of a player, or 40 pages in Chromium, whose rendering on the same
machine is included in the times. The host opens the game, and creates the slides and the ZIP file
at its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from benchmarks.results import Result

PEOPLE, GROUPS, LATE, RELOADS, LOST, ROUNDS = 40, 2, 3, 5, 2, 4
FORM, OVER, NUMBER = "form[data-question]", "You and the others", "Number from 0 to 100"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SERVER = """
import json, threading, time
from pathlib import Path
def timed(work):
    began = time.perf_counter()
    return work(), time.perf_counter() - began
def open_class():
    from sabm_mesa.models.registry import scenario
    from sabm_mesa.visualization.pages.debrief import bundle, slides
    from sabm_mesa.visualization.pages.host import open_session
    session, opened = timed(lambda: open_session(
        "host", scenario("beauty-contest"),
        {{"n_players": {seats}, "n_rounds": {rounds}, "rng": 1}},
        "classical", {seats}, time_limit_s=60, public=True, groups={groups},
        stand_in="classical", ranked=True,
    ))
    Path("code.new").write_text(session.code)
    Path("code.new").rename("code")
    while not Path("start").exists():
        time.sleep(0.01)  # polls: another process writes this file
    session.start()
    while not Path("ended").exists():
        time.sleep(0.01)  # polls this file, too
    for game in session.games:
        game.join()
    host = {{"open the game": opened, "four slides": timed(lambda: slides(session))[1]}}
    host["ZIP file"] = timed(lambda: bundle(session))[1]
    Path("host.new").write_text(json.dumps(host))
    Path("host.new").rename("host")
threading.Timer(3, open_class).start()
from sabm_mesa.cli.view import view
view(port={port}, browser=False)
"""
Times = dict[str, list[float]]


class Person:
    """One person with a browser."""

    def __init__(self, url: str, code: str, times: Times) -> None:
        self.url, self.code, self.times = url, code, times
        self.browser = self.new_browser()
        self.path = ""
        self.state: dict[str, Any] = {"version": -1}
        self.got: dict[int, float] = {}
        self.sent: dict[int, float] = {}

    def new_browser(self) -> aiohttp.ClientSession:
        """Return a browser without cookies."""
        return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))

    async def join(self, step: str = "join", **word: str) -> None:
        """Open the page, and take a seat or get it back."""
        began = time.perf_counter()
        async with self.browser.get(f"{self.url}/join/{self.code}") as page:
            await page.read()
        async with self.browser.post(f"{self.url}/join", json={"code": self.code, **word}) as got:
            self.path = (await got.json())["path"]
        await self.load()
        self.times[step].append(time.perf_counter() - began)

    async def load(self) -> None:
        """Load the page of the seat."""
        async with self.browser.get(self.url + self.path) as page:
            await page.read()
        async with self.browser.post(f"{self.url}{self.path}/take", json={}) as taken:
            await taken.read()
        await self.look(-1)

    async def look(self, after: int) -> None:
        """Get the state of the seat."""
        async with self.browser.get(f"{self.url}{self.path}/state?after={after}") as got:
            self.state = await got.json()

    async def play(self, *, reload: bool, lost: bool) -> None:
        """Answer all questions, until the results of the class are there."""
        while not self.state["debrief"]:
            question = self.state["question"]
            if question is None:
                await self.look(self.state["version"])
                continue
            number = question["number"]
            self.got.setdefault(len(self.got), time.perf_counter())
            if number == 1 and reload:
                began = time.perf_counter()
                await self.load()
                self.times["reload"].append(time.perf_counter() - began)
            if number == 2 and lost:
                word = self.state["word"]
                await self.browser.close()
                self.browser = self.new_browser()
                await self.join("back on another device", word=word)
            answer = {"question": number, "values": {"": "30"}}
            began = self.sent[len(self.sent)] = time.perf_counter()
            async with self.browser.post(f"{self.url}{self.path}/answer", json=answer) as got:
                assert (await got.json())["problem"] == ""
            self.times["send"].append(time.perf_counter() - began)
            await self.look(self.state["version"])
            while (left := self.state["question"]) is not None and left["number"] == number:
                await self.look(self.state["version"])
        self.ended = time.perf_counter()

    async def close(self) -> None:
        """Close the browser."""
        await self.browser.close()


class Reader(Person):
    """One person with a page in Chromium.

    Args:
        chromium: the browser of all of them, of the async interface of Playwright.
    """

    def __init__(self, url: str, code: str, times: Times, chromium: Any) -> None:
        self.chromium = chromium
        super().__init__(url, code, times)

    def new_browser(self) -> Any:
        """Return nothing: `join` opens a page."""
        return None

    async def join(self, step: str = "join", **word: str) -> None:
        """Open the page, and take a seat or get it back."""
        context = await self.chromium.new_context(viewport={"width": 390, "height": 844})
        self.page = await context.new_page()
        began = time.perf_counter()
        await self.page.goto(f"{self.url}/join/{self.code}")
        if word:
            await self.page.get_by_text("I had a seat already").click()
            await self.page.get_by_label("Your word").fill(word["word"])
            await self.page.get_by_label("Your word").press("Enter")
        else:
            await self.page.get_by_role("button", name="Take a seat").click()
        await self.page.wait_for_url("**/play/*")
        await self.page.locator(".game-word").wait_for()
        self.times[step].append(time.perf_counter() - began)

    async def play(self, *, reload: bool, lost: bool) -> None:
        """Answer all questions, until the results of the class are there."""
        over = self.page.get_by_text(OVER)
        before = ""
        while True:
            waiting = self.page.locator(f'{FORM}:not([data-question="{before}"])')
            await waiting.or_(over).first.wait_for(timeout=120_000)
            if await over.count():
                break
            before = str(await waiting.get_attribute("data-question"))
            self.got.setdefault(len(self.got), time.perf_counter())
            if len(self.got) == 2 and reload:
                began = time.perf_counter()
                await self.page.reload()
                await self.page.locator(FORM).wait_for()
                self.times["reload"].append(time.perf_counter() - began)
            if len(self.got) == 3 and lost:
                word = await self.page.locator(".game-word").inner_text()
                await self.page.context.close()
                await self.join("back on another device", word=word)
                over = self.page.get_by_text(OVER)
                await self.page.locator(FORM).wait_for()
            field = self.page.get_by_label(NUMBER, exact=True)
            await field.fill("30")
            began = self.sent[len(self.sent)] = time.perf_counter()
            await field.press("Enter")
            await self.page.locator(f'{FORM}[data-question="{before}"]').wait_for(state="detached")
            self.times["send"].append(time.perf_counter() - began)
        self.ended = time.perf_counter()

    async def close(self) -> None:
        """Close the page."""
        await self.page.context.close()


async def a_class(url: str, folder: Path, times: Times, *, painted: bool) -> None:
    """Let a class play, and measure the times of its steps.

    Args:
        url: the server.
        folder: the working directory of the server.
        times: step → seconds.
        painted: whether the people have pages in Chromium.
    """
    async with AsyncExitStack() as stack:
        new_person: Callable[[str, str, Times], Person] = Person
        if painted:
            from playwright.async_api import async_playwright

            driver = await stack.enter_async_context(async_playwright())
            path = os.environ.get("CHROMIUM") or shutil.which("chromium")
            chromium = await driver.chromium.launch(executable_path=path, args=FLAGS)
            stack.push_async_callback(chromium.close)

            def new_person(url: str, code: str, times: Times) -> Person:
                return Reader(url, code, times, chromium)

        await _a_class(url, folder, times, new_person)


async def _a_class(
    url: str, folder: Path, times: Times, new_person: Callable[[str, str, Times], Person]
) -> None:
    code = (folder / "code").read_text()
    people = [new_person(url, code, times) for _ in range(PEOPLE)]
    first = people[: PEOPLE - LATE]
    async with aiohttp.ClientSession() as browser:
        began = time.perf_counter()
        async with browser.get(f"{url}/join/{code}/qr.svg") as drawn:
            assert drawn.status == 200
            await drawn.read()
        times["QR code"].append(time.perf_counter() - began)
    for person in first:  # in turn, so that the groups alternate
        await person.join()
    began = time.perf_counter()
    (folder / "start").touch()
    playing = [
        asyncio.ensure_future(p.play(reload=i < RELOADS, lost=RELOADS <= i < RELOADS + LOST))
        for i, p in enumerate(first)
    ]
    for late in people[PEOPLE - LATE :]:
        await late.join("join late")
        playing.append(asyncio.ensure_future(late.play(reload=False, lost=False)))
    await asyncio.gather(*playing)
    times["start to first question"] = [p.got[0] - began for p in first]
    groups = [people[group::GROUPS] for group in range(GROUPS)]
    for group in groups:
        whole = [p for p in group if len(p.got) == ROUNDS]
        for round_ in range(1, ROUNDS):
            last = max(p.sent[round_ - 1] for p in whole)
            times["last send to next question"] += [p.got[round_] - last for p in whole]
        last = max(p.sent[len(p.sent) - 1] for p in group)
        times["last send to debrief"] += [p.ended - last for p in group]
    for person in people:
        await person.close()


def listens(port: int) -> bool:
    """Return whether a server listens on a port.

    Args:
        port: the port.
    """
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def class_of_40(name: str) -> list[Result]:
    """The times of each step among 40 clients: the median, and further percentiles.

    Args:
        name: an empty folder.
    """
    return _measured(name, painted=False)


def class_of_40_in_chromium(name: str) -> list[Result]:
    """The times of each step among 40 pages in Chromium: the median, and further percentiles.

    Args:
        name: an empty folder.
    """
    return _measured(name, painted=True)


def _measured(name: str, *, painted: bool) -> list[Result]:
    folder, seats = Path(name), PEOPLE // GROUPS
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = SERVER.format(seats=seats, rounds=ROUNDS, groups=GROUPS, port=port)
    times: Times = defaultdict(list)
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder) as process:
        try:
            while not (folder / "code").exists() or not listens(port):
                time.sleep(0.1)  # polls until the other process listens
            asyncio.run(a_class(f"http://127.0.0.1:{port}", folder, times, painted=painted))
            (folder / "ended").touch()
            while not (folder / "host").exists():
                time.sleep(0.1)  # polls: the server writes its times into this file
        finally:
            process.terminate()
    for step, took in json.loads((folder / "host").read_text()).items():
        times[step].append(took)
    targets = {"last send to next question": "<= 0.5"}
    found = []
    for step, took in times.items():
        half, nine, most = (float(v) for v in np.percentile(took, [50, 90, 99]))
        detail = f"90 %: {nine:.3g}, 99 %: {most:.3g}, most: {max(took):.3g}; {len(took)} times"
        value, target = (max(took), targets[step]) if step in targets else (half, "")
        words = f"{step}: seconds, {'the longest' if target else 'median'}"
        half_too = f"50 %: {half:.3g}, " if target else ""
        found.append(Result(words, value, target, half_too + (detail if len(took) > 1 else "once")))
    return found
