"""The process of one agent's mind from a file: load the file, answer question after question."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import pickle
import random
import signal
import sys
import traceback
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sabm_mesa.core.answers import AnswerSpec, Format
from sabm_mesa.core.asks import Ask, Key, Observation
from sabm_mesa.minds.files.isolation import confine
from sabm_mesa.minds.files.measuring import ADDRESSES, MEMORY, addresses_of_this_process

MODULE = "mind_from_file"
"""The module name of the file, which replaces no other module."""
LONGEST = 100_000
"""The maximum length of an answer."""
BITS = 1024
"""The maximum number of bits of an integer: the range of a float."""
DEEPEST = 10
"""The maximum nesting of dicts and lists."""
PLAIN = (str, int, float, bool, type(None))


class NoMind(Exception):
    """A file without a usable mind; the message says why."""


@dataclass(frozen=True)
class LoadedMind:
    """A mind in a file.

    Attributes:
        name: its name in the file.
        answer: its method or function.
        paid: whether it says that its answers are paid for.
    """

    name: str
    answer: Callable[[Any], object]
    paid: bool


def load(source: bytes, path: str, name: str = "") -> LoadedMind:
    """Run a file and create the mind in it.

    Args:
        source: the content of the file.
        path: the file, for tracebacks; modules beside it can be imported.
        name: the name of a class or function; ``""``: the only mind.

    Raises:
        NoMind: when it cannot be run, or there is not exactly one mind.
    """
    module = ModuleType(MODULE)
    module.__file__ = path
    sys.modules[MODULE] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.filename == path else ""
        raise NoMind(f"{line}{type(error).__name__}: {error.msg}") from None
    except BaseException as error:
        raise NoMind(error_line(error, path)) from error
    mind = _by_name(module, name) if name else _the_only_one(module)
    try:
        answer = mind().answer if isinstance(mind, type) else mind
    except BaseException as error:
        raise NoMind(f"{mind.__name__}(): {error_line(error, path)}") from error
    return LoadedMind(mind.__name__, answer, bool(getattr(mind, "paid", False)))


def error_line(error: BaseException, path: str) -> str:
    """An exception in one line, with its last line in the file.

    Args:
        error: the exception.
        path: the file.
    """
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    line = f"line {lines[-1]}: " if lines else ""
    message = ""
    with suppress(Exception):  # one of the file's own may not know what it says
        message = str(error)
    return f"{line}{type(error).__name__}" + (f": {message}" if message else "")


def _by_name(module: ModuleType, name: str) -> Any:
    candidate = getattr(module, name, None)
    if candidate is None:
        known = ", ".join(_minds_in(module)) or "none"
        raise NoMind(f"it has no {name} (minds in it: {known})")
    if not _is_mind(candidate) and not (
        inspect.isfunction(candidate) and len(_parameters(candidate)) == 1
    ):
        raise NoMind(
            f"{name} is neither a class with a method answer(self, ask) nor a function of ask"
        )
    return candidate


def _the_only_one(module: ModuleType) -> Any:
    known = _minds_in(module)
    if len(known) == 1:
        return next(iter(known.values()))
    if known:
        raise NoMind(f"it has several minds ({', '.join(known)}): add :NAME for one of them")
    raise NoMind(
        "it has neither a class with a method answer(self, ask) nor a function answer(ask)"
    )


def _minds_in(module: ModuleType) -> dict[str, Any]:
    """The minds that are defined in the file itself, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == MODULE
        and _is_mind(value)
    }


def _is_mind(value: Any) -> bool:
    if isinstance(value, type):
        method = inspect.getattr_static(value, "answer", None)
        return inspect.isfunction(method) and len(_parameters(method)) == 2
    return inspect.isfunction(value) and _parameters(value) == ["ask"]


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


@dataclass(frozen=True)
class TimeLimits:
    """Time limits of a mind.

    Attributes:
        compute_s: seconds of computing for a decision.
        wait_s: seconds for a decision in all, including sleep.
        paid_s: the same for a paid mind, which waits for a server.
        start_s: seconds, of computing and in all, until the file has been run.
        message_s: seconds for the transfer of a message: a mind may not read a question, or write
            half an answer.
        hangs_s: seconds beyond all these until the measuring process counts as lost.
    """

    compute_s: float = 1.0
    wait_s: float = 10.0
    paid_s: float = 120.0
    start_s: float = 30.0
    message_s: float = 5.0
    hangs_s: float = 30.0


