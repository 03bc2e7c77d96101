"""What a recording says of one run, in memory: enough to repeat it, go on with it, or fork it."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabm_mesa.asks import Key, Reply
from sabm_mesa.errors import RecordingError, RunDiffers, SabmError
from sabm_mesa.recording.reading import damaged, reading
from sabm_mesa.recording.rows import from_steps

Messages = list[tuple[str, str]]
_JSON = ("parameters", "forks", "seed", "minds", "prompts", "versions", "connection",
         "model_columns", "agent_columns")  # fmt: skip


@dataclass(frozen=True)
class Past:
    """One recorded run.

    Attributes:
        path: the recording.
        run: the number of the run in it.
        uid: the same run in any file.
        command: the same for runs that were started together.
        scenario: the name of the scenario.
        model: ``module:class``.
        parameters: the parameters the run began with.
        forks: the changes during the run: ``{"at": round, "set": {…}, "prompts": {…}}`` each, with
            ``"versions"`` of the files that minds come from.
        parent: uid of the run it was forked from, or None.
        seed: the seed.
        prompts: prompt entry → hash; texts: hash → template, also of the entries of forks.
        versions: package → version with which it began.
        connection: how language models were reached.
        model_columns: the columns of the model data.
        agent_columns: the columns of the agent data.
        status: ``running``, ``finished`` or ``failed``.
        problem: why it failed, or ``""``.
        session: who wrote it last.
        lines: the lines that messages are stored as, by their ids.
        answers: (round, phase, agent, call, attempt) → the row of that attempt.
        model_data: the model data of each round, as JSON.
        agent_data: the agent data of each round, as JSON.
    """

    path: Path
    run: int
    uid: str
    command: str
    scenario: str
    model: str
    parameters: Mapping[str, Any]
    forks: Sequence[Mapping[str, Any]]
    parent: str | None
    seed: tuple[int, ...]
    minds: Mapping[str, int]
    prompts: Mapping[str, str]
    versions: Mapping[str, str]
    texts: Mapping[str, str]
    connection: Mapping[str, Any]
    model_columns: Sequence[str]
    agent_columns: Sequence[str]
    status: str
    problem: str
    session: str
    lines: Mapping[int, str] = field(repr=False)
    answers: Mapping[tuple[Any, ...], sqlite3.Row] = field(repr=False)
    model_data: Sequence[str] = field(repr=False)
    agent_data: Sequence[str] = field(repr=False)

    @property
    def rounds(self) -> int:
        """The number of rounds that were played to their end."""
        return len(self.model_data)

    @property
    def name(self) -> str:
        """The run in words, for errors."""
        return f"Run {self.run} of {self.path}"

    def reply(self, key: Key, attempt: int) -> Reply | None:
        """The reply that was recorded, or None when there is none."""
        row = self.answers.get((*key, attempt))
        if row is None:
            return None
        with whole(self.path):
            answer = json.loads(row["raw"]) if row["form"] == "value" else row["raw"]
        return Reply(
            answer,
            answer_format="json" if row["form"] == "json" else "paper",
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            cached_tokens=row["cached_tokens"],
            cost_usd=math.nan if row["cost_usd"] is None else row["cost_usd"],
            latency_s=row["latency_s"],
            model=row["served_model"],
            finish_reason=row["finish_reason"],
            request=row["request"] or "",
            retries=row["retries"],
        )

    def messages(self, row: sqlite3.Row) -> Messages:
        """The messages that were sent for an answer, exactly; none when nothing was sent.

        Raises:
            RecordingError: when they cannot be put together.
        """
        if row["messages"] is None:
            return []
        with whole(self.path):
            return [
                (role, "\n".join([self.lines[line] for line in from_steps(steps)]))
                for role, steps in json.loads(row["messages"])
            ]

    def book(self, prompts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The prompt entries and the personas behind their hashes.

        Raises:
            RecordingError: when one is missing.
        """
        with whole(self.path):
            named = {entry: self.texts[digest] for entry, digest in prompts.items()}
        mark = "persona "
        personas = {k.removeprefix(mark): v for k, v in named.items() if k.startswith(mark)}
        return {k: v for k, v in named.items() if not k.startswith(mark)}, personas


def pasts(path: str | Path, runs: int | Iterable[int] | None = None) -> list[Past]:
    """Read runs from a recording.

    Args:
        path: the recording.
        runs: their numbers, or one; all when None.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run, or none at all.
    """
    path = Path(path)
    with reading(path) as connection:
        rows = connection.execute("SELECT * FROM runs ORDER BY run").fetchall()
        known = [row["run"] for row in rows]
        if not known:
            raise RecordingError(f"There is no run in {path}.")
        wanted = {runs} if isinstance(runs, int) else set(known if runs is None else runs)
        if unknown := sorted(wanted - set(known)):
            raise RecordingError(
                f"There is no run {unknown[0]} in {path}; it has {known[0]} to {known[-1]}."
            )
        texts = dict(connection.execute("SELECT hash, text FROM prompts").fetchall())
        lines = dict(connection.execute("SELECT id, text FROM texts").fetchall())
        with whole(path):
            return [
                _past(path, connection, row, texts, lines) for row in rows if row["run"] in wanted
            ]


@contextmanager
def whole(path: Path) -> Iterator[None]:
    """Says of what cannot be read in the block that the recording is damaged.

    Args:
        path: the recording.

    Raises:
        RecordingError: for what is missing, or no JSON.
    """
    try:
        yield
    except SabmError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from None


def _past(
    path: Path,
    connection: sqlite3.Connection,
    row: sqlite3.Row,
    texts: Mapping[str, str],
    lines: Mapping[int, str],
) -> Past:
    run = row["run"]
    decoded = {column: json.loads(row[column]) for column in _JSON}
    plain = ("uid", "command", "scenario", "model", "parent", "status", "session")
    answers = connection.execute("SELECT * FROM asks WHERE run = ?", (run,))
    model_data, agent_data = (
        dict(
            connection.execute(
                f"SELECT round, data FROM {table} WHERE run = ? ORDER BY round", (run,)
            ).fetchall()
        )
        for table in ("model_data", "agent_data")
    )
    for name, data, other in (
        ("model", model_data, agent_data), ("agent", agent_data, model_data),
    ):  # fmt: skip
        for round_ in range(max([*data, *other], default=-1) + 1):
            if round_ not in data:
                raise RunDiffers(
                    f"Run {run} of {path} differs: the {name} data of round {round_} are missing."
                )
    return Past(
        path=path,
        run=run,
        **{column: row[column] for column in plain},
        **{**decoded, "seed": tuple(decoded["seed"])},
        problem=row["problem"] or "",
        texts=texts,
        lines=lines,
        answers={tuple(found)[1:6]: found for found in answers},
        model_data=list(model_data.values()),
        agent_data=list(agent_data.values()),
    )
