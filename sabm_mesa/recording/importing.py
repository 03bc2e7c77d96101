"""Imports decisions from other sources: the scenario is played with the decisions of a table.

A table has one row per decision (long), or one row per round of several players (wide). It becomes
recorded runs without prompts. The rules of the scenario check the decisions and compute their
consequences (payoffs, means, stocks). An illegal or missing decision is recorded as invalid, and
its kind is reported.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import UsageError, one_line
from sabm_mesa.recording.store import open_for_reading
from sabm_mesa.recording.writing import Recording

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.core.asks import Ask

RUN, ROUND, PLAYER, DECISION, MIND = "run", "round", "player", "decision", "mind"
CONDITION = "condition"
FIELDS = (RUN, ROUND, PLAYER, DECISION, MIND, CONDITION)
DECIDES = ("act", "move")
"""The questions whose answers are decisions."""
SIZES = ("n_players", "n_firms")
"""The parameters that give the number of players."""
HEADER = 2
"""The number of the line of a file in which the first row is."""
WIDE, JOINED = "|", "+"
EXAMPLES = 3
_ASKS = """
SELECT run, agent, valid, reason FROM asks WHERE name IN (?, ?) AND final
ORDER BY run, agent, round, call
"""
UNNAMED = "data"


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes:
        runs: the number of runs.
        decisions: the number of valid decisions.
        problems: one line for each kind of problem.
    """

    runs: int
    decisions: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class _Given:
    """One decision of the table: its row, who decided, and what."""

    row: int
    line: int
    run: str
    round: float
    player: str
    mind: str
    decision: str


class _Giver:
    """A mind that gives the decisions of the table."""

    instant, paid = True, False

    def __init__(self, spec: str, texts: Mapping[str, Mapping[tuple[int, int], str]]) -> None:
        self.spec, self._texts = spec, texts
        self._asked: dict[tuple[str, int], int] = {}

    async def answer(self, ask: Ask) -> object:
        """Answer with the value in the table.

        Raises:
            UsageError: when no column answers this question.
        """
        kind = DECISION if ask.name in DECIDES else ask.name
        if kind not in self._texts:
            raise UsageError(
                f"The scenario also asks for {kind!r}, which no column gives: name one "
                f"(--map {kind}=COLUMN), or set the parameters so that it is not asked."
            )
        key = kind, ask.key.agent
        turn = self._asked[key] = self._asked.get(key, -1) + 1
        return _value(self._texts[kind].get((ask.key.agent, turn), ""))


def read_map(
    given: Iterable[str],
    option: str = "--map",
    form: str = "FIELD=COLUMN, such as decision=choice",
) -> dict[str, str]:
    """The pairs of an option of the command line.

    Args:
        given: texts of the form ``NAME=VALUE``.
        option: the name of the option.
        form: its form in words.

    Raises:
        UsageError: for another form, or a repeated name.
    """
    mapping: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (sign and name and value):
            raise UsageError(f"{option} takes {form}, not {text!r}.")
        if name in mapping:
            raise UsageError(f"{option} names {name} twice.")
        mapping[name] = value
    return mapping


