"""One student's mind at work: what runs in the process of one agent's mind."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import pickle
import random
import signal
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from sabm_mesa.asks import Ask, Key, Observation
from sabm_mesa.decisions import AnswerSpec, Format
from sabm_mesa.minds.students.loading import Found, Unfit, load, told

MEMORY = 2**30
"""Bytes that a mind may take beyond what every process of Python has."""
FILES = 4096
"""Open files of the process that has the minds at the most."""
LONGEST = 100_000
"""Letters of an answer at the most."""
BITS = 1024
"""Bits of an integer at the most: what a float can hold."""
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Limits:
    """What a mind may take.

    Attributes:
        compute_s: seconds of computing for a decision.
        wait_s: seconds for a decision in all, so that sleeping is no way out.
        paid_s: the same for a mind whose answers are paid for: it waits for somebody.
        start_s: seconds, of computing and in all, until the file has been run.
        message_s: seconds in which a message has to cross: a mind may not take a question, or
            write half an answer.
    """

    compute_s: float = 1.0
    wait_s: float = 10.0
    paid_s: float = 120.0
    start_s: float = 30.0
    message_s: float = 5.0


@dataclass(frozen=True)
class Start:
    """What a mind is made from.

    Attributes:
        source: what its file holds.
        path: the file.
        name: the name of the class or function; ``""``: the only one.
        seed: what Python's and numpy's own random numbers are seeded with.
        module: the module of the scenario's agents, imported before, ``""`` for none.
        book: the prompts of the run, pickled; empty when nothing will be asked.
        paid: whether its answers are paid for.
    """

    source: bytes
    path: str
    name: str = ""
    seed: str = ""
    module: str = ""
    book: bytes = b""
    paid: bool = False


@dataclass(frozen=True)
class Question:
    """The parts of an ask that cross to the process of a mind; see `sabm_mesa.asks.Ask`."""

    name: str
    observation: Observation
    spec: AnswerSpec
    key: Key
    answer_format: Format
    position: int
    rejected: tuple[tuple[str, str], ...]
    rng: np.random.Generator


class _Streams:
    """The random stream of one attempt, in the place of an agent's."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def stream(self, key: Key, attempt: int) -> np.random.Generator:
        """The stream; the attempt is the one it was made for."""
        del key, attempt
        return self.rng


def live(link: Connection, start: Start, limits: Limits) -> None:
    """Make the mind, and answer questions until the process is ended.

    Every message back is JSON: unlike a pickle it can do nothing to the one who reads it.

    Args:
        link: where questions come from and answers go to.
        start: what it is made from.
        limits: what it may take.
    """
    _alone(link.fileno())
    random.seed(start.seed)
    np.random.seed(zlib.crc32(start.seed.encode()))  # noqa: NPY002 - students may draw from it
    try:
        with _Computing(limits.start_s):
            found = load(start.source, start.path, start.name)
    except Unfit as problem:
        _send(link, {"problem": str(problem)})
        return
    _send(link, {"name": found.name, "paid": found.paid})
    book = pickle.loads(start.book) if start.book else None
    with asyncio.Runner() as runner:
        while True:
            received = link.recv_bytes()
            try:
                ask = _ask(received, book)
                with _Computing(limits.compute_s):
                    said = _plain(_answer(found, ask, runner, start.path))
            except Unfit as problem:
                said = {"problem": str(problem)}
            _send(link, said)


def _answer(found: Found, ask: Ask, runner: asyncio.Runner, path: str) -> object:
    try:
        answer = found.answer(ask)
        return runner.run(_awaited(answer)) if inspect.isawaitable(answer) else answer
    except BaseException as error:  # also what would end the process
        raise Unfit(told(error, path)) from error


def _alone(link: int) -> None:
    """Leave the group of processes, all open files but one, and the room for more memory."""
    os.setsid()
    os.closerange(3, link)
    os.closerange(link + 1, FILES)
    if sys.platform == "linux":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with suppress(ValueError, OSError):  # there may be a narrower limit already
            resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))


class _Computing:
    """Ends the process when the block computes for longer than this: nothing can catch that."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


async def _awaited(answer: Any) -> object:
    return await answer


def _ask(received: bytes, book: Any) -> Ask:
    try:
        question: Question = pickle.loads(received)
    except Exception as error:  # of a class that is not known here
        raise Unfit(f"its process cannot read the question: {error}") from error
    ask = Ask(
        question.name,
        question.observation,
        question.spec,
        key=question.key,
        book=book,
        answer_format=question.answer_format,
        agent=_Streams(question.rng),
        position=question.position,
    )
    ask.rejected = question.rejected
    return ask


def _plain(answer: Any) -> dict[str, Any]:
    """The answer as JSON can hold it; anything but a number or a text is no answer."""
    if isinstance(answer, np.generic):
        answer = answer.item()
    if type(answer) not in PLAIN:
        kind = type(answer).__name__
        raise Unfit(f"it answered with a {kind}, which is neither a number nor a text")
    if isinstance(answer, str) and len(answer) > LONGEST:
        raise Unfit(f"it answered with {len(answer):,} letters ({LONGEST:,} at the most)")
    if isinstance(answer, int) and answer.bit_length() > BITS:
        raise Unfit("it answered with a number that is too large")
    return {"answer": answer}


def _send(link: Connection, said: dict[str, Any]) -> None:
    link.send_bytes(json.dumps(said).encode())
