"""Minds that answer from a recording."""

from __future__ import annotations

from sabm_mesa.core.answers import FORMATS, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.errors import RecordingError, ReplayMismatch
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.human import HUMAN, HumanMind
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.rows import AskRow


class RecordedMind(Mind):
    """Answers from a recording; the mind itself gives missing answers.

    Args:
        mind: the mind itself; None when it is not available.
        live: whether it may be asked.

    Attributes:
        at_hand: whether the mind itself is available.
    """

    paid = True

    def __init__(self, spec: str, recorded: RecordedRun, mind: Mind | None, *, live: bool) -> None:
        self.spec, self.at_hand = spec, mind is not None
        self._recorded, self._mind, self._live = recorded, mind, live
        if mind is not None:
            self.instant, self.informed = mind.instant, mind.informed
            self.answer_format, self.enforces_json = mind.answer_format, mind.enforces_json
        elif spec == HUMAN:
            self.answer_format = HumanMind.answer_format

    def digest(self, ask: Ask) -> str:
        """The hash of the request that the mind itself would send now.

        An unavailable mind may have its own hash: then the recorded hash is returned, and only the
        messages can be compared.
        """
        row, mind = self._recorded.asks.get((*ask.key, len(ask.rejected))), self._mind
        if isinstance(mind, HumanMind) and row is not None and row.mind != HUMAN:
            mind = mind.stand_ins.get(ask.key.agent)
        if mind is not None:
            return mind.digest(ask)
        if row is not None and row.request is not None:
            return row.request
        return ask.digest()

    async def answer(self, ask: Ask) -> Reply | object:
        """Answer as recorded, or let the mind itself answer.

        Raises:
            ReplayMismatch: when no answer is recorded, and the mind may not be asked.
            RecordingError: when no answer is recorded, and the mind is not available.
        """
        reply = self._recorded.reply(ask.key, len(ask.rejected))
        if reply is not None:
            reply.request = ""  # that of now is computed, and compared with the recorded one
            if self.spec == HUMAN:  # in whose place another may have answered
                row = self._recorded.asks[*ask.key, len(ask.rejected)]
                reply.by = "" if row.mind == HUMAN else row.mind
                self._ask_as_then(ask, row)
            if self._mind is not None:
                self._mind.remember(ask, reply)
            return reply
        if not self._live:
            raise ReplayMismatch(
                f"{self._recorded.name} differs at {ask.key}: {ask.name!r} is asked, attempt "
                f"{len(ask.rejected)}, and no such answer is in the recording."
            )
        if self._mind is None:
            raise RecordingError(
                f"{self._recorded.name} holds no answer at {ask.key} to {ask.name!r}, and the mind "
                f"{self.spec!r} is not available: continue in Python with "
                f"resume(…, minds={{{self.spec!r}: mind}})."
            )
        return await self._mind.answer(ask)

    def _ask_as_then(self, ask: Ask, row: AskRow) -> None:
        """Ask in the recorded format of the mind; the first format if none matches."""
        forms = [(answer_format, False) for answer_format in ("paper", *FORMATS)] + [("json", True)]
        for form, enforced in forms:
            ask.ask_in(form, enforced=enforced)
            if row.request is None or ask.digest() == row.request:
                return
        then = self._recorded.chat(row)  # a language model hashes its own request
        for form, enforced in (*forms, ("paper", False)):
            ask.ask_in(form, enforced=enforced)
            if ask.chat() == then:
                return

    def close(self) -> None:
        """Release the resources of the mind itself."""
        if self._mind is not None:
            self._mind.close()
