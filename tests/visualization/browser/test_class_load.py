"""A class of 40 in the price game while connections drop: no message and no answer is lost."""

import asyncio
import json
import random
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from sabm_mesa.recording.frames import Recorded
from tests.visualization.browser.conftest import ARTEFACTS, START_S, VIEW, Server

GROUPS, PEOPLE, ROUNDS, MESSAGES = 20, 40, 2, 3
CUT = (0, 4, 5, 10, 16, 21, 30, 35)
"""People whose connections drop again and again. Person i plays with person i + 20."""
THINKS_S, AWAY_S = (0.5, 2), 0.5
HOLDS_S = {"GET": (0, 2), "POST": (0, 0.05)}
"""The seconds after which their requests are dropped, by method."""
CLASS = f"""
import json, threading, time
from sabm_mesa.models.registry import scenario
from sabm_mesa.visualization.web.opening import open_session
def hold_class():
    session = open_session(
        "host", scenario("bertrand"),
        dict(n_firms=2, n_rounds={ROUNDS + 1}, rng=1, told_range=True),
        "classical", 2, time_limit_s=300, public=True, groups={GROUPS},
    )
    print("CODE", session.code, flush=True)
    while not all(seat.taken for _, seat in session.seats):
        time.sleep(0.05)
    session.start()
    for game in session.games:
        game.join()
    runs = dict((seat.token, [game.model.recorder.run, seat.agent]) for game, seat in session.seats)
    print("SEATS", json.dumps(runs), flush=True)
threading.Timer(1, hold_class).start()
{VIEW}
"""


class Person:
    """A client that behaves like the page of a player."""

    def __init__(self, number: int, url: str, course: "Course") -> None:
        self.number, self.url, self.course = number, url, course
        self.dice = random.Random(number)
        self.state: dict[str, Any] = {}
        self.changed = asyncio.Event()

    async def join(self, code: str) -> None:
        self.browser = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        async with self.browser.get(f"{self.url}/join/{code}") as page:
            await page.read()
        async with self.browser.post(f"{self.url}/join", json={"code": code}) as got:
            self.path = (await got.json())["path"]

    async def request(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        """Send a request until there is a response; connections of some people drop before it."""
        while True:
            holds_s = self.dice.uniform(*HOLDS_S[method]) if self.number in CUT else None
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with (
                    asyncio.timeout(holds_s),
                    self.browser.request(
                        method, f"{self.url}{self.path}/{path}", json=content
                    ) as got,
                ):
                    return dict(await got.json())
            self.course.n_dropped += 1
            await asyncio.sleep(AWAY_S)

    async def watch(self) -> None:
        """Follow the state of the seat, until the game is over."""
        while not self.state.get("rounds", {}).get("over"):
            self.state = await self.request("GET", f"state?after={self.state.get('version', -1)}")
            shown = json.dumps(self.state.get("question"))
            for text in re.findall(r"message \d+ of person \d+", shown):
                if not text.endswith(f" {self.number}"):
                    self.course.seen.setdefault(text, time.perf_counter())
            self.changed.set()

    async def news(self) -> None:
        """Wait until the state of the seat changes."""
        self.changed.clear()
        await self.changed.wait()

    async def play(self) -> None:
        """Talk and set prices, until the game is over."""
        number, watching = -1, asyncio.ensure_future(self.watch())
        while not watching.done():
            question = self.state.get("question")
            if question is None or question["number"] <= number:
                await self.news()
                continue
            number = question["number"]
            answer = f"{4 + number / 1000:.3f}"
            if question["inputs"][0]["kind"] == "text":
                await asyncio.sleep(self.dice.uniform(*THINKS_S))
                answer = f"message {number} of person {self.number}"
                self.course.sent[answer] = time.perf_counter(), self.number
            await self.give(answer, question=number, values={"": answer})
        await watching
        await self.browser.close()

    async def give(self, what: str, **content: object) -> None:
        problem = (await self.request("POST", "answer", content))["problem"]
        assert problem == ""
        self.course.accepted[self.path.rpartition("/")[2], what] += 1


class Course:
    """Sent and seen messages with their times, and accepted messages and prices by seat."""

    def __init__(self) -> None:
        self.sent: dict[str, tuple[float, int]] = {}
        self.seen: dict[str, float] = {}
        self.accepted: Counter[tuple[str, str]] = Counter()
        self.n_dropped = 0

    async def hold(self, url: str, code: str) -> None:
        people = [Person(number, url, self) for number in range(PEOPLE)]
        for person in people:  # in turn, so that the pairs are known
            await person.join(code)
        await asyncio.gather(*(person.play() for person in people))

    def waits(self) -> list[float]:
        """The seconds until a message was seen, in pairs whose connections hold."""
        return [
            self.seen[text] - began
            for text, (began, number) in self.sent.items()
            if not {number, (number + GROUPS) % PEOPLE}.intersection(CUT)
        ]


def printed(server: Server, word: str) -> str:
    """The rest of a line of the server's output that begins with a word."""
    deadline = time.monotonic() + START_S
    while (found := re.search(rf"^{word} (.+)$", server.log(), re.MULTILINE)) is None:
        assert time.monotonic() < deadline, server.log()
        time.sleep(0.05)
    return found[1]


def recorded(path: Path, seats: dict[str, list[int]]) -> Counter[tuple[str, str]]:
    """The messages and prices of the recording, by seat."""
    token_of = {tuple(place): token for token, place in seats.items()}
    answers: Counter[tuple[str, str]] = Counter()
    for run, agent, value in Recorded(path).asks()[["run", "agent", "value"]].to_numpy():
        read, token = json.loads(value), token_of[run, agent]
        answers[token, read if isinstance(read, str) else f"{read:.3f}"] += 1
    return answers


def test_no_message_and_no_answer_of_a_class_is_lost(tmp_path: Path) -> None:
    """How soon messages are seen is measured and not tested: it depends on the machine."""
    course = Course()
    with closing(Server(tmp_path, CLASS)) as server:
        lesson = asyncio.wait_for(course.hold(server.url, printed(server, "CODE")), START_S)
        with ThreadPoolExecutor(1) as thread:  # a browser of another test may have a loop here
            thread.submit(asyncio.run, lesson).result()
        seats = json.loads(printed(server, "SEATS"))

    (path,) = (tmp_path / "sabm_recordings").glob("*.sqlite")
    assert "Traceback" not in server.log(), server.log()
    assert course.n_dropped > len(CUT)
    assert course.accepted.total() == PEOPLE * ROUNDS * (MESSAGES + 1)
    assert recorded(path, seats) == course.accepted
    assert len(course.sent) == PEOPLE * ROUNDS * MESSAGES
    assert course.seen.keys() == course.sent.keys()
    ARTEFACTS.mkdir(exist_ok=True)
    soon = float(np.percentile(course.waits(), 95))
    (ARTEFACTS / "class-load.txt").write_text(f"95 % of messages are seen within {soon:.2f} s.\n")
