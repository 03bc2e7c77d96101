"""What a recording holds as data frames: runs, asks, decisions, model data and agent data."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from sabm_mesa.errors import SabmError, UnknownName
from sabm_mesa.recording.reading import damaged, reading
from sabm_mesa.recording.session import goes_on
from sabm_mesa.recording.tables import Tables

_WRONG = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
"""What comes of reading values that no writer of recordings wrote."""


class Recorded:
    """A recording to be looked at, by this or any other process, while runs write to it or later.

    Each call reads the file anew and keeps it open no longer than it takes. What a run in
    progress has not written yet is not in the frames. Missing text is None or NaN, as in all
    frames of the pandas that is installed; a missing number is NaN.

    Args:
        path: the recording.

    Raises:
        RecordingError: by every method, when there is no recording of that name, or it is
            something else, damaged, or of another format; it is left as it is.
        UnknownName: by every method with `run`, when there is no such run.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def runs(self) -> pd.DataFrame:
        """One row a run.

        Returns:
            ``run`` (its number in this file), ``uid`` (the same run in any file), ``command`` (the
            same for runs that were started together), ``parent`` (uid of the run it was forked
            from), ``scenario``; ``status``: ``running``, ``interrupted`` (it neither ended nor
            goes on), ``finished`` or ``failed``; ``rounds`` that were played to their end;
            ``asks`` and how many of them are ``invalid``; ``prompt_tokens``,
            ``completion_tokens`` and ``cost_usd`` (dollars) of all attempts; ``paid_usd``, the
            same without what a fork took over from its parent, so that only this column may be
            added up over runs (a cost is NaN when the price of an answer is not known);
            ``started`` and ``ended`` (ISO 8601, UTC), ``problem`` (why it failed); ``seed``,
            ``minds``, ``parameters`` and ``forks`` (what changed, and from which round on) as
            JSON.
        """
        with self._moment() as tables:
            return tables.runs()

    def asks(self, messages: bool = False, run: int | None = None) -> pd.DataFrame:
        """One row an attempt: each answer that came, also those that could not be used.

        Args:
            messages: whether to add the column ``messages``, the chat that was sent as JSON
                (``[{"role": …, "content": …}, …]``; missing when nothing was sent). It repeats
                what the recording stores once, and may take much memory.
            run: only this run.

        Returns:
            The columns of the recording: where the attempt stands (``run``, ``round``, ``phase``,
            ``agent``, ``call``, ``attempt``), ``name`` (the prompt entry), ``mind``, ``request``
            (SHA-256), ``raw`` (the answer as it came), ``form`` (how it was read), ``value``
            (what was read, as JSON), ``reasoning``, ``valid``, ``reason`` (why not),
            ``prompt_tokens``, ``cached_tokens``, ``completion_tokens``, ``cost_usd`` (dollars),
            ``latency_s`` (seconds), ``served_model``, ``finish_reason``, ``retries``, and
            ``copied`` (answered, and paid for, in the parent of a fork) and ``position`` (the turn
            of the phase in which it was put, from 0: who spoke before whom).
        """
        with self._moment(run) as tables:
            return tables.asks(messages, run)

    def decisions(self, run: int | None = None) -> pd.DataFrame:
        """One row an ask: what came of it in the end.

        Args:
            run: only this run.

        Returns:
            Where it stands (``run``, ``round``, ``phase``, ``agent``, ``call``), ``name``,
            ``mind``; of its last attempt ``valid``, ``value`` as text (missing when invalid),
            ``number`` (the value as a number, NaN when it is none), ``reasoning`` and ``reason``
            (why it is invalid); over all attempts ``attempts``, ``prompt_tokens``,
            ``cached_tokens``, ``completion_tokens``, ``cost_usd``, ``latency_s``; ``copied`` and
            ``position`` as in `asks`; and ``final``: False when the last answer is invalid and the
            run stopped (or is) before asking again, so that nothing was decided. `runs` does not
            count it.
        """
        with self._moment(run) as tables:
            return tables.decisions(run)

    def model_data(self, run: int | None = None) -> pd.DataFrame:
        """One row a round, as in ``model.csv``.

        Args:
            run: only this run.

        Returns:
            ``run``, ``round`` and the model columns of the scenario, with the types they have in
            `SmartModel.model_frame`; with several scenarios those of all.
        """
        with self._moment(run) as tables:
            return tables.data("model", run)

    def agent_data(self, run: int | None = None) -> pd.DataFrame:
        """One row an agent and round, as in ``agents.csv``.

        Args:
            run: only this run.

        Returns:
            ``run``, ``round``, ``agent``, ``mind`` and the agent columns of the scenario, with the
            types they have in `SmartModel.agent_frame`; with several scenarios those of all.
        """
        with self._moment(run) as tables:
            return tables.data("agent", run)

    def messages(
        self, run: int, round: int, phase: str, agent: int, call: int = 0, attempt: int = 0  # noqa: A002
    ) -> list[tuple[str, str]]:  # fmt: skip
        """The chat of an attempt exactly as it was sent.

        Args:
            run: the run.
            round: the round, from 0.
            phase: the phase.
            agent: the agent.
            call: which ask of the agent in this phase, from 0.
            attempt: which attempt at it, from 0.

        Returns:
            (role, content) of each message; none when nothing was sent.

        Raises:
            UnknownName: when there is no such attempt.
        """
        with self._moment() as tables:
            return tables.messages(run, round, phase, agent, call, attempt)

    def frames(self, messages: bool = False) -> dict[str, pd.DataFrame]:
        """All five frames, as they were at one moment.

        Args:
            messages: as in `asks`.

        Returns:
            Name of the method → its frame.
        """
        with self._moment() as tables:
            return {
                "runs": tables.runs(),
                "asks": tables.asks(messages),
                "decisions": tables.decisions(),
                "model_data": tables.data("model"),
                "agent_data": tables.data("agent"),
            }

    @contextmanager
    def _moment(self, run: int | None = None) -> Iterator[Tables]:
        """The recording as it is at one moment, however many queries are put to it."""
        try:
            with reading(self.path) as connection:
                connection.row_factory = None
                # Before the moment: a session that has ended by then has written how its runs did.
                gone = self._gone(connection)
                connection.execute("BEGIN")
                runs = [number for (number,) in connection.execute("SELECT run FROM runs")]
                if run is not None and run not in runs:
                    raise UnknownName("run", run, map(str, runs))
                yield Tables(connection, gone)
        except SabmError:
            raise
        except _WRONG as error:
            raise damaged(self.path, f"{type(error).__name__}: {error}") from error

    def _gone(self, connection: sqlite3.Connection) -> set[str]:
        running = "SELECT DISTINCT session FROM runs WHERE status = 'running'"
        return {uid for (uid,) in connection.execute(running) if not goes_on(self.path, uid)}
