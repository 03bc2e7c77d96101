"""The mind that always answers the same."""

from __future__ import annotations

from sabm_mesa.asks import Ask


class FixedMind:
    """A mind that gives one answer to every question; where it may talk, it says that answer.

    Args:
        value: the answer, which is read like any text.

    Source: the fixed-strategy opponents of guessing-game experiments with language models
    (Lu 2024).
    """

    instant = True
    paid = False

    def __init__(self, value: str | float) -> None:
        self.value = value
        self.spec = f"fixed:{value}"

    async def answer(self, ask: Ask) -> object:
        """Answer with the value.

        Args:
            ask: the question, which makes no difference.
        """
        del ask
        return str(self.value)