@dataclass(frozen=True)
class Start:
    """Data from which a mind is created.

    Attributes:
        source: the content of its file.
        path: the file.
        name: the name of the class or function; ``""``: the only mind.
        seed: the seed of Python's and numpy's own random numbers.
        module: the module of the scenario's agents, which is imported first; ``""`` for none.
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
class AskMessage:
    """The parts of an ask that the process of a mind gets; see `sabm_mesa.core.asks.Ask`."""

    name: str
    observation: Observation
    spec: AnswerSpec
    key: Key
    answer_format: Format
    position: int
    rejected: tuple[tuple[str, str], ...]
    extractions: tuple[int, ...]
    rng: np.random.Generator


class _Streams:
    """The random stream of one attempt, in place of the agent's."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def stream(self, key: Key, attempt: int) -> np.random.Generator:
        """The stream of its attempt."""
        del key, attempt
        return self.rng


def live(link: Connection, start: Start, limits: TimeLimits, *, namespaces: bool) -> None:
    """Create the mind, and answer questions until the process is ended.

    Every message back is JSON: unlike a pickle it cannot run code in the reader.

    Args:
        link: the connection for questions and answers.
        start: the data from which it is made.
        limits: its time limits.
        namespaces: whether it gets separate namespaces.
    """
    addresses = addresses_of_this_process()
    confine(link.fileno(), str(Path(start.path).resolve().parent), namespaces=namespaces)
    _limit_memory(addresses)
    random.seed(start.seed)
    np.random.seed(zlib.crc32(start.seed.encode()))  # noqa: NPY002 - a mind may draw from it
    try:
        with _Computing(limits.start_s):
            mind = load(start.source, start.path, start.name)
    except NoMind as problem:
        _send(link, {"problem": str(problem)})
        return
    _send(link, {"name": mind.name, "paid": mind.paid})
    book = pickle.loads(start.book) if start.book else None
    with asyncio.Runner() as runner:
        while True:
            received = link.recv_bytes()
            try:
                ask = _ask(received, book)
                with _Computing(limits.compute_s):
                    message = _plain(_answer(mind, ask, runner, start.path))
            except NoMind as problem:
                message = {"problem": str(problem)}
            _send(link, message)


def _answer(mind: LoadedMind, ask: Ask, runner: asyncio.Runner, path: str) -> object:
    try:
        answer = mind.answer(ask)
        return runner.run(_awaited(answer)) if inspect.isawaitable(answer) else answer
    except BaseException as error:  # also what would end the process
        raise NoMind(error_line(error, path)) from error


def _limit_memory(addresses: int) -> None:
    if sys.platform == "linux":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        for limit, value in (
            (resource.RLIMIT_DATA, used + MEMORY),
            (resource.RLIMIT_AS, addresses + ADDRESSES),
        ):
            with suppress(ValueError, OSError):  # there may be a narrower limit already
                resource.setrlimit(limit, (value, value))


class _Computing:
    """Ends the process when the block computes for longer than this.

    A mind can switch it off; then the supervisor, which measures from outside, ends it.
    """

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
        question: AskMessage = pickle.loads(received)
    except Exception as error:  # of a class that is not known here
        raise NoMind(f"its process cannot read the question: {error}") from error
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
    ask.rejected, ask.extractions = question.rejected, question.extractions
    return ask


def _plain(answer: Any) -> dict[str, Any]:
    """The answer as a JSON value: a number, a text, or a dict or list of these."""
    plain = plain_answer(answer)
    if not isinstance(plain, str | int | float | None) and len(json.dumps(plain)) > LONGEST:
        raise NoMind(f"it answered with more than {LONGEST:,} letters")
    return {"answer": plain}


def plain_answer(answer: Any, depth: int = 0) -> Any:
    """An answer as a JSON value, without tuples and numpy scalars.

    Args:
        answer: the answer.
        depth: its nesting depth.

    Raises:
        NoMind: when it is neither a number, a text, nor a dict or list of these.
    """
    if isinstance(answer, np.generic):
        answer = answer.item()
    if depth < DEEPEST and isinstance(answer, dict):
        return {
            plain_answer(name, DEEPEST): plain_answer(part, depth + 1)
            for name, part in answer.items()
        }
    if depth < DEEPEST and isinstance(answer, list | tuple):
        return [plain_answer(part, depth + 1) for part in answer]
    if type(answer) not in PLAIN:
        kind = type(answer).__name__
        raise NoMind(f"it answered with a {kind}, which is neither number, text, dict nor list")
    if isinstance(answer, str) and len(answer) > LONGEST:
        raise NoMind(f"it answered with {len(answer):,} letters ({LONGEST:,} at most)")
    if isinstance(answer, float) and math.isnan(answer):
        raise NoMind("it answered with NaN, which is no number")
    if isinstance(answer, int) and answer.bit_length() > BITS:
        raise NoMind("it answered with a number that is too large")
    return answer


def _send(link: Connection, message: dict[str, Any]) -> None:
    link.send_bytes(json.dumps(message).encode())
