"""The mind that answers as it did in the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.asks import Ask, Mind, Reply
from sabm_mesa.decisions import Format
from sabm_mesa.errors import RecordingError, RunDiffers
from sabm_mesa.minds.human import HUMAN, HumanMind

if TYPE_CHECKING:
    from sabm_mesa.recording.past import Past


class RecordedMind:
    """Answers from a recording; what is not in it, the mind itself is asked.

    Args:
        spec: how the mind is named in the data.
        past: the recorded run.
        mind: the mind itself; None when it is not at hand.
        live: whether it may be asked.

    Attributes:
        at_hand: whether the mind itself is at hand.
    """

    paid = True

    def __init__(self, spec: str, past: Past, mind: Mind | None, *, live: bool) -> None:
        self.spec = spec
        self.instant = mind is not None and mind.instant
        self.at_hand = mind is not None
        own = HumanMind.answer_format if spec == HUMAN else None
        if own := getattr(mind, "answer_format", own):
            self.answer_format: Format = own
        self._past, self._mind, self._live = past, mind, live

    def digest(self, ask: Ask) -> str:
        """The hash of the request that the mind itself would send now.

        A mind that is not at hand may hash what it sends in a way of its own: then it is the
        recorded hash, and only the messages can be compared.
        """
        row = self._past.answers.get((*ask.key, len(ask.rejected)))
        if self._mind is None and row is not None and row["request"] is not None:
            return str(row["request"])
        return ask.digest_of(self._mind)

    async def answer(self, ask: Ask) -> Reply | object:
        """Answer as recorded, or have the mind itself answer.

        Args:
            ask: the question.

        Raises:
            RecordingError: when there is no answer, and no mind to ask.
        """
        reply = self._past.reply(ask.key, len(ask.rejected))
        if reply is not None:
            remember = getattr(self._mind, "remember", None)
            if remember is not None:
                remember(ask, reply)
            return reply
        if not self._live:
            raise RunDiffers(
                f"{self._past.name} differs at {ask.key}: {ask.name!r} is asked, attempt "
                f"{len(ask.rejected)}, and no such answer is in the recording."
            )
        if self._mind is None:
            raise RecordingError(
                f"{self._past.name} holds no answer at {ask.key} to {ask.name!r}, and the mind "
                f"{self.spec!r} is not at hand: go on in Python with "
                f"resume(…, minds={{{self.spec!r}: mind}})."
            )
        return await self._mind.answer(ask)
