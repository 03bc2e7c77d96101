"""Half the price for questions that can wait: the batch interface of OpenAI.

With a batch a provider answers many requests within a day for half the price. The questions of a
phase in which all agents are asked at once can wait. Those of all runs of a command are gathered.
When no run can continue without an answer, they are submitted together: one batch for each
recording, endpoint and model. Other questions are sent alone, at the full price.

A batch is paid for whether or not anybody waits for it, so its answers must not be lost. In order:

1. A note of each request and one of the batch, with a unique token, are on disk.
2. The file of the requests is uploaded, and its id noted.
3. The batch is created, with the token in its metadata, and its id noted.
4. The batch is polled until it has ended, and its files are read: lines come in any order.
5. An answer is recorded, which removes the note of its request in the same commit.

A process that dies between 2 and 3 leaves an unused file. One that dies within 3 leaves a batch
with an unknown id: it is found in the list of batches by its file or its token, also when the
response to its creation was lost. After 3 all answers can be read again, as long as the provider
keeps them (30 days with OpenAI), by a run that continues at the same address. Lines that expired or
failed were not paid for: they are gathered again. A batch that somebody cancelled ends the run,
which can be resumed.

A note is removed when its answer is recorded, or when nobody pays for its request: the batch was
never created, or it failed, expired or was cancelled before that line. Requests may have been paid
for in two more cases: the endpoint no longer knows the batch, or a completed batch lacks a line.
These questions are asked again, and count as lost.

Sources: the guide and the reference of OpenAI's batch interface
(https://platform.openai.com/docs/guides/batch), and the types of the library `openai`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
import uuid
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.core.asks import InBatch, NotedBatch, SentNotes
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BadRequest, LLMError, RateLimited, RunError, ServerUnavailable
from sabm_mesa.llm.client import Client, Completion, Request
from sabm_mesa.llm.endpoints import OPENAI_URL
from sabm_mesa.llm.in_flight import most_of_each
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.llm.reading import is_filtered
from sabm_mesa.llm.retry import MAX_RETRIES, pause_s, with_retries
from sabm_mesa.llm.thinking import is_cut_off

if TYPE_CHECKING:
    from sabm_mesa.llm.batch_interface import BatchInterface
    from sabm_mesa.llm.openai_client import OpenAIClient

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
"""The maximum number of requests in a batch and of bytes in its file (OpenAI's reference)."""
URL = "/v1/chat/completions"
LONGEST_ID = 64
"""The maximum length of the name of a request in a batch."""
SETTLE_S, STUCK_S = 0.2, 60.0
"""Seconds without a new question until the gathered ones are submitted: when all runs wait for a
batch, and in any case."""
FIRST_POLL_S, LONGEST_POLL_S, SLOWER = 0.5, 60.0, 1.5
"""Seconds between two polls of a batch: the first pause, the longest one, and the factor of
growth."""
PATIENCE = 60
"""Consecutive polls that may fail before a batch is left to a resume: an hour of the longest
pauses."""
REFUSALS = 5
"""Consecutive polls that may be refused (401, 403, 404, …) before that."""
LATE = 8
"""The number of rereads of files that lack answers which the batch reports."""
LOOKS, LOOK_AGAIN_S = 2, 2.0
"""The number of searches for a batch that may just have been created, and the seconds between."""
_OVER = {"completed", "failed", "expired", "cancelled"}
_QUEUE_FULL = {"token_limit_exceeded"}
"""Codes of a batch that the server refuses until others have ended."""
_NOT_ANSWERED = {"batch_expired", "batch_cancelled"}
"""Codes of lines whose request was not answered."""
_log = logging.getLogger(__name__)


class BatchLine(NamedTuple):
    """The response to one request of a batch.

    Attributes:
        status: its status.
        body: its body, from JSON.
    """

    status: int
    body: Any


@dataclass(eq=False)
class _Question:
    """A request that is gathered.

    Attributes:
        request: the request.
        custom_id: its name in the batch.
        recorder: the recorder of its notes.
        interface: the batch interface of its endpoint.
        chat: the client that knows which parameters its model supports.
        most: the most that its answer can cost.
        batch: the batch that it is in, once it is submitted.
        note: its note, when it is in a batch.
        version: the version of the dialect in which it was sent.
    """

    request: Request
    custom_id: str
    recorder: SentNotes
    interface: BatchInterface
    chat: OpenAIClient
    most: Sequence[Usage]
    batch: asyncio.Future[_Batch]
    note: int | None = None
    version: int | None = None

    def line(self) -> bytes:
        """Its line in the file of requests."""
        body, self.version = self.chat.line(self.request)
        whole = {"custom_id": self.custom_id, "method": "POST", "url": URL, "body": body}
        return json.dumps(whole).encode() + b"\n"


class _Batch:
    """A batch that is under way, or has ended.

    Args:
        noted: its note.
        interface: the endpoint.
        n: the number of its questions that are awaited.

    Attributes:
        lines: the name of each request → its response, once it has ended.
        status: its status, as last reported.
        done: the number of its requests that are answered.
        gone: whether the endpoint no longer knows it.
        over: is done when the batch has ended; its exception says why there are no answers.
    """

    def __init__(self, noted: NotedBatch, interface: BatchInterface, n: int) -> None:
        self.noted, self.interface, self.n = noted, interface, n
        self.lines: dict[str, BatchLine] = {}
        self.status, self.done, self.waiting, self.gone = "", 0, 0, False
        self.started = time.perf_counter() - max(0.0, time.time() - noted.submitted)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over.add_done_callback(lambda over: over.cancelled() or over.exception())
        self.task: asyncio.Task[None] | None = None

    def __str__(self) -> str:
        """Name it in words."""
        return (
            f"The batch {self.noted.batch or self.noted.token} at {self.interface.endpoint.where}"
        )

    @property
    def is_broken(self) -> bool:
        """Whether nobody waits for it any more, or it could not be read."""
        return self.over.done() and (self.over.cancelled() or self.over.exception() is not None)

    async def line(self, custom_id: str) -> BatchLine | None:
        """The response to a request; None when it has none.

        Raises:
            LLMError: when the batch failed, or its state is unavailable.
        """
        self.waiting += 1
        try:
            await asyncio.shield(self.over)
        except asyncio.CancelledError:
            if self.waiting == 1 and not self.over.done():
                self._leave()
            raise
        finally:
            self.waiting -= 1
        return self.lines.get(custom_id)

    def _leave(self) -> None:
        """Stop waiting; the provider continues."""
        self.over.cancel()
        if self.task is not None:
            self.task.cancel()
        if self.noted.batch:
            _log.warning(
                "%s continues without this command: its answers are collected, and not "
                "paid for again, when the runs are resumed.", self,
            )  # fmt: skip

    async def follow(self) -> None:
        """Poll until it has ended, and read its answers.

        Raises:
            LLMError: when it failed, or its state is unavailable.
        """
        wait_s, failures, refusals, late = FIRST_POLL_S, 0, 0, 0
        while True:
            named = 0
            try:
                batch = await self._fetched()
                self.status, reported = str(batch.get("status")), batch.get("request_counts")
                self.done = _count(reported, "completed") + _count(reported, "failed")
                if self.status in _OVER:
                    named = await self._read(batch)
                failures = refusals = 0
            except LLMError as error:
                if isinstance(error, RateLimited | ServerUnavailable):
                    failures += 1
                else:
                    refusals += 1
                if failures > PATIENCE or refusals > REFUSALS:
                    self.gone = isinstance(error, NoSuchBatch)
                    raise LLMError(f"{self} cannot be read: {error}", billed=True) from None
            else:
                if self.status == "failed":
                    raise self._failed(batch)
                if self.status in _OVER:
                    if named >= self.done or late == LATE:
                        return
                    late += 1
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * SLOWER, LONGEST_POLL_S)

    async def _fetched(self) -> Mapping[str, Any]:
        batch = await self.interface.batch(self.noted.batch)
        if batch is None:
            raise NoSuchBatch("the server does not know it.")
        return batch

    async def _read(self, batch: Mapping[str, Any]) -> int:
        """Read the files; return how many requests they name."""
        named: set[str] = set()
        for which in ("output_file_id", "error_file_id"):
            if not isinstance(file := batch.get(which), str) or not file:
                continue
            try:
                content = await self.interface.content(file)
            except BadRequest:  # it is not there yet
                continue
            for custom_id, line in _lines(content):
                named.add(custom_id)
                if line is not None:
                    self.lines.setdefault(custom_id, line)
        return len(named)

    def _failed(self, batch: Mapping[str, Any]) -> LLMError:
        errors = batch.get("errors")
        reported = errors.get("data") if isinstance(errors, dict) else None
        first = next((problem for problem in reported or () if isinstance(problem, dict)), {})
        line = f", line {first['line']}" if isinstance(first.get("line"), int) else ""
        message = f"{self} was refused ({first.get('message') or 'no reason given'}{line})"
        if first.get("code") in _QUEUE_FULL:
            return RateLimited(f"{message}: wait until others have ended, then resume.")
        return BadRequest(f"{message}: change the request (--set …), or leave out --batch.")

    def missing(self) -> LLMError:
        """The error for a request without an answer."""
        if self.status == "cancelled":
            return LLMError(
                f"{self} was cancelled from outside: its answers are kept, and resuming asks the "
                "rest."
            )
        if self.status == "expired":
            return ServerUnavailable(
                f"{self} expired before all requests were answered. Resume later."
            )
        return ServerUnavailable(f"{self} has no answer to a request. Resume later.", billed=True)


