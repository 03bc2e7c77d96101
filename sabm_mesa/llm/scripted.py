"""A client that answers from a script: a fake that is injected, not patched in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sabm_mesa.errors import MindError
from sabm_mesa.llm.client import Completion, Request

Answer = str | Completion | Exception


class ScriptedClient:
    """A client that answers from a list or with a function.

    Args:
        script: the answers in order, or a function of the request; an exception among them is
            raised.

    Attributes:
        requests: the requests that it received, in order.

    Raises:
        MindError: by `complete`, when the script has run out.
    """

    def __init__(self, script: Callable[[Request], Answer] | Iterable[Answer]) -> None:
        self._answer = script if callable(script) else None
        self._answers = iter(()) if callable(script) else iter(script)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        """Return the next answer of the script.

        Args:
            request: the request.
        """
        self.requests.append(request)
        answer = self._answer(request) if self._answer else next(self._answers, None)
        if answer is None:
            raise MindError(f"The script ran out at request {len(self.requests)}.")
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completion) else Completion(answer, model=request.model)
