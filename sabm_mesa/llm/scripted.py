"""A client that answers from a script: a fake that is injected, not patched in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import MindError
from sabm_mesa.llm.client import Client, Sender
from sabm_mesa.llm.request import Request

Answer = str | Reply | Exception


class _Script(Sender):
    def __init__(self, script: Callable[[Request], Answer] | Iterable[Answer]) -> None:
        super().__init__()
        self._answer = script if callable(script) else None
        self._answers = iter(()) if callable(script) else iter(script)
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Reply:
        self.requests.append(request)
        answer = self._answer(request) if self._answer else next(self._answers, None)
        if answer is None:
            raise MindError(f"The script ran out at request {len(self.requests)}.")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return replace(answer)
        return Reply(answer, model=request.model, cost_usd=math.nan)


class ScriptedClient(Client):
    """A client that answers from a list or with a function.

    Args:
        script: the answers in order, or a function of the request; an exception among them is
            raised.
        options: options of `Client`; by default nothing is sent again.

    Attributes:
        requests: the requests that it received, in order.

    Raises:
        MindError: by `complete`, when the script has run out.
    """

    def __init__(
        self, script: Callable[[Request], Answer] | Iterable[Answer], **options: Any
    ) -> None:
        server = _Script(script)
        super().__init__(server, **{"max_retries": 0, **options})
        self.requests = server.requests
