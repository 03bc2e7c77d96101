"""The process of a mind's file: load the minds in it, answer question after question.

Messages come pickled through the socket that is its standard input. Answers go back as lines of
JSON: unlike a pickle, they cannot run code in the reader.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import pickle
import random
import sys
import time
import traceback
import zlib
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from sabm_mesa.core.asks import Ask

COMPUTE_S, START_S = 1.0, 30.0
"""Seconds of computing for a decision, and for loading a file."""
LONGEST = 100_000
"""The maximum length of an answer."""
PROCESSES = 64
"""The maximum number of processes and threads that a mind starts."""
LIMITS = {
    "RLIMIT_AS": 2 * 2**30,
    "RLIMIT_FSIZE": 16 * 2**20,
    "RLIMIT_NOFILE": 64,
    "RLIMIT_CORE": 0,
}
"""Limits of each process of a mind: bytes of addresses and of a file, open files, core dumps."""


class NoMind(Exception):
    """A file without a usable mind, or a mind without a usable answer; the message says why."""


def serve() -> None:
    """Create minds and answer questions, until the other end of the socket is closed.

    A message is a pickled tuple: the number of a mind; the arguments of its `MindOfAgent` when the
    mind is new; a question for its `reply`; and the numbers of minds that are no longer needed.
    """
    messages, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(0), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _limit_process()
    minds, pid = dict[int, MindOfAgent](), os.getpid()
    with asyncio.Runner() as runner:
        while True:
            try:
                number, start, question, over = pickle.load(messages)
            except EOFError:
                return
            for ended in over:
                minds.pop(ended, None)
            try:
                if start is not None:
                    minds[number] = MindOfAgent(f"mind_from_file_{number}", **start)
                reply = minds[number].reply(question, runner)
            except NoMind as problem:
                reply = json.dumps({"problem": str(problem), "lost": number not in minds})
            if os.getpid() != pid:  # a fork that a mind has made
                os._exit(0)
            replies.write(f"{reply}\n".encode())
            replies.flush()


class MindOfAgent:
    """The mind of one agent.

    Args:
        name: the name of the class or function; ``""``: the only mind.
        seed: the seed of Python's and numpy's own random numbers.
        book: the prompts of the run, pickled; empty when nothing will be asked.
        scenario: the module of the agents, which the questions need.

    Raises:
        NoMind: when it cannot be made.
    """

    def __init__(
        self,
        module: str,
        source: bytes,
        path: str,
        name: str,
        seed: str = "",
        book: bytes = b"",
        scenario: str = "",
    ) -> None:
        self._path, self._seed = path, seed
        _allow_computing(START_S)
        with suppress(Exception):  # the question says what is missing
            import_module(scenario or __name__)
        self._book: Any = pickle.loads(book) if book else None
        _seed(seed)
        mind = self._answer = load(source, path, name, module)
        if isinstance(mind, type):
            try:
                self._answer = mind().answer
            except BaseException as error:
                why = error_line(error, path)
                raise NoMind(f"{mind.__name__}(): {why}") from error

    def reply(self, question: bytes | None, runner: asyncio.Runner) -> str:
        """Its answer to a question; nothing without one.

        Args:
            question: a pickled tuple: arguments of `Ask` by name, its attribute `rejected`, and
                its random numbers.
            runner: the loop of asynchronous minds.

        Raises:
            NoMind: when it gives no usable answer.
        """
        if question is None:
            return answer_line(None)
        _allow_computing(START_S)
        try:
            given, rejected, rng = pickle.loads(question)
        except Exception as error:  # of a class that is not known here
            raise NoMind(f"its process cannot read the question: {error}") from error
        agent: Any = SimpleNamespace(rng=rng)
        ask = Ask(**given, book=self._book, agent=agent)
        ask.rejected = rejected
        _allow_computing(COMPUTE_S)
        _seed(f"{self._seed}/{tuple(ask.key)}/{len(ask.rejected)}")
        try:
            answer = self._answer(ask)
            if inspect.isawaitable(answer):
                answer = runner.run(_awaited(answer))
        except BaseException as error:  # also what would end the process
            raise NoMind(error_line(error, self._path)) from error
        return answer_line(answer)


async def _awaited(answer: Any) -> object:
    return await answer


def answer_line(answer: object) -> str:
    """An answer as JSON.

    Raises:
        NoMind: when it is neither a number, a text, nor a dict or list of these, or too long.
    """
    try:
        line = json.dumps({"answer": answer}, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NoMind(f"its answer cannot be sent: {error}") from error
    if len(line) > LONGEST:
        raise NoMind(f"it answered with {len(line):,} letters ({LONGEST:,} at most)")
    return line


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    kind = type(value).__name__
    raise NoMind(f"it answered with a {kind}, which is neither number, text, dict nor list")


def _seed(seed: str) -> None:
    random.seed(seed)
    np.random.seed(zlib.crc32(seed.encode()))  # noqa: NPY002 - a mind may draw from it


def _allow_computing(seconds: float) -> None:
    """Let the system end this process after this much more computing, in whole seconds."""
    import resource  # which Windows has not

    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), most))


def _limit_process() -> None:
    """Limit this process and its children, as far as the system allows."""
    import resource  # which Windows has not

    tasks = PROCESSES  # and those that this user has already, which count, too
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if path.stat().st_uid == os.getuid():
                tasks += len(list((path / "task").iterdir()))
    for name, value in {**LIMITS, "RLIMIT_NPROC": tasks}.items():
        with suppress(ValueError, OSError):  # there may be a narrower limit already
            resource.setrlimit(getattr(resource, name), (value, value))


def load(source: bytes, path: str, name: str = "", module_name: str = "mind") -> Any:
    """Run a file, and return the class or function in it that is the mind.

    Modules beside the file can be imported.

    Raises:
        NoMind: when it cannot be run, or there is not exactly one mind.
    """
    module = sys.modules[module_name] = ModuleType(module_name)
    module.__file__ = path
    folder = str(Path(path).resolve().parent)
    if sys.path[0] != folder:
        sys.path.insert(0, folder)
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.filename == path else ""
        raise NoMind(f"{line}{type(error).__name__}: {error.msg}") from None
    except BaseException as error:
        raise NoMind(error_line(error, path)) from error
    minds = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == module_name
        and (taken := _taken(value))
        and (taken == ["ask"] or (isinstance(value, type) and len(taken) == 1))
    }
    listed = ", ".join(minds)
    if name:
        mind = getattr(module, name, None)
        if mind is None:
            raise NoMind(f"it has no {name} (minds in it: {listed or 'none'})")
        if len(_taken(mind)) != 1:
            raise NoMind(
                f"{name} is neither a class with a method answer(self, ask) nor a function of ask"
            )
        return mind
    if len(minds) > 1:
        raise NoMind(f"it has several minds ({listed}): add :NAME for one of them")
    if not minds:
        raise NoMind(
            "it has neither a class with a method answer(self, ask) nor a function answer(ask)"
        )
    return minds.popitem()[1]


def _taken(value: object) -> list[str]:
    """The parameters of a function, or those after `self` of the method `answer` of a class."""
    is_class = isinstance(value, type)
    function = inspect.getattr_static(value, "answer", None) if is_class else value
    names = list(inspect.signature(function).parameters) if inspect.isfunction(function) else []
    return names[is_class:]


def error_line(error: BaseException, path: str) -> str:
    """An exception in one line, with its last line in the file."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    line = f"line {lines[-1]}: " if lines else ""
    message = ""
    with suppress(Exception):  # one of the file's own may not know what it says
        message = str(error)
    return f"{line}{type(error).__name__}" + (f": {message}" if message else "")