class Batches:
    """Gathers the questions of all runs that are given it, and submits them in batches.

    Args:
        gather: whether questions are sent in batches; otherwise only earlier batches are read.

    Attributes:
        gather: the argument of that name.
    """

    def __init__(self, gather: bool = True) -> None:
        self.gather = gather
        self._interfaces: list[BatchInterface] = []
        self._gathered: list[_Question] = []
        self._batches: dict[str, _Batch] = {}
        self._waiting: Counter[tuple[Path | None, int]] = Counter()
        self._playing: set[int] = set()
        self._direct = self._at_once = 0
        self._moved = 0.0
        self._submitting: asyncio.Task[None] | None = None

    def register(self, interface: BatchInterface) -> None:
        """Add an endpoint that has to support batches.

        Args:
            interface: the endpoint.
        """
        if interface not in self._interfaces:
            self._interfaces.append(interface)

    async def check(self) -> None:
        """Check that all endpoints support batches.

        Raises:
            LLMError: when one has none, or cannot be asked.
        """
        for interface in self._interfaces:
            await interface.check()

    # The runs whose questions are gathered.

    def enter(self, run: int, at_once: int) -> None:
        """Register the start of a run: a batch is submitted when no run can continue.

        Args:
            run: any unique number of the run.
            at_once: how many runs are played at the same time.
        """
        self._playing.add(run)
        self._at_once = at_once

    def leave(self, run: int) -> None:
        """Register the end of a run.

        Args:
            run: its number.
        """
        self._playing.discard(run)

    @contextmanager
    def direct(self) -> Iterator[None]:
        """A request that is sent alone: while it is under way, its run may continue."""
        self._direct += 1
        try:
            yield
        finally:
            self._direct -= 1
            self._move()

    @contextmanager
    def waiting(self, recorder: SentNotes) -> Iterator[None]:
        """A request that waits for a batch.

        Args:
            recorder: the recorder of its run.
        """
        run = recorder.path, recorder.run
        self._waiting[run] += 1
        try:
            yield
        finally:
            self._waiting[run] -= 1
            if not self._waiting[run]:
                del self._waiting[run]
            self._move()

    def _move(self) -> None:
        self._moved = asyncio.get_running_loop().time()

    # Batches.

    async def ask(self, question: _Question) -> _Batch:
        """Gather a question; return the batch that it is in, once that is submitted.

        Args:
            question: the question.
        """
        self._gathered.append(question)
        self._move()
        if self._submitting is None or self._submitting.done():
            self._submitting = asyncio.create_task(self._submit_when_quiet())
        try:
            return await question.batch
        finally:
            if question in self._gathered:
                self._gathered.remove(question)

    def taken_over(
        self, noted: NotedBatch, interface: BatchInterface, recorder: SentNotes
    ) -> _Batch:
        """The batch of an earlier session.

        Args:
            noted: its note.
            interface: its endpoint.
            recorder: the recorder of its notes.
        """
        batch = self._batches.get(noted.token)
        if batch is None or batch.is_broken:
            batch = self._batches[noted.token] = _Batch(noted, interface, 0)
            batch.task = asyncio.create_task(self._run(batch, self._find(batch, recorder)))
        batch.n += 1
        return batch

    def status(self) -> str:
        """The progress of the batches in one line; ``""`` when none is under way."""
        under_way = [batch for batch in self._batches.values() if not batch.over.done()]
        if not under_way:
            return ""
        n, done = (sum(getattr(batch, name) for batch in under_way) for name in ("n", "done"))
        names = ", ".join(batch.noted.batch or "being submitted" for batch in under_way[:3])
        since = int(time.perf_counter() - min(batch.started for batch in under_way))
        what = "batch" if len(under_way) == 1 else f"{len(under_way)} batches"
        clock = f"{since // 3600}:{since // 60 % 60:02}:{since % 60:02}"
        return f"{what} of {n:,} questions ({names}), {done:,} done, waiting since {clock}"

    async def _submit_when_quiet(self) -> None:
        while self._gathered:
            await asyncio.sleep(SETTLE_S / 2)
            still_s = asyncio.get_running_loop().time() - self._moved
            all_wait = (
                len(self._waiting) >= min(len(self._playing), self._at_once) and not self._direct
            )
            if still_s >= STUCK_S or (still_s >= SETTLE_S and all_wait):
                self._submit()

    def _submit(self) -> None:
        gathered, self._gathered = [q for q in self._gathered if not q.batch.done()], []
        groups: dict[tuple[Path | None, BatchInterface, str], list[_Question]] = {}
        for question in gathered:
            group = question.recorder.path, question.interface, question.request.model
            groups.setdefault(group, []).append(question)
        for questions in groups.values():
            for some, content in _files(questions):
                self._start(some, content)

    def _start(self, questions: Sequence[_Question], content: bytes) -> None:
        interface = questions[0].interface
        noted = NotedBatch(
            token=uuid.uuid4().hex,
            address=_address(interface),
            model=questions[0].request.model,
            submitted=time.time(),
        )
        batch = self._batches[noted.token] = _Batch(noted, interface, len(questions))
        for question in questions:
            question.batch.set_result(batch)
        batch.over.add_done_callback(lambda _: self._batches.pop(noted.token, None))
        sending = self._send(batch, questions, content)
        batch.task = asyncio.create_task(self._run(batch, sending))

    async def _run(self, batch: _Batch, begin: Coroutine[Any, Any, None]) -> None:
        """Start a batch, follow it to its end, and wake all that wait for it."""
        try:
            await begin
            if batch.noted.batch:
                await batch.follow()
        except Exception as error:  # noqa: BLE001 - all that wait for it get the error
            if not batch.over.done():
                batch.over.set_exception(error)
        else:
            if not batch.over.done():
                batch.over.set_result(None)

    async def _send(self, batch: _Batch, questions: Sequence[_Question], content: bytes) -> None:
        """Note, upload and create a batch."""
        recorder, interface = questions[0].recorder, batch.interface
        await recorder.note_batch(batch.noted)
        await asyncio.gather(*(self._note(question, batch.noted) for question in questions))
        try:
            name = f"sabm-{batch.noted.token}.jsonl"
            file = await with_retries(lambda: interface.upload(name, content))
        except (RateLimited, ServerUnavailable) as error:
            raise LLMError(str(error)) from None  # nothing is billed for a file
        batch.noted = replace(batch.noted, file=file)
        await recorder.note_batch(batch.noted)
        batch.noted = replace(batch.noted, batch=await self._created(batch))
        await recorder.note_batch(batch.noted)
        _log.warning(
            "A batch of %s questions is submitted to %s (%s). It may take up to 24 h, also without "
            "this command.", f"{len(questions):,}", interface.endpoint.where, batch.noted.batch,
        )  # fmt: skip

    async def _note(self, question: _Question, noted: NotedBatch) -> None:
        in_batch = InBatch(noted.token, question.custom_id, _digest(question.request))
        model = question.request.model
        (question.note,) = await question.recorder.note_sent(model, question.most, in_batch)

    async def _created(self, batch: _Batch) -> str:
        """Create a batch; one whose creation was not confirmed is looked for first."""
        in_doubt = False
        for retries in count():
            try:
                if in_doubt and (created := await self._listed(batch)):
                    return created
                return await batch.interface.create(batch.noted.file, batch.noted.token)
            except (RateLimited, ServerUnavailable) as error:
                in_doubt = in_doubt or isinstance(error, ServerUnavailable)
                if retries == MAX_RETRIES:
                    raise LLMError(str(error), billed=in_doubt) from None
                await asyncio.sleep(pause_s(retries, error.retry_after))
            except LLMError as error:
                error.billed = error.billed or in_doubt
                raise
        raise AssertionError

    async def _find(self, batch: _Batch, recorder: SentNotes) -> None:
        """Look up the id of a batch of an earlier session; without a file it was not created."""
        if batch.noted.file and not batch.noted.batch:
            batch.noted = replace(batch.noted, batch=await self._listed(batch))
        if batch.noted.batch:
            await recorder.note_batch(batch.noted)
            _log.warning("Waiting for %s, which was submitted before.", batch)

    async def _listed(self, batch: _Batch) -> str:
        """The id of a batch that may have been created; ``""`` when the list does not have it."""
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(LOOK_AGAIN_S)
            if identifier := await batch.interface.find(batch.noted):
                return identifier
        return ""


