"""One request for the answers to several identical questions.

In a simultaneous phase agents may be asked exactly the same, such as the players of a beauty
contest in the first round. In one request with the parameter ``n``, the prompt is paid for once,
and every agent still gets its own answer.

- Shared requests: the first questions of agents with the same mind in a simultaneous phase
  of one run, when their requests are exactly the same, at most `MOST` of them. They are sent when
  all agents have started their parts, so sharing does not depend on latencies. Later questions and
  attempts of an agent are sent on their own.
- Order of the answers: answer i belongs to agent i in the order of the phase.
- Cost of each: `reading` shares the tokens, and each share has the price of its tokens. A
  retry of the request counts for the first agent.
- When the server refuses ``n`` or sends fewer answers, the missing ones are requested one by one,
  and count as retries. From then on nothing more is shared with this model; the log says so, once.
  (Some servers take no ``n`` at all, some none at temperature 0.)
- When the whole request does not fit under a cap, the questions are sent one by one, as far as they
  fit.
- When the run is stopped, all answers under way are awaited and recorded, as any other is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sabm_mesa.errors import BadRequest, BudgetExceeded
from sabm_mesa.llm.client import Client, Completion, Request

MOST = 128
"""The maximum number of answers to one request, by OpenAI's reference for ``n``."""
_log = logging.getLogger(__name__)


class SupportsN:
    """Whether a model at an endpoint is known to give several answers to a request.

    Attributes:
        yes: False after it failed to.
    """

    def __init__(self) -> None:
        self.yes = True

    def mark_unsupported(self, model: str) -> None:
        """Record that it did not; the first time, log it."""
        if self.yes:
            self.yes = False
            _log.warning(
                "%r does not give several answers to one request: requests are not shared any "
                "more.", model,
            )  # fmt: skip


class CoalescingClient:
    """Sends identical simultaneous requests as one; created for each run and mind.

    Args:
        client: the client that sends.
        supports_n: whether the model gives several answers to a request.
    """

    def __init__(self, client: Client, supports_n: SupportsN) -> None:
        self._client, self._supports_n = client, supports_n
        self._waiting: dict[tuple[int, str, str], list[_Waiting]] = {}

    async def complete(self, request: Request) -> Completion:
        """Complete a chat, together with others when it has a `place`.

        Args:
            request: the request.

        Raises:
            LLMError: raised by the client.
            BudgetExceeded: when not even the request alone fits under a cap.
        """
        if request.place is None or not self._supports_n.yes:
            return await self._client.complete(request)
        group, i = await self._grouped(request, request.place)
        if group is None:
            return await self._client.complete(request)
        part = await group.part(i)
        if part is not None:
            return part
        done = await self._client.complete(request)
        if group.was_sent:
            self._supports_n.mark_unsupported(request.model)
            return done._replace(retries=done.retries + 1)
        return done

    def _grouped(
        self, request: Request, at: tuple[int, str, int]
    ) -> asyncio.Future[tuple[_Group | None, int]]:
        """The group of a request and its number there; no group when it is alone."""
        loop = asyncio.get_running_loop()
        if not self._waiting:  # the last agents ask in the turn of the loop that follows
            loop.call_soon(self._send)
        round_, phase, position = at
        waiting = _Waiting(position, request, loop.create_future())
        self._waiting.setdefault((round_, phase, request.digest()), []).append(waiting)
        return waiting.group

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for requests in waiting.values():
            pending = [request for request in requests if not request.group.cancelled()]
            pending.sort(key=lambda request: request.position)
            for start in range(0, len(pending), MOST):
                chunk = pending[start : start + MOST]
                group = _Group(self._client, chunk[0].request, len(chunk)) if chunk[1:] else None
                for i, request in enumerate(chunk):
                    request.group.set_result((group, i))


class _Waiting(NamedTuple):
    """A request that waits for the end of the turn in which it is made."""

    position: int
    request: Request
    group: asyncio.Future[tuple[_Group | None, int]]


class _Group:
    """A request for several answers, which several agents await.

    Args:
        client: the client that sends it.
        request: the request that each of them makes.
        n: their number.

    Attributes:
        was_sent: whether it was sent, once it has ended.
    """

    def __init__(self, client: Client, request: Request, n: int) -> None:
        self.was_sent = True
        self._left = n
        self._sending = asyncio.ensure_future(self._complete(client, replace(request, n=n)))

    async def _complete(self, client: Client, request: Request) -> Sequence[Completion]:
        try:
            done = await client.complete(request)
        except BadRequest:
            return ()
        except BudgetExceeded:
            self.was_sent = False
            return ()
        first, *others = done.parts or (done,)
        parts = [first._replace(retries=done.retries), *others]
        return [part._replace(stopped=done.stopped) for part in parts]

    async def part(self, i: int) -> Completion | None:
        """Answer number `i`; None when it did not come.

        Raises:
            asyncio.CancelledError: when stopped and there is no answer.
            LLMError: raised by the client.
        """
        stopped = False
        while not self._sending.done():
            try:
                await asyncio.wait({self._sending})
            except asyncio.CancelledError:
                self._left -= not stopped
                if not self._left:  # only the recording still needs it
                    self._sending.cancel()
                stopped = True
        if stopped and (self._sending.cancelled() or self._sending.exception()):
            raise asyncio.CancelledError
        parts = self._sending.result()
        if i < len(parts):
            return parts[i]._replace(stopped=parts[i].stopped or stopped)
        if stopped:
            raise asyncio.CancelledError
        return None
