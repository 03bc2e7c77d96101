"""Files and batches, in the shapes of OpenAI's reference, with what can go wrong with them.

A batch is done by the clock of the client: it moves on whenever it is looked at.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from . import wire
from .faults import STATUS_FAULTS

#: What is done with a line: None answers it.
LINE_FAULTS = {
    "missing": "it is answered by no line, and not executed",
    "late": "its line is not in the file when that is first read",
    "twice": "its line is there twice",
    **dict.fromkeys(("429", "500"), "an error with this status"),
    "error": "an error that is none of HTTP",
}
#: How a batch ends; `expired` and `cancelled` answer the first half of their lines.
ENDS = ("completed", "expired", "cancelled", "failed", "queue")
OPERATIONS = ("upload", "create", "poll", "list", "content")

Execute = Callable[[dict[str, Any]], Awaitable[tuple[int, Any]]]


@dataclass(kw_only=True)
class Plan:
    """The behaviour of batches.

    Attributes:
        polls: Times that a batch is looked at before it ends.
        lines: (batch, line, body) → a key of `LINE_FAULTS`, or None; both count from 0.
        ends: Batch → one of `ENDS`.
        shuffle: A seed: the lines of a file come in any order, and stay there.
        calls: (operation, number) → "403", "404", "429", "500" (nothing is done), "lost" (it is
            done, and the connection breaks), "empty" (a list names nothing), or None.
        met: Called with an operation, before it is done and when it is done: ("upload", "before").
    """

    polls: int = 1
    lines: Callable[[int, int, dict[str, Any]], str | None] = lambda _batch, _line, _body: None
    ends: Callable[[int], str] = lambda _batch: "completed"
    shuffle: int | None = None
    calls: Callable[[str, int], str | None] = lambda _operation, _number: None
    met: Callable[[str, str], None] = lambda _operation, _when: None


@dataclass
class Batch:
    """A batch, and what came of it."""

    id: str
    number: int
    file: str
    metadata: dict[str, str]
    requests: list[dict[str, Any]]
    end: str
    created: int = field(default_factory=lambda: int(time.time()))
    looks: int = 0
    status: str = "validating"
    answered: list[tuple[str, Any]] = field(default_factory=list)
    refused: list[tuple[str, Any]] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    output: str | None = None
    errors: str | None = None

    def as_json(self) -> dict[str, Any]:
        told = None
        if self.status == "failed":
            queue = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
            wrong = {"code": "invalid", "message": "The model does not exist.", "line": 1}
            told = {"object": "list", "data": [queue if self.end == "queue" else wrong]}
        return {
            "id": self.id, "object": "batch", "endpoint": "/v1/chat/completions",
            "completion_window": "24h", "input_file_id": self.file, "created_at": self.created,
            "metadata": self.metadata, "status": self.status, "errors": told,
            "output_file_id": self.output, "error_file_id": self.errors,
            "request_counts": {
                "total": len(self.requests),
                "completed": len(self.answered),
                "failed": len(self.refused),
            },
        }  # fmt: skip


class Batches:
    """The endpoints for files and batches.

    Attributes:
        plan: What they do; it can be changed at any time.
        batches: The batches in the order of their creation.
        bill: Request's name → how often it was answered.
    """

    def __init__(self, execute: Execute, plan: Plan) -> None:
        self.plan, self._execute = plan, execute
        self.files: dict[str, bytes] = {}
        self.batches: list[Batch] = []
        self.bill: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._read: Counter[str] = Counter()

    def routes(self, app: web.Application) -> None:
        add = app.router
        add.add_post("/v1/files", self._guarded("upload", self._upload))
        add.add_get("/v1/files/{id}/content", self._guarded("content", self._content))
        add.add_post("/v1/batches", self._guarded("create", self._create))
        add.add_get("/v1/batches", self._guarded("list", self._list))
        add.add_get("/v1/batches/{id}", self._guarded("poll", self._poll))

    def _guarded(
        self, operation: str, do: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handler(request: web.Request) -> web.Response:
            number = self._calls[operation]
            self._calls[operation] += 1
            self.plan.met(operation, "before")
            fault = self.plan.calls(operation, number)
            if fault in STATUS_FAULTS:
                status, kind, code, message = STATUS_FAULTS[fault]
                body = wire.error(message, kind, code)
                return web.Response(status=status, body=body, content_type="application/json")
            response = await do(request)
            if fault == "empty":
                response = web.json_response({"object": "list", "data": []})
            self.plan.met(operation, "after")
            if fault == "lost" and request.transport is not None:
                request.transport.abort()
            return response

        return handler

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        assert form["purpose"] == "batch"
        return web.json_response({"id": self._keep(file.file.read()), "object": "file"})

    def _keep(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        assert asked["completion_window"] == "24h"
        requests = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert len({each["custom_id"] for each in requests}) == len(requests)
        assert len({each["body"]["model"] for each in requests}) == 1
        number = len(self.batches)
        batch = Batch(
            f"batch_{number}", number, asked["input_file_id"], asked.get("metadata") or {},
            requests, self.plan.ends(number),
        )  # fmt: skip
        self.batches.append(batch)
        return web.json_response(batch.as_json())

    async def _list(self, request: web.Request) -> web.Response:
        newest = self.batches[::-1]
        if after := request.query.get("after"):
            newest = newest[[each.id for each in newest].index(after) + 1 :]
        page = newest[: int(request.query.get("limit", 20))]
        return web.json_response({"object": "list", "data": [each.as_json() for each in page]})

    async def _poll(self, request: web.Request) -> web.Response:
        found = [each for each in self.batches if each.id == request.match_info["id"]]
        if not found:
            body = wire.error("No such batch.", "invalid_request_error")
            return web.Response(status=404, body=body, content_type="application/json")
        (batch,) = found
        if batch.status in {"validating", "in_progress"}:
            batch.status = "in_progress"
            batch.looks += 1
            if batch.looks > self.plan.polls:
                await self._finish(batch)
        return web.json_response(batch.as_json())

    async def _finish(self, batch: Batch) -> None:
        batch.status = "failed" if batch.end == "queue" else batch.end
        if batch.status == "failed":
            return
        executed = len(batch.requests)
        if batch.end != "completed":
            executed //= 2
        for number, each in enumerate(batch.requests):
            name, body = each["custom_id"], each["body"]
            fault = self.plan.lines(batch.number, number, body)
            if number >= executed:
                error = {"code": f"batch_{batch.end}", "message": "Not executed."}
                batch.refused.append((name, {"response": None, "error": error}))
            elif fault == "error":
                error = {"code": "server_error", "message": "It could not be executed."}
                batch.refused.append((name, {"response": None, "error": error}))
            elif fault in STATUS_FAULTS:
                status, kind, code, message = STATUS_FAULTS[fault]
                told = json.loads(wire.error(message, kind, code))
                batch.refused.append((name, _response(status, told)))
            elif fault != "missing":
                await self._answer(batch, name, body, fault)
        if batch.answered:
            batch.output = self._keep(self._file(batch.answered))
        if batch.refused:
            batch.errors = self._keep(self._file(batch.refused))

    async def _answer(
        self, batch: Batch, name: str, body: dict[str, Any], fault: str | None
    ) -> None:
        status, told = await self._execute(body)
        to = batch.answered if status == 200 else batch.refused
        to.append((name, _response(status, told)))
        if status == 200:
            self.bill[name] += 1
        if fault == "twice":
            to.append(to[-1])
        if fault == "late":
            batch.late.add(name)

    def _file(self, lines: list[tuple[str, Any]]) -> bytes:
        lines = list(lines)
        if self.plan.shuffle is not None:
            random.Random(self.plan.shuffle).shuffle(lines)
        said = [{"id": f"batch_req_{i}", "custom_id": name, **line}
                for i, (name, line) in enumerate(lines)]  # fmt: skip
        return b"".join(json.dumps(each, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
                        for each in said)  # fmt: skip

    async def _content(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        content = self.files[name]
        self._read[name] += 1
        late = {each for batch in self.batches for each in batch.late if batch.output == name}
        if late and self._read[name] == 1:
            content = b"".join(
                line + b"\n"
                for line in content.split(b"\n")
                if line and json.loads(line)["custom_id"] not in late
            )
        return web.Response(body=content, content_type="application/octet-stream")


def _response(status: int, body: Any) -> dict[str, Any]:
    return {"response": {"status_code": status, "request_id": "req", "body": body}, "error": None}
