"""Sending an answer, well or badly."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import replace

from aiohttp import web

from . import wire
from .brains import NONSENSE, Reply
from .faults import STATUS_FAULTS, Fault
from .record import Seen

_JSON = "application/json"
# Linger for zero seconds: closing then sends a reset in place of an orderly end.
_RESET = struct.pack("ii", 1, 0)
_CHUNK = b"x" * 2**16


def status_response(fault: Fault, authorization: str) -> web.Response:
    """The error of a fault that is a status."""
    status, kind, code, message = STATUS_FAULTS[fault.kind]
    key = authorization.removeprefix("Bearer ")
    shown = key if fault.echo_key else f"{key[:2]}****"
    param = "messages" if fault.kind == "context" else None
    body = wire.error(message.format(key=shown), kind, code, param)
    return web.Response(status=status, body=body, content_type=_JSON, headers=fault.headers)


def spoil(fault: Fault, replies: Sequence[Reply]) -> list[Reply]:
    """The choices that a fault leaves of, or puts in place of, the brain's."""
    replies = list(replies) or [Reply(NONSENSE[0])]
    if fault.kind == "length":
        return [_halved(reply) for reply in replies]
    if fault.kind == "no-choices":
        return []
    replaced = {
        "garbage": lambda: Reply(NONSENSE[0]),
        "empty": lambda: Reply(""),
        "null": lambda: Reply(None),
        "refusal": lambda: Reply(None, refusal="I'm sorry, but I can't help with that."),
        "content-filter": lambda: Reply(None, finish_reason="content_filter"),
        "huge": lambda: Reply(_many_words(fault.size)),
        "bomb": lambda: Reply(_many_words(fault.size)),
    }
    if fault.kind in replaced:
        return [replaced[fault.kind]()]
    return replies


def _many_words(size: int) -> str:
    return ("many words " * (size // 11 + 1))[:size]


def _halved(reply: Reply) -> Reply:
    text = reply.content or ""
    return replace(reply, content=text[: len(text) // 2], finish_reason="length")


async def deliver(
    request: web.Request, payload: bytes, fault: Fault | None, seen: Seen
) -> web.StreamResponse:
    """Send a completion, in the way that the fault says; sets the status when it is sent."""
    kind = fault.kind if fault else None
    if kind == "hang":
        await asyncio.Event().wait()
    if kind == "stall":
        stalled = _stream(payload)
        await stalled.prepare(request)
        await stalled.write(payload[: len(payload) // 2])
        await asyncio.Event().wait()
    if kind in ("reset", "drop"):
        return await _break_off(request, payload if kind == "reset" else b"")
    if fault and kind == "slow":
        return await _trickle(request, payload, fault.pace, seen)
    if fault and kind == "endless":
        return await _flood(request, fault.status, seen)
    if fault and kind == "redirect":
        seen.status = fault.status
        return web.Response(status=fault.status, headers={"Location": fault.to})
    seen.status = 200
    return _whole(payload, kind)


def _whole(payload: bytes, kind: str | None) -> web.Response:
    """A response with status 200, as the fault has it."""
    if kind == "bad-json":
        payload = payload[: len(payload) // 2]
    elif kind == "twice":
        payload = payload.replace(b'"choices":', b'"choices":[],"choices":', 1)
    elif kind == "error-200":
        payload = wire.error("The provider returned an error.", "server_error", "502")
    elif kind == "error-choice":
        error = {"code": 502, "message": "The provider returned an error."}
        choice = {"message": {"content": ""}, "finish_reason": "error", "error": error}
        payload = json.dumps({"choices": [choice]}).encode()
    elif kind == "bad-utf8":
        payload = payload.replace(b'"content":"', b'"content":"\xe9\xff\xfe ')
    elif kind == "html":
        payload = b"<html><body><h1>Bad gateway</h1></body></html>"
        return web.Response(body=payload, content_type="text/html")
    elif kind == "text-plain":
        return web.Response(body=payload, content_type="text/plain")
    elif kind in ("bomb", "bad-gzip"):
        payload = gzip.compress(payload) if kind == "bomb" else payload
        headers = {"Content-Encoding": "gzip"}
        return web.Response(body=payload, content_type=_JSON, headers=headers)
    return web.Response(body=payload, content_type=_JSON)


def _stream(payload: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": _JSON})
    response.content_length = len(payload)
    return response


async def _break_off(request: web.Request, payload: bytes) -> web.StreamResponse:
    """Send half of the payload, if any, and break the connection."""
    response = _stream(payload)
    if payload:
        await response.prepare(request)
        await response.write(payload[: len(payload) // 2])
    transport = request.transport
    if transport is not None:
        if payload:
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.abort()
    # The lost connection cancels this handler, so that nothing tries to write to it any more.
    await asyncio.Event().wait()
    return response


async def _trickle(
    request: web.Request, payload: bytes, pace: float, seen: Seen
) -> web.StreamResponse:
    response = _stream(payload)
    await response.prepare(request)
    for at in range(len(payload)):
        await response.write(payload[at : at + 1])
        await asyncio.sleep(pace)
    await response.write_eof()
    seen.status = 200
    return response


async def _flood(request: web.Request, status: int, seen: Seen) -> web.StreamResponse:
    """Send the beginning of a completion and then text for as long as the client takes it."""
    response = web.StreamResponse(status=status, headers={"Content-Type": _JSON})
    await response.prepare(request)
    seen.status = status
    await response.write(b'{"choices": [{"message": {"content": "')
    while True:
        await response.write(_CHUNK)
        seen.sent += len(_CHUNK)
