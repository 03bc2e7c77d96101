"""Runs with language models on several processes, within one limit, one budget and one recording.

A worker plays whole runs with its own connections to the servers, so it does the work of the model,
its prompts and HTTP. The shared parts stay in the process that started the workers. Before a
request is sent, that process admits it within the limit of its endpoint, sets aside its highest
cost in the budget, and notes it in the recording. It has the answer on its disk before the run
continues. So limit, budget and recording belong to a single process even if a worker is lost. A
worker needs no disk, and may be on another machine. The price is three or four messages in both
directions for each question; simultaneous messages share a packet.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, fields
from functools import partial
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from sabm_mesa.core import engine
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import RecordingError, RunError, SabmError, error_message
from sabm_mesa.llm import Budget, Connection, limiter_of
from sabm_mesa.llm.budget import CAPS, Reservation
from sabm_mesa.llm.limit import CEILING, Limiter
from sabm_mesa.minds.specs import objects_by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.recording import Recording
from sabm_mesa.recording.store import Statement
from sabm_mesa.recording.writing import RunRecorder
from sabm_mesa.runs.planned import RunSpec
from sabm_mesa.runs.run import CONCURRENT_RUNS

WorkerMessage = tuple[str, int, tuple[Any, ...]]
"""The subject of a message, the number for its reply or 0, and its arguments."""
_NOT_ALONE = ("gguf:", "local", "py:", "human")
"""Minds that need this process, for its local models, limits for files, and people."""
_OWN = ("budget", "limits", "limiters")
"""Parts of a connection that a worker does not get."""
_NOTES = 2**40
"""The maximum number of notes of a worker."""
_log = logging.getLogger(__name__)


class Carrier(Protocol):
    """Carries messages to a worker and back."""

    def write(self, messages: Sequence[WorkerMessage]) -> None:
        """Bring messages to the worker; nothing happens when it is lost."""

    def read(self) -> Sequence[WorkerMessage] | None:
        """Wait for messages of the worker; None when it is lost."""

    def kill(self) -> None:
        """End the worker at once; a second call changes nothing."""


OpenWorkers = Callable[[int], AbstractContextManager[Sequence[Carrier]]]
"""Starts at most this many workers for the duration of a block."""


class MessageQueue:
    """Queued messages: those of one turn of the engine's loop are sent together."""

    def __init__(self) -> None:
        self._messages: list[WorkerMessage] = []
        self._wake = threading.Condition()
        self._complete = self._closed = False

    def put(self, what: str, number: int, *given: Any) -> None:
        """Add a message, from any thread.

        Args:
            what: the kind of message.
            number: the number of its answer, or 0.
            given: its arguments.
        """
        with self._wake:
            self._messages.append((what, number, given))
            first = len(self._messages) == 1
        if first:
            engine.call_soon(self._send)

    def take(self) -> list[WorkerMessage]:
        """Wait for messages; none when the queue is closed."""
        with self._wake:
            while not (self._complete or self._closed):
                self._wake.wait()
            self._complete = False
            messages, self._messages = self._messages, []
            return messages

    def close(self) -> None:
        """End the wait for messages."""
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _send(self) -> None:
        with self._wake:
            self._complete = True
            self._wake.notify()


# In the process of a worker.


@dataclass(frozen=True)
class WorkerStart:
    """The first message to a worker.

    Attributes:
        worker: its number, from 1.
        connection: name → value of the connection, except `_OWN`.
        caps: those of the budget, or None.
        path: the recording, for messages.
        session: the identifier of the recording session.
    """

    worker: int
    connection: Mapping[str, Any]
    caps: Mapping[str, Any] | None
    path: Path
    session: str


