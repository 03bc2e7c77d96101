"""A user's own mind, completed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from sabm_mesa.asks import Ask, Mind, Reply
from sabm_mesa.errors import MindSpecError


class OwnMind:
    """An object with the one method ``async def answer(self, ask)``, and what it leaves unsaid.

    Args:
        own: the object. Without `spec` it is named after its class; without `instant` it is taken
            to wait for something; without `paid` its answers are taken to be worth keeping, so
            that each is on disk before it is used.
    """

    def __init__(self, own: Any) -> None:
        self._own = own
        self.spec: str = getattr(own, "spec", type(own).__name__)
        self.instant: bool = getattr(own, "instant", False)
        self.paid: bool = getattr(own, "paid", True)

    @property
    def answer(self) -> Callable[[Ask], Coroutine[Any, Any, Reply | object]]:
        """The method of the object itself: a wrapper would be kept for each agent that waits."""
        method: Callable[[Ask], Coroutine[Any, Any, Reply | object]] = self._own.answer
        return method

    def __getattr__(self, name: str) -> Any:
        """What the object has beyond that, such as ``remember`` or ``digest``."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)

    @classmethod
    def of(cls, own: Any) -> Mind:
        """The object itself when it is a complete mind, else the completed one.

        Raises:
            MindSpecError: when it has no method `answer`.
        """
        if isinstance(own, type) or not callable(getattr(own, "answer", None)):
            raise MindSpecError(
                f"A mind is a spec or an object with a method answer(ask), not {own!r}."
            )
        complete = all(hasattr(own, name) for name in ("spec", "instant", "paid"))
        mind: Mind = own if complete else cls(own)
        return mind