def read_table(file: Path, only: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read a table with all values as texts.

    Args:
        file: a CSV file, which may be compressed.
        only: column → the text that its rows have.

    Returns:
        The rows, with the number of their line as index.

    Raises:
        UsageError: when the file cannot be read as a table, or no row is left.
    """
    import pandas as pd

    try:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or one_line(str(error))
        raise UsageError(f"Cannot read {file} as a table: {why}.") from None
    table.index = pd.RangeIndex(HEADER, len(table) + HEADER)
    for column, text in (only or {}).items():
        if column not in table.columns:
            raise UsageError(_no_column(table, column, "--where COLUMN=TEXT"))
        table = table[table[column] == text]
        if not len(table):
            raise UsageError(f"No row has {text!r} in the column {column}.")
    return table


def import_table(
    table: pd.DataFrame,
    scenario: Callable[..., Any],
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    source: str = "",
) -> Imported:
    """Record the decisions of a table as runs of a scenario.

    Args:
        table: the rows.
        scenario: the class of the scenario.
        path: the recording, which is made or added to.
        columns: field → its column. Fields are ``run`` (several columns joined by ``+``; without
            one all rows are one run), ``round`` (without one there is a single round), ``player``
            (without one each row of a round is another player), ``decision``, ``mind`` (who
            decided), ``condition`` (the treatment of a run, which becomes its tag), and the name of
            any other question. Several columns separated by ``|`` are as many players of one row. A
            field is its own column by default; ``condition`` only when it is named.
        values: a value of the decision column → the scenario's value.
        parameters: the parameters of the scenario; by default the table gives the numbers of
            players and rounds.
        source: the recorded description of the source.

    Raises:
        UsageError: for a missing column, an empty table, or a repeated decision; then nothing is
            recorded.
        SabmError: when the scenario cannot be played with these parameters.
    """
    named = dict(columns or {})
    given = _rows(table, named, values or {})
    _check_once(given)
    others = {name: _texts(table, named[name]) for name in named if name not in FIELDS}
    conditions = _conditions(given, _texts(table, named[CONDITION])) if CONDITION in named else {}
    size = _size_of(scenario)
    runs: dict[str, list[_Given]] = {}
    for one in given:
        runs.setdefault(one.run, []).append(one)
    settings = {**_fixed(scenario), **dict(parameters or {})}

    def made(plan: _Played, recording: Recording | bool) -> Any:
        size_and_rounds = {size: len(plan.players), "n_rounds": len(plan.rounds)}
        return scenario(
            **{**size_and_rounds, **settings}, minds=plan.minds, rng=0, recording=recording
        )

    plans = {
        name: _Played.of(
            rows, {kind: [texts[r.row] for r in rows] for kind, texts in others.items()}
        )
        for name, rows in runs.items()
    }
    made(next(iter(plans.values())), False).close()  # wrong parameters leave no recording
    played: list[_Played] = []
    with _removed_on_failure(Path(path)), Recording(path, durable=False) as recording:
        for name, plan in plans.items():
            model = made(plan, recording)
            model.tags = {"imported": source or "a table", "run": name}
            if name in conditions:
                model.tags = {**model.tags, CONDITION: conditions[name]}
            try:
                model.run_model()
            finally:
                model.close()
            played.append(replace(plan, run=model.recorder.run))
    refused = _refused(path, played)
    missing = sum(len(run.players) * len(run.rounds) - len(run.decisions) for run in played)
    problems = _problems(refused)
    if missing:
        problems.append(
            f"{missing:,} decision{' is' if missing == 1 else 's are'} missing: players without a "
            "row in a round of their run; recorded as invalid."
        )
    n_valid = sum(len(run.decisions) for run in played) - len(refused)
    return Imported(len(runs), n_valid, tuple(problems))


@dataclass(frozen=True)
class _Played:
    """One run of the table.

    Attributes:
        players: the names of the players, in the order of their ids.
        rounds: the rounds of the table.
        decisions: player and round → the decision.
        minds: the minds of the players, in the form of the parameter `minds`.
        run: the number of the run in the recording.
    """

    players: Sequence[str]
    rounds: Sequence[float]
    decisions: Mapping[tuple[str, float], _Given]
    minds: Any
    run: int = -1

    @classmethod
    def of(cls, rows: Sequence[_Given], others: Mapping[str, Sequence[str]]) -> _Played:
        """Make the run of some rows; `others` are answers to other questions, one per row."""
        players, rounds = _players(rows), sorted({one.round for one in rows})
        agents = {player: number for number, player in enumerate(players, 1)}
        turns = {time: turn for turn, time in enumerate(rounds)}
        keys = [(agents[one.player], turns[one.round]) for one in rows]
        texts = {DECISION: dict(zip(keys, (one.decision for one in rows), strict=True))}
        texts |= {
            kind: dict(zip(keys, texts_of_kind, strict=True))
            for kind, texts_of_kind in others.items()
        }
        mind = {one.player: one.mind for one in rows}
        row_of = {(one.player, one.round): one for one in rows}
        return cls(players, rounds, row_of, _minds([mind[player] for player in players], texts))


def digest(path: str | Path) -> str:
    """The SHA-256 of a file, which identifies the source in a recording.

    Args:
        path: the file.
    """
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _rows(table: pd.DataFrame, named: Mapping[str, str], values: Mapping[str, Any]) -> list[_Given]:
    """The decisions of a table, one each."""
    if not len(table):
        raise UsageError("The table has no row.")
    texts = {field: named.get(field, field) for field in FIELDS}
    present = {name: name in named or name in table.columns for name in FIELDS}
    if not present[DECISION]:
        raise UsageError(_no_column(table, DECISION))
    decisions = _several(table, texts[DECISION])
    n = len(decisions)
    run = _texts(table, texts[RUN]) if present[RUN] else ["0"] * len(table)
    times = _texts(table, texts[ROUND]) if present[ROUND] else ["0"] * len(table)
    if present[PLAYER]:
        players = _several(table, texts[PLAYER], n)
    elif n > 1:
        players = [[str(k + 1)] * len(table) for k in range(n)]
    else:
        counts: dict[tuple[str, str], int] = {}
        players_of_row = []
        for key in zip(run, times, strict=True):
            counts[key] = counts.get(key, 0) + 1
            players_of_row.append(str(counts[key]))
        players = [players_of_row]
    unnamed = [[UNNAMED] * len(table)] * n
    minds = _several(table, texts[MIND], n) if present[MIND] else unnamed
    indexed = table.index.min() >= HEADER  # of `read_table`
    lines = [int(n) for n in table.index] if indexed else list(range(HEADER, len(table) + HEADER))
    rows = []
    for line in range(len(table)):
        time = _number(times[line])
        if time is None:
            raise UsageError(
                f"Line {lines[line]}: the round must be a number, not {times[line]!r}."
            )
        for k in range(n):
            text = decisions[k][line]
            rows.append(
                _Given(
                    line, lines[line], run[line], time, players[k][line],
                    minds[k][line] or UNNAMED, str(values.get(text, text)),
                )
            )  # fmt: skip
    return rows


def _check_once(given: Sequence[_Given]) -> None:
    """Refuse a repeated decision."""
    first: dict[tuple[str, float, str], int] = {}
    twice = []
    for one in given:
        key = one.run, one.round, one.player
        if key in first:
            twice.append(f"line {one.line} (as line {first[key]})")
        first.setdefault(key, one.line)
    if twice:
        shown = ", ".join(twice[:EXAMPLES])
        raise UsageError(
            f"{len(twice):,} decision{' is' if len(twice) == 1 else 's are'} there twice, with the "
            f"same run, round and player: {shown}. Name more columns for the run, such as --map "
            "run=MODEL+RUN, or the column of the player."
        )


def _conditions(given: Sequence[_Given], texts: Sequence[str]) -> dict[str, str]:
    """Run → its condition.

    Raises:
        UsageError: when rows of one run have different conditions.
    """
    conditions: dict[str, str] = {}
    for one in given:
        text = texts[one.row]
        if conditions.setdefault(one.run, text) != text:
            raise UsageError(
                f"Line {one.line}: the run {one.run} has two conditions, {conditions[one.run]!r} "
                f"and {text!r}. Name more columns for the run, such as --map run=SESSION+TREATMENT."
            )
    return conditions


def _players(rows: Sequence[_Given]) -> list[str]:
    """The players of a run, in the order of their numbers, grouped by mind."""
    names = dict.fromkeys(one.player for one in rows)
    mind = {one.player: one.mind for one in rows}
    if all(_number(name) is not None for name in names):
        names = dict.fromkeys(sorted(names, key=lambda name: _number(name) or 0.0))
    places = {name: i for i, name in enumerate(dict.fromkeys(mind[name] for name in names))}
    return sorted(names, key=lambda name: places[mind[name]])


def _minds(labels: Sequence[str], texts: Mapping[str, Mapping[tuple[int, int], str]]) -> Any:
    """The minds of the players, in the form of the parameter `minds`."""
    givers = {label: _Giver(label, texts) for label in dict.fromkeys(labels)}
    return {giver: labels.count(label) for label, giver in givers.items()}


def _fixed(scenario: Callable[..., Any]) -> dict[str, Any]:
    """Parameters that a table needs to be played without changes."""
    known = inspect.signature(scenario).parameters
    defaults = {"labels": "names", "continuation": 0.0}
    return {"max_attempts": 1, **{name: defaults[name] for name in defaults if name in known}}


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    """Remove a recording that a failed import created; an older one stays."""
    known = path.exists()
    try:
        yield
    except BaseException:
        if not known:
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)
        raise


def _size_of(scenario: Callable[..., Any]) -> str:
    known = inspect.signature(scenario).parameters
    size = next((name for name in SIZES if name in known), None)
    if size is None:
        raise UsageError(
            "A table can be imported only for scenarios whose agents are players or firms."
        )
    return size


def _refused(path: str | Path, played: Sequence[_Played]) -> list[tuple[str, _Given]]:
    """The decisions of the table that are invalid, with the reasons."""
    runs = {one.run: one for one in played}
    with open_for_reading(path, check=False) as connection:
        asks = connection.execute(_ASKS, DECIDES).fetchall()
    refused = []
    turns: dict[tuple[int, int], int] = {}
    for run, agent, valid, reason in asks:
        turn = turns[run, agent] = turns.get((run, agent), -1) + 1
        if valid or run not in runs:
            continue
        one = runs[run]
        row = one.decisions.get((one.players[agent - 1], one.rounds[turn]))
        if row is not None:
            refused.append((str(reason), row))
    return refused


def _problems(refused: Sequence[tuple[str, _Given]]) -> list[str]:
    """One line for each kind of problem: how often, why, and where."""
    kinds: dict[str, list[tuple[str, _Given]]] = {}
    for reason, row in refused:
        kind = "" if not row.decision else re.sub(r"-?\d+(\.\d+)?|'[^']*'", "…", reason)
        kinds.setdefault(kind, []).append((reason, row))
    lines = []
    for rows in kinds.values():
        reason, first = rows[0]
        n = f"{len(rows):,} decision{' is' if len(rows) == 1 else 's are'}"
        where = ", ".join(
            f"line {row.line}: {row.decision or 'empty'}" for _, row in rows[:EXAMPLES]
        )
        more = ", …" if len(rows) > EXAMPLES else ""
        why = f" ({' '.join(reason.split())})" if first.decision else ""
        lines.append(f"{n} no legal answer, recorded as invalid: {where}{more}{why}")
    return lines


def _texts(table: pd.DataFrame, columns: str) -> list[str]:
    """The texts of a column, or of several joined ones."""
    names = [columns] if columns in table.columns else columns.split(JOINED)
    for name in names:
        if name not in table.columns:
            raise UsageError(_no_column(table, name))
    parts = [[_text(value) for value in table[name]] for name in names]
    return [" ".join(row) for row in zip(*parts, strict=True)]


def _several(table: pd.DataFrame, columns: str, n: int | None = None) -> list[list[str]]:
    """The texts of the columns of several players of one row."""
    names = [columns] if columns in table.columns else columns.split(WIDE)
    if n is not None and len(names) == 1:
        names = names * n
    if n is not None and len(names) != n:
        raise UsageError(
            f"{columns} names {len(names)} columns, and there are {n} columns of decisions."
        )
    return [_texts(table, name) for name in names]


def _no_column(table: pd.DataFrame, name: str, option: str = "--map FIELD=COLUMN") -> str:
    listed = ", ".join(map(str, table.columns))
    return f"The table has no column {name!r}; it has {listed}. Name another one: {option}."


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _value(text: str) -> object:
    """The text as a number if it is one, otherwise the text."""
    number = _number(text)
    if number is None:
        return text
    return int(number) if number == int(number) else number