class Worker:
    """Plays runs for the process that started it."""

    def __init__(self) -> None:
        self._link = _Link()
        self._lock = threading.Lock()
        self._models: set[SmartModel] = set()
        self._stopped = False
        handler = _Forward(self._link)
        logging.getLogger().handlers = [handler]

    def collect(self) -> list[WorkerMessage]:
        """Wait for messages to the process that started it."""
        return self._link.queue.take()

    def deliver(self, messages: Sequence[WorkerMessage]) -> None:
        """Handle messages of the process that started it.

        Args:
            messages: the messages.
        """
        if answers := [message for message in messages if message[0] == "answer"]:
            engine.call_soon(self._link.answer, answers)
        for what, _, given in messages:
            match what:
                case "start":
                    self._start(*given)
                case "play":
                    threading.Thread(target=self._play, args=given, daemon=True).start()
                case "stop":
                    self._stop()

    def _start(self, start: WorkerStart) -> None:
        budget = None if start.caps is None else _SharedBudget(self._link, start.caps)
        limiters = partial(_SharedLimiter, self._link)
        self._connection = Connection(**start.connection, budget=budget, limiters=limiters)
        for endpoint in self._connection.endpoints.values():
            endpoint.hide_secrets()
        writer, notes = _SharedWriter(self._link), count(_NOTES * start.worker)
        self._recorder = partial(
            RunRecorder, writer=writer, path=start.path, session=start.session, notes=notes
        )
        self._link.queue.put("ready", 0)

    def _play(self, index: int, spec: RunSpec, run: int) -> None:
        failed: SabmError | None = None
        try:
            with self._lock:
                model = spec.build(self._recorder(run), self._connection)
                self._models.add(model)
                if self._stopped:
                    model.stop()
            try:
                while model.running:
                    model.step()
            finally:
                model.close("stopped")
                with self._lock:
                    self._models.discard(model)
        except SabmError as error:
            failed = error
        except BaseException as error:  # noqa: BLE001 - the process that started it raises it
            failed = RunError(error_message(error))
        self._link.queue.put("ended", 0, index, failed)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for model in self._models:
                model.stop()


class _Link:
    """The messages of a worker, and its pending answers; all parts of the worker share it."""

    def __init__(self) -> None:
        self.queue = MessageQueue()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count(1)

    def ask(self, what: str, *given: Any) -> tuple[int, asyncio.Future[Any]]:
        """Ask; return the number of the question and the answer."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self.queue.put(what, number, *given)
        return number, answer

    async def call(self, what: str, *given: Any) -> Any:
        """Ask and await the answer; return the grant if the request was cancelled."""
        number, answer = self.ask(what, *given)
        try:
            return await answer
        except asyncio.CancelledError:
            self.queue.put("cancel", 0, number, what, *given)
            raise

    def answer(self, answers: Sequence[WorkerMessage]) -> None:
        """Deliver answers on the engine's loop, unless the request was cancelled."""
        for _, number, (value, error) in answers:
            waiting = self._waiting.pop(number)
            if waiting.done():
                continue
            if error is None:
                waiting.set_result(value)
            else:
                waiting.set_exception(error)


class _SharedLimiter(Limiter):
    """The limiter of an endpoint in the process that started this one."""

    def __init__(self, link: _Link, identity: str) -> None:
        super().__init__()
        self._link, self._identity = link, identity

    async def acquire(self, ceiling: int = CEILING) -> float:
        sent: float = await self._link.call("acquire", self._identity, ceiling)
        return sent

    def release(self, ceiling: int = CEILING) -> None:
        self._link.queue.put("release", 0, self._identity, ceiling)

    def answered(self) -> None:
        self._link.queue.put("answered", 0, self._identity)

    def refused(self, sent: float, retry_after: float | None) -> None:
        self._link.queue.put("refused", 0, self._identity, sent, retry_after)


class _SharedBudget(Budget):
    """The budget in the process that started this one."""

    def __init__(self, link: _Link, caps: Mapping[str, Any]) -> None:
        super().__init__(**caps)
        self._link = link
        self._held: dict[Reservation, int] = {}

    async def reserve(self, target: tuple[str, str], asked: Usage) -> Reservation:
        number, most = await self._link.call("reserve", target, asked)
        reservation = Reservation(target, asked, most)
        self._held[reservation] = number
        return reservation

    def settle(self, reservation: Reservation, spent: Usage | None) -> None:
        self._link.queue.put("settle", 0, self._held.pop(reservation), spent)


class _SharedWriter:
    """The writer of the recording in the process that started this one."""

    def __init__(self, link: _Link) -> None:
        self._link = link

    def add(self, *statements: Statement) -> None:
        self._link.queue.put("add", 0, *statements)

    def commit_soon(self) -> None:
        self._link.queue.put("commit_soon", 0)

    def committed(self, *statements: Statement) -> asyncio.Future[None]:
        self.add(*statements)
        return self._link.ask("committed")[1]

    def written(self, *statements: Statement) -> asyncio.Future[None]:
        self.add(*statements)
        return self._link.ask("written")[1]


class _Forward(logging.Handler):
    """Passes log messages to the parent process."""

    def __init__(self, link: _Link) -> None:
        super().__init__(logging.WARNING)
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        self._link.queue.put("log", 0, record.name, record.levelno, record.getMessage())


# In the process that starts the workers.


