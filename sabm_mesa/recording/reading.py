"""Recorded runs: all that is needed to repeat, continue or fork them."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.asks import Chat, Key
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.errors import RecordingError, ReplayMismatch
from sabm_mesa.recording.rows import OF_REPLY, AskRow, RunRow, checker
from sabm_mesa.recording.store import (
    ended_sessions,
    open_for_reading,
    reporting_damage,
)

_PERSONA = "persona "
"""The prefix of prompt entries that are personas."""
_AMONG = "{} IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, kw_only=True)
class RecordedRun(RunRow):
    """One recorded run: its present row, with its asks and data.

    Asks and data are read when needed.

    Attributes:
        path: the recording.
        status: ``running``, ``interrupted`` (it did not end, and is not being written),
            ``finished`` or ``failed``.
        problem: why it failed, or ``""``.
        end_reason: why it ended, if its scenario says so, or ``""``.
        measures: the end measures of a finished run, as JSON values.
    """

    path: Path
    problem: str
    end_reason: str
    measures: Mapping[str, Any] = field(repr=False)
    _texts: _Texts = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the run for errors."""
        return f"Run {self.run} of {self.path}"

    @property
    def finished(self) -> bool:
        """Whether it was played to its end."""
        return self.status == "finished"

    @property
    def rounds(self) -> int:
        """The number of finished rounds."""
        return len(self.model_data)

    @cached_property
    def asks(self) -> Mapping[tuple[Any, ...], AskRow]:
        """(round, phase, agent, call, attempt) → the row of that attempt, if it was answered."""
        with open_for_reading(self.path, check=False) as connection:
            answers = connection.execute("SELECT * FROM answers WHERE run = ?", (self.run,))
            return {row.key: row for row in (AskRow(*answer) for answer in answers)}

    @property
    def model_data(self) -> Sequence[str]:
        """The model data of each round, as JSON.

        Raises:
            ReplayMismatch: when the data of a round are missing, also for `agent_data` and
                `message_data`.
        """
        return self._data[0]

    @property
    def agent_data(self) -> Sequence[str]:
        """The agent data of each round, as JSON."""
        return self._data[1]

    @property
    def message_data(self) -> Sequence[str]:
        """The messages of each round, as JSON: rows of `MESSAGE_COLUMNS`."""
        return self._data[2]

    def reply(self, key: Key, attempt: int) -> Reply | None:
        """The recorded reply, or None."""
        row = self.asks.get((*key, attempt))
        if row is None:
            return None
        with reporting_damage(self.path):
            assert row.raw is not None
            answer = json.loads(row.raw) if row.form == "value" else row.raw
        return Reply(
            answer,
            answer_format="paper" if row.form == "value" else row.form,
            cost_usd=math.nan if row.cost_usd is None else row.cost_usd,
            model=row.served_model,
            request=row.request or "",
            response_id=row.response_id or "",
            **{name: getattr(row, name) for name in OF_REPLY},
            **self._origin(row),
        )

    def provenance(self, row: AskRow) -> str:
        """The provenance of an answer, as JSON; ``""`` when nothing was sent."""
        if row.provenance is None:
            return ""
        with reporting_damage(self.path):
            return self._texts.by_hash[row.provenance]

    def limit(self, row: AskRow) -> int | None:
        """The maximum number of tokens of an answer and its thoughts; None without a limit."""
        sent = json.loads(self.provenance(row) or "{}").get("sent", {})
        limits = (sent.get(name) for name in ("max_completion_tokens", "max_tokens"))
        known: int | None = self.parameters.get("max_tokens")
        return next((limit for limit in limits if limit), known)

    def _origin(self, row: AskRow) -> dict[str, Any]:
        """The fields of a reply that the provenance of an answer gives."""
        if not (stored := self.provenance(row)):
            return {}
        with reporting_damage(self.path):
            reported = json.loads(stored)
            return {
                "asked_model": reported.get("model", ""),
                "provider": reported.get("provider", ""),
                "system_fingerprint": reported.get("system_fingerprint", ""),
                "parameters": to_json({k: reported[k] for k in ("asked", "sent") if k in reported}),
            }

    def chat(self, row: AskRow) -> Chat:
        """The messages that were sent for an answer, exactly; none when nothing was sent.

        Raises:
            RecordingError: when they cannot be assembled.
        """
        if row.messages is None:
            return ()
        texts = self._texts.by_hash
        with reporting_damage(self.path):
            return tuple((role, texts[digest]) for role, digest in json.loads(row.messages))

    def texts_of(self, row: AskRow) -> list[str]:
        """The texts that a row names by their hashes."""
        provenance = self.provenance(row)
        return [text for _, text in self.chat(row)] + ([provenance] if provenance else [])

    def prompts_at(self, applied: int) -> Mapping[str, str]:
        """Prompt entry → hash, after this many forks."""
        before = [fork["prompts"] for fork in self.forks[:applied]]
        return next((texts for texts in reversed(before) if texts), self.prompts)

    def versions_at(self, applied: int) -> dict[str, str]:
        """Package → version, and spec → SHA-256 of files of minds, after this many forks."""
        at_round = dict(self.versions)
        for fork in self.forks[:applied]:
            at_round |= fork.get("versions", {})
        return at_round

    def templates(self, prompts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The prompt entries and personas of the hashes.

        Raises:
            RecordingError: when one is missing.
        """
        with reporting_damage(self.path):
            named = {entry: self.texts[digest] for entry, digest in prompts.items()}
        personas = {k.removeprefix(_PERSONA): v for k, v in named.items() if k.startswith(_PERSONA)}
        return {k: v for k, v in named.items() if not k.startswith(_PERSONA)}, personas

    @cached_property
    def _data(self) -> tuple[list[str], ...]:
        stored = "SELECT round, data FROM {}_data WHERE run = ? ORDER BY round"
        with open_for_reading(self.path, check=False) as connection:
            connection.execute("BEGIN")
            kinds = {
                kind: dict(connection.execute(stored.format(kind), (self.run,)).fetchall())
                for kind in ("model", "agent", "message")
            }
        n = max((round_ for rounds in kinds.values() for round_ in rounds), default=-1) + 1
        for round_ in range(n):
            for name, rounds in kinds.items():
                if round_ not in rounds:
                    raise ReplayMismatch(
                        f"{self.name} differs: the {name} data of round {round_} are missing."
                    )
        return tuple(list(rounds.values()) for rounds in kinds.values())


class _Texts:
    """All messages and provenances of a recording, read once for all its runs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def by_hash(self) -> dict[str, str]:
        with open_for_reading(self._path, check=False) as connection:
            return dict(connection.execute("SELECT hash, text FROM texts").fetchall())


def load_runs(
    path: str | Path,
    runs: int | Iterable[int] | None = None,
    *,
    missing_ok: bool = False,
    check: bool = True,
) -> list[RecordedRun]:
    """Read the headers of runs; their asks and data are read at first use.

    Args:
        missing_ok: whether the recording, or a run in it, may be missing.
        check: whether to check every page of the file first.

    Returns:
        The runs in the order of their numbers.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run, or none at all.
    """
    path = Path(path)
    if missing_ok and not path.exists():
        return []
    if runs is None:
        if (loaded := _load(path, "TRUE", [], check=check)) or missing_ok:
            return loaded
        raise RecordingError(f"There is no run in {path}.")
    wanted = {runs} if isinstance(runs, int) else {*map(int, runs)}
    given = [json.dumps([*wanted])]
    loaded = _load(path, _AMONG.format("run"), given, check=check)
    if unknown := sorted(wanted - {run.run for run in loaded}):
        known = [run.run for run in load_runs(path, check=False)]
        raise RecordingError(
            f"There is no run {unknown[0]} in {path}; it has {min(known)} to {max(known)}."
        )
    return loaded


def find_tagged(path: str | Path, specs: Iterable[str]) -> dict[str, RecordedRun]:
    """Find the runs of plans by the tag ``spec``.

    Returns:
        Digest → its run; of several, the first finished one, or else the last one.

    Raises:
        RecordingError: when it is not a recording, or damaged.
    """
    path = Path(path)
    if not path.exists():
        return {}
    where = _AMONG.format("json_extract(tags, '$.spec')")
    tagged: dict[str, RecordedRun] = {}
    for run in _load(path, where, (json.dumps(list(specs)),)):
        spec = run.tags["spec"]
        if spec not in tagged or not tagged[spec].finished:
            tagged[spec] = run
    return tagged


def _load(path: Path, where: str, given: Sequence[Any], *, check: bool = True) -> list[RecordedRun]:
    with reporting_damage(path), open_for_reading(path, check=check) as connection:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return []  # another command is about to make it
        ended = ended_sessions(path, connection)
        connection.execute("BEGIN")
        rows = connection.execute(
            f"SELECT * FROM runs WHERE {where} ORDER BY run", given
        ).fetchall()
        prompts = dict(connection.execute("SELECT hash, text FROM prompts").fetchall())
        texts = _Texts(path)
        return [_of_row(path, row, prompts, texts, ended) for row in rows]


def _of_row(
    path: Path,
    row: sqlite3.Row,
    prompts: Mapping[str, str],
    texts: _Texts,
    ended: Collection[str],
) -> RecordedRun:
    checked = checker(RunRow).validate_python(dict(row))
    columns = checked.model_dump(exclude_unset=True)
    if row["status"] == "running" and row["session"] in ended:
        columns["status"] = "interrupted"
    for name, missing in ("problem", ""), ("end_reason", ""), ("measures", {}):
        columns[name] = columns[name] or missing
    return RecordedRun(**columns, path=path, texts=prompts, _texts=texts)
