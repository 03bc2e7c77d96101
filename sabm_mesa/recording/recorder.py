"""What records one run, and what records nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sabm_mesa.asking import Attempt
from sabm_mesa.jsonable import rows_to_json, to_json
from sabm_mesa.recording.rows import (
    INSERT_AGENT_DATA,
    INSERT_ASK,
    INSERT_MODEL_DATA,
    ask_row,
)
from sabm_mesa.recording.writer import Writer


class RunRecorder:
    """Records one run.

    Args:
        run: its number in the recording.
        writer: what writes.

    Attributes:
        run: its number in the recording.
    """

    def __init__(self, run: int, writer: Writer) -> None:
        self.run = run
        self._writer = writer

    async def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Write one attempt.

        Args:
            attempt: the attempt.
            durable: whether to return only when it is on disk.

        Raises:
            RecordingError: when it cannot be written.
        """
        self._writer.add((INSERT_ASK, ask_row(self.run, attempt)))
        attempt.ask.forget_question()  # of a crowd that waits for the disk they would be most
        if durable:
            await self._writer.committed()

    def collect(
        self, round_: int, model_row: Sequence[Any], agent_rows: Sequence[Sequence[Any]]
    ) -> None:
        """Write the data of one round.

        Args:
            round_: the round.
            model_row: the values of the model columns.
            agent_rows: for each agent, the values of the agent columns.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        self._writer.add(
            (INSERT_MODEL_DATA, [self.run, round_, to_json(model_row)]),
            (INSERT_AGENT_DATA, [self.run, round_, rows_to_json(agent_rows)]),
        )
        self._writer.commit()  # nobody waits for it

    async def finish(self, problem: str = "") -> None:
        """Write how the run ended, and have all of it on disk.

        Args:
            problem: why it failed, or ``""``.

        Raises:
            RecordingError: when it cannot be written.
        """
        status = "failed" if problem else "finished"
        ended = "UPDATE runs SET ended = ?, status = ?, problem = ? WHERE run = ?"
        self._writer.add((ended, [now(), status, problem or None, self.run]))
        await self._writer.committed()


class NoRecording:
    """Records nothing: for runs that can be repeated for free."""

    run = 0

    async def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Record nothing."""

    def collect(
        self, round_: int, model_row: Sequence[Any], agent_rows: Sequence[Sequence[Any]]
    ) -> None:
        """Record nothing."""

    async def finish(self, problem: str = "") -> None:
        """Record nothing."""


def now() -> str:
    """The time in UTC, as it is recorded."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