class BatchClient:
    """Sends requests in batches; made for each endpoint and run.

    Args:
        batches: the batches of the command.
        chat: the client that knows the parameters of a model, and reads its answers.
        interface: the batch interface of the endpoint.
        prices: the prices in a batch.
    """

    def __init__(
        self, batches: Batches, chat: OpenAIClient, interface: BatchInterface, prices: PriceTable
    ) -> None:
        self._batches, self._chat, self._interface = batches, chat, interface
        self._prices = prices

    async def complete(self, request: Request) -> Completion:
        """Complete a chat by a new batch, or by one of an earlier session.

        Args:
            request: the request.

        Raises:
            NotGathered: when it must be sent alone.
            RecordingError: when it cannot be noted; then it is not sent.
            LLMError: when there is no answer.
        """
        recorder = request.sent_notes
        assert recorder is not None
        custom_id = name_in_batch(recorder, request)
        if (earlier := await self._earlier(request, custom_id, recorder)) is not None:
            return earlier
        if not self._batches.gather:
            raise NotGathered
        while True:
            loop = asyncio.get_running_loop()
            most = most_of_each(request, self._prices)
            submitted: asyncio.Future[_Batch] = loop.create_future()
            question = _Question(
                request, custom_id, recorder, self._interface, self._chat, most, submitted
            )
            batch = await self._batches.ask(question)
            try:
                line = await batch.line(custom_id)
                if line is None:
                    raise batch.missing()
                done = self._read(request, question.version, line, batch)
            except LLMError as error:
                if not error.billed and question.note is not None:
                    recorder.take_back([question.note])
                raise
            if done is not None:
                return done._replace(note=question.note)
            assert question.note is not None
            recorder.take_back([question.note])

    async def _earlier(
        self, request: Request, custom_id: str, recorder: SentNotes
    ) -> Completion | None:
        """The answer of a batch of an earlier session, or None."""
        left, here = recorder.outstanding(custom_id), _address(self._interface)
        for earlier in left.copy():
            sent = _as_sent(request, earlier.request.digest)
            if earlier.batch.address != here or sent is None:
                continue
            batch = self._batches.taken_over(earlier.batch, self._interface, recorder)
            try:
                line = await batch.line(custom_id)
            except LLMError:
                if batch.status != "failed" and not batch.gone:
                    raise  # it stays among those that are left
                line = None
            left.remove(earlier)
            if line is not None and (line.status == 200 or is_filtered(line.body)):
                done = self._read(sent, None, line, batch)
                if done is not None and (sent is request or not is_cut_off(done)):
                    return done._replace(note=earlier.note)
                may_be_billed = done is not None
            else:
                may_be_billed = batch.gone or (line is None and batch.status == "completed")
            if may_be_billed:
                # A note that is in no batch counts as lost.
                await recorder.note_sent(request.model, most_of_each(request, self._prices))
            recorder.take_back([earlier.note])
        return None

    def _read(
        self, request: Request, version: int | None, line: BatchLine, batch: _Batch
    ) -> Completion | None:
        latency_s = time.perf_counter() - batch.started
        return self._chat.read_line(request, version, line.status, line.body, latency_s)