def may_leave(model: SmartModel) -> bool:
    """Whether workers may play a run with language models.

    Args:
        model: the run at its beginning.
    """
    only_here = any(agent.mind.spec.startswith(_NOT_ALONE) for agent in model.population)
    return not (only_here or objects_by_spec(model.parameters["minds"]))


def play_on_workers(
    specs: Sequence[RunSpec],
    opened: Recording,
    connection: Connection,
    open_workers: OpenWorkers,
    watch: Callable[[int], None],
) -> None:
    """Enter runs into a recording, all or none, and let workers play them.

    A run whose worker is lost stays interrupted, with its answers so far.

    Args:
        specs: the runs.
        opened: the recording.
        connection: how language models are reached; its budget counts earlier costs.
        open_workers: starts workers.
        watch: called after each run with the number of remaining runs.

    Raises:
        RunError: when a run fails; the others are stopped, and their answers are recorded.
    """
    runs = []
    with opened.together():
        for spec in specs:
            model = spec.build(opened, connection)
            model.begin()
            runs.append(model.recorder.run)
    with (
        open_workers(len(specs)) as carriers,
        closing(_WorkerPool(carriers, opened, connection)) as pool,
    ):
        pool.play(specs, runs, watch)


class _WorkerPool:
    """Workers at work."""

    def __init__(
        self, carriers: Sequence[Carrier], opened: Recording, connection: Connection
    ) -> None:
        self._events: SimpleQueue[tuple[_WorkerLink, str, tuple[Any, ...]]] = SimpleQueue()
        self._playing: dict[_WorkerLink, set[int]] = {}
        logged: set[str] = set()
        self._links = [
            _WorkerLink(carrier, opened, connection, self._events, logged) for carrier in carriers
        ]
        budget = connection.budget
        caps = None if budget is None else {cap: getattr(budget, cap) for cap in CAPS}
        named = [field.name for field in fields(connection) if field.name not in _OWN]
        how = {name: getattr(connection, name) for name in named}
        for number, link in enumerate(self._links, 1):
            start = WorkerStart(number, how, caps, opened.path, opened.session.uid)
            link.queue.put("start", 0, start)

    def play(
        self, specs: Sequence[RunSpec], runs: Sequence[int], watch: Callable[[int], None]
    ) -> None:
        """Let workers play the runs until done or no worker is left; see `play_on_workers`."""
        waiting = deque(enumerate(zip(specs, runs, strict=True)))
        share = min(CONCURRENT_RUNS, math.ceil(len(specs) / len(self._links)))
        left, lost = len(specs), 0
        while left and lost < len(self._links):
            link, what, given = self._events.get()
            match what:
                case "ready":
                    self._playing[link] = set()
                case "ended":
                    index, error = given
                    self._playing[link].discard(index)
                    if error is not None:
                        raise error
                    left -= 1
                    watch(left)
                case "lost":
                    lost += 1
                    of_it = len(self._playing.pop(link, ()))
                    left -= of_it
                    _log.warning(
                        "A worker was lost. Its runs (%d) continue here when the others are done.",
                        of_it,
                    )
            for worker, playing in self._playing.items():
                while waiting and len(playing) < share:
                    index, (spec, run) = waiting.popleft()
                    playing.add(index)
                    worker.queue.put("play", 0, index, spec, run)

    def close(self) -> None:
        """Stop the runs, record their answers, and end the workers."""
        with engine.interrupts_deferred():
            for link in self._playing:
                link.queue.put("stop", 0)
            until = time.monotonic() + engine.WIND_UP_S
            with suppress(Empty):
                while any(self._playing.values()):
                    link, what, given = self._events.get(timeout=max(0, until - time.monotonic()))
                    if what == "ended":
                        self._playing[link].discard(given[0])
                    elif what == "lost":
                        self._playing.pop(link, None)
            for link in self._links:
                link.close()


class _WorkerLink:
    """Answers one worker: on the engine's loop, to which limits, budget and commits belong.

    Args:
        carrier: carries the messages.
        opened: the recording.
        connection: how language models are reached.
        events: receives the worker's messages on its runs, and its loss.
        logged: texts that were logged before for any worker.
    """

    def __init__(
        self,
        carrier: Carrier,
        opened: Recording,
        connection: Connection,
        events: SimpleQueue[tuple[_WorkerLink, str, tuple[Any, ...]]],
        logged: set[str],
    ) -> None:
        self.queue = MessageQueue()
        self._carrier, self._writer, self._events, self._logged = (
            carrier, opened.writer, events, logged,
        )  # fmt: skip
        self._limits, self._budget = connection.limits, connection.budget
        self._granting: dict[int, asyncio.Task[Any]] = {}
        self._permits: Counter[tuple[str, int]] = Counter()
        self._reserved: dict[int, Reservation] = {}
        self._grants: dict[str, Callable[..., Coroutine[Any, Any, Any]]] = {
            "acquire": self._acquire,
            "reserve": self._reserve,
        }
        self._takes: dict[str, Callable[..., None]] = {
            "add": self._add, "commit_soon": self._commit_soon, "release": self._release,
            "answered": self._answered, "refused": self._refused, "settle": self._settle,
            "cancel": self._take_back, "log": self._say,
        }  # fmt: skip
        self._threads = [
            threading.Thread(target=work, name="sabm-worker", daemon=True)
            for work in (self._read, self._write)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the worker."""
        self.queue.close()
        self._carrier.kill()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        while messages := self.queue.take():
            self._carrier.write(messages)

    def _read(self) -> None:
        while (messages := self._carrier.read()) is not None:
            engine.call_soon(self._receive, messages)
        engine.call_soon(self._lost)

    def _receive(self, messages: Sequence[WorkerMessage]) -> None:
        awaited: dict[str, list[int]] = {"committed": [], "written": []}
        for what, number, given in messages:
            if what in awaited:
                awaited[what].append(number)
            elif what in self._grants:
                self._grant(number, self._grants[what](number, *given))
            elif what in self._takes:
                self._takes[what](*given)
            else:
                self._events.put((self, what, given))
        for what, numbers in awaited.items():
            if numbers:
                self._grant(numbers[0], self._write_all(what, numbers))

    def _add(self, *statements: Statement) -> None:
        with suppress(RecordingError):  # the commit will say it
            self._writer.add(*statements)

    def _commit_soon(self) -> None:
        with suppress(RecordingError):
            self._writer.commit_soon()

    def _grant(self, number: int, work: Coroutine[Any, Any, Any]) -> None:
        task = self._granting[number] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(partial(self._answer, number))

    def _answer(self, number: int, task: asyncio.Task[Any]) -> None:
        del self._granting[number]
        error = None if task.cancelled() else task.exception()
        value = None if task.cancelled() or error else task.result()
        self.queue.put("answer", number, value, error)

    def _limiter(self, identity: str) -> Limiter:
        return limiter_of(identity, self._limits)

    async def _acquire(self, _number: int, identity: str, ceiling: int) -> float:
        sent = await self._limiter(identity).acquire(ceiling)
        self._permits[identity, ceiling] += 1
        return sent

    def _release(self, identity: str, ceiling: int) -> None:
        self._permits[identity, ceiling] -= 1
        self._limiter(identity).release(ceiling)

    async def _reserve(
        self, number: int, target: tuple[str, str], asked: Usage
    ) -> tuple[int, Usage]:
        assert self._budget is not None
        reservation = await self._budget.reserve(target, asked)
        self._reserved[number] = reservation
        return number, reservation.most

    def _settle(self, number: int, spent: Usage | None) -> None:
        assert self._budget is not None
        self._budget.settle(self._reserved.pop(number), spent)

    async def _write_all(self, what: str, numbers: Sequence[int]) -> None:
        """Answer this many messages of a kind at once, after all added rows are written."""
        error: RecordingError | None = None
        try:
            await getattr(self._writer, what)()
        except RecordingError as failed:
            error = failed
        for number in numbers[1:]:
            self.queue.put("answer", number, None, error)
        if error is not None:
            raise error

    def _answered(self, identity: str) -> None:
        self._limiter(identity).answered()

    def _refused(self, identity: str, sent: float, retry_after: float | None) -> None:
        self._limiter(identity).refused(sent, retry_after)

    def _take_back(self, number: int, what: str, *given: Any) -> None:
        """Return a grant to a question that no longer waits."""
        if number in self._granting and self._granting[number].cancel():
            return
        if what == "acquire":
            self._release(*given)
        elif number in self._reserved:
            self._settle(number, None)

    def _say(self, name: str, level: int, text: str) -> None:
        if text not in self._logged:  # what a server does not take, say, each worker finds out
            self._logged.add(text)
            logging.getLogger(name).log(level, "%s", text)

    def _lost(self) -> None:
        """Release the reservations of the worker: its requests may have been billed."""
        for task in self._granting.values():
            task.cancel()
        for (identity, ceiling), n in self._permits.items():
            for _ in range(n):
                self._limiter(identity).release(ceiling)
        self._permits.clear()
        for reservation in self._reserved.values():
            assert self._budget is not None
            self._budget.settle(reservation, reservation.most)
        self._reserved.clear()
        self._events.put((self, "lost", ()))