class NoSuchBatch(LLMError):
    """A batch that its endpoint does not know (404)."""


class NotGathered(LLMError):
    """A request that no batch answers, and that cannot be sent in one."""


class BatchOrDirectClient:
    """Sends a request in a batch when it can wait, otherwise alone.

    Args:
        batched: the clients that send in batches.
        direct: the clients that send alone.
        batches: the batches of the command.
    """

    def __init__(self, batched: Client, direct: Client, batches: Batches) -> None:
        self._batched, self._direct, self._batches = batched, direct, batches

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Args:
            request: the request.

        Raises:
            LLMError: raised by the clients.
            BudgetExceeded: when the request could pass a cap.
        """
        batches, recorder = self._batches, request.sent_notes
        if batches.gather:
            await batches.check()
        if (
            request.question is not None
            and recorder is not None
            and (batches.gather or recorder.outstanding(name_in_batch(recorder, request)))
        ):
            if recorder.path is None:
                raise RunError(
                    "A batch outlives its command, so a run with batches needs a recording."
                )
            with batches.waiting(recorder), suppress(NotGathered):
                return await self._batched.complete(request)
        if not batches.gather:
            return await self._direct.complete(request)
        with batches.direct():
            return await self._direct.complete(request)


def name_in_batch(recorder: SentNotes, request: Request) -> str:
    """The name of a request in a batch: run, round, phase, agent, call and attempt.

    Args:
        recorder: the recorder of its run.
        request: the request, which has a `question`.
    """
    name = "-".join(map(str, (recorder.run, *(request.question or ()))))
    if len(name) <= LONGEST_ID and name.isascii():
        return name
    return hashlib.sha256(name.encode()).hexdigest()


def _digest(request: Request) -> str:
    """The digest of a request, and its limit: with room for thoughts it is another request."""
    return f"{request.digest()}:{request.limit}"


def _as_sent(request: Request, digest: str) -> Request | None:
    """The request with the room that it had in a batch; None when that was another request."""
    if digest == _digest(request):
        return request
    content, _, limit = digest.partition(":")
    if content != request.digest() or not limit.isdecimal():
        return None
    return replace(request, room=int(limit) - (request.max_tokens or 0))


def _address(interface: BatchInterface) -> str:
    return interface.endpoint.url or OPENAI_URL


def _files(questions: Sequence[_Question]) -> Iterator[tuple[list[_Question], bytes]]:
    """Questions with the content of their file, split into as many files as needed."""
    some: list[_Question] = []
    content = bytearray()
    for question in questions:
        try:
            line = question.line()
        except LLMError as error:
            question.batch.set_exception(error)
            continue
        if some and (len(some) == MOST_REQUESTS or len(content) + len(line) > MOST_BYTES):
            yield some, bytes(content)
            some, content = [], bytearray()
        some.append(question)
        content += line
    if some:
        yield some, bytes(content)


def _lines(content: bytes) -> Iterator[tuple[str, BatchLine | None]]:
    """The requests that a file of answers names, with their responses; None for those without."""
    for text in content.split(b"\n"):
        try:
            reported = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(reported, dict) or not isinstance(name := reported.get("custom_id"), str):
            continue
        response, error = reported.get("response"), reported.get("error")
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            yield name, BatchLine(response["status_code"], response.get("body"))
        elif isinstance(error, dict) and error.get("code") not in _NOT_ANSWERED:
            yield name, BatchLine(500, {"error": error})
        else:
            yield name, None


def _count(counts: Any, name: str) -> int:
    count = counts.get(name) if isinstance(counts, dict) else None
    return count if isinstance(count, int) else 0
