"""Imports decisions from other sources: the scenario is played with the decisions of a table.

A table has one row per decision (long), or one row per round of several players (wide). It becomes
recorded runs without prompts. The rules of the scenario check the decisions and compute their
consequences (payoffs, means, stocks). An illegal or missing decision is recorded as invalid, and
its kind is reported.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.errors import UsageError, one_line
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.writing import Recording

if TYPE_CHECKING:
    from sabm_mesa.core.asks import Ask

RUN, ROUND, PLAYER, DECISION, MIND = "run", "round", "player", "decision", "mind"
CONDITION = "condition"
FIELDS = (RUN, ROUND, PLAYER, DECISION, MIND, CONDITION)
DECIDES = ("act", "move")
"""The questions whose answers are decisions."""
HEADER = 2
"""The number of the line of a file in which the first row is."""
WIDE, JOINED = "|", "+"
EXAMPLES = 3
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


def read_table(file: Path) -> pd.DataFrame:
    """Read a table with all values as texts.

    Returns:
        The rows, with the number of their line as index.

    Raises:
        UsageError: when the file cannot be read as a table.
    """
    try:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or one_line(str(error))
        raise UsageError(f"Cannot read {file} as a table: {why}.") from None
    table.index = pd.RangeIndex(HEADER, len(table) + HEADER)
    return table


def import_table(
    table: pd.DataFrame,
    scenario: Any,
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    source: str = "",
) -> Imported:
    """Record the decisions of a table as runs of a scenario.

    Args:
        scenario: the model class; its `score` names the parameter for the number of agents.
        columns: field → its column. Fields are ``run`` (several columns joined by ``+``; without
            one all rows are one run), ``round`` (without one there is a single round), ``player``
            (without one each row of a round is another player), ``decision``, ``mind`` (who
            decided), ``condition`` (the treatment of a run, which becomes its tag), and the name of
            any other question. Several columns separated by ``|`` are as many players of one row. A
            field is its own column by default; ``condition`` only when it is named.
        values: a value of the decision column → the scenario's value.
        parameters: the parameters of the scenario; by default the table gives the numbers of
            players and rounds.

    Raises:
        UsageError: for a missing column, an empty table, or a repeated decision; then nothing is
            recorded.
        SabmError: when the scenario cannot be played with these parameters.
    """
    named = dict(columns or {})
    rows = _decisions(table, named, values or {})
    _check_once(rows)
    conditions = _conditions(rows) if CONDITION in named else {}
    kinds = [DECISION, *(name for name in named if name not in FIELDS)]
    if scenario.score is None:
        raise UsageError(
            f"{scenario.scenario_name} has no score, which names the parameter for the number of "
            "agents: set the class attribute score = Score(…) to import a table."
        )
    settings = {"max_attempts": 1, **scenario.study.import_settings, **dict(parameters or {})}
    runs = {str(name): _placed(of_run) for name, of_run in rows.groupby(RUN, sort=False)}

    def made(of_run: pd.DataFrame, recording: Recording | bool) -> Any:
        of_players = of_run.drop_duplicates("agent").sort_values("agent")
        labels = of_players[MIND].tolist()
        keys = list(zip(of_run["agent"], of_run["turn"], strict=True))
        texts = {kind: dict(zip(keys, of_run[kind], strict=True)) for kind in kinds}
        minds = {_Giver(label, texts): labels.count(label) for label in dict.fromkeys(labels)}
        given = {scenario.score.size: len(labels), "n_rounds": of_run["turn"].nunique(), **settings}
        return scenario(**given, minds=minds, rng=0, recording=recording)

    made(next(iter(runs.values())), False).close()  # wrong parameters leave no recording
    missing = 0
    with _removed_on_failure(Path(path)), Recording(path, durable=False) as recording:
        for name, of_run in runs.items():
            model = made(of_run, recording)
            model.tags = {"imported": source or "a table", "run": name}
            if name in conditions:
                model.tags = {**model.tags, CONDITION: conditions[name]}
            try:
                model.run_model()
            finally:
                model.close()
            of_run["number"] = model.recorder.run
            missing += of_run["agent"].nunique() * of_run["turn"].nunique() - len(of_run)
    refused = _refused(path, pd.concat(list(runs.values())))
    problems = _problems(refused)
    if missing:
        problems.append(
            f"{missing:,} decision{' is' if missing == 1 else 's are'} missing: players without a "
            "row in a round of their run; recorded as invalid."
        )
    return Imported(len(runs), len(rows) - len(refused), tuple(problems))


def digest(path: str | Path) -> str:
    """The SHA-256 of a file, which identifies the source in a recording."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _decisions(
    table: pd.DataFrame, named: Mapping[str, str], values: Mapping[str, Any]
) -> pd.DataFrame:
    """The decisions of a table, one per row: their line, the fields, and other answers, as texts.

    The column of the round has numbers.
    """
    if not len(table):
        raise UsageError("The table has no row.")
    if DECISION not in named and DECISION not in table:
        raise UsageError(_no_column(table, DECISION))
    n = len(_names(table, named.get(DECISION, DECISION)))
    indexed = table.index.min() >= HEADER  # of `read_table`
    lines = table.index if indexed else range(HEADER, len(table) + HEADER)
    parts = [pd.DataFrame({"line": lines}) for _ in range(n)]
    for field in dict.fromkeys([*FIELDS, *named]):
        given = field in named or field in table
        names = _names(table, named.get(field, field)) if given else [""]
        if len(names) not in {1, n}:
            raise UsageError(
                f"{named[field]} names {len(names)} columns, and there are {n} columns of "
                "decisions."
            )
        for k, part in enumerate(parts):
            if given:
                part[field] = _texts(table, names[k % len(names)])
            elif field == PLAYER and n == 1:
                part[field] = (part.groupby([RUN, ROUND]).cumcount() + 1).map(str)
            else:
                part[field] = {PLAYER: str(k + 1), MIND: UNNAMED}.get(field, "0")
    rows = pd.concat(parts).sort_values("line", kind="stable", ignore_index=True)
    rounds = rows[ROUND].map(_number)
    if rounds.isna().any():
        first = rows[rounds.isna()].iloc[0]
        raise UsageError(f"Line {first['line']}: the round must be a number, not {first[ROUND]!r}.")
    rows[ROUND] = rounds
    rows[DECISION] = [str(values.get(text, text)) for text in rows[DECISION]]
    rows[MIND] = [text or UNNAMED for text in rows[MIND]]
    return rows


def _check_once(rows: pd.DataFrame) -> None:
    """Refuse a repeated decision."""
    keys = [RUN, ROUND, PLAYER]
    twice = rows[rows.duplicated(keys)]
    if not len(twice):
        return
    twice = twice.assign(first=rows.groupby(keys)["line"].transform("first"))
    shown = ", ".join(
        f"line {row['line']} (as line {row['first']})"
        for row in twice.head(EXAMPLES).to_dict("records")
    )
    raise UsageError(
        f"{len(twice):,} decision{' is' if len(twice) == 1 else 's are'} there twice, with the "
        f"same run, round and player: {shown}. Name more columns for the run, such as --map "
        "run=MODEL+RUN, or the column of the player."
    )


def _conditions(rows: pd.DataFrame) -> dict[str, str]:
    """Run → its condition.

    Raises:
        UsageError: when rows of one run have different conditions.
    """
    first = rows.groupby(RUN)[CONDITION].transform("first")
    other = rows[rows[CONDITION] != first]
    if len(other):
        row = other.iloc[0]
        raise UsageError(
            f"Line {row['line']}: the run {row[RUN]} has two conditions, {first[other.index[0]]!r} "
            f"and {row[CONDITION]!r}. Name more columns for the run, such as --map "
            "run=SESSION+TREATMENT."
        )
    return dict(zip(rows[RUN], rows[CONDITION], strict=True))


def _placed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a run with the id of each player (``agent``) and the ``turn`` of each round.

    Players are in the order of their numbers, grouped by mind.
    """
    names = list(dict.fromkeys(rows[PLAYER]))
    mind = dict(zip(rows[PLAYER], rows[MIND], strict=True))
    if all(_number(name) is not None for name in names):
        names.sort(key=lambda name: _number(name) or 0.0)
    places = {label: i for i, label in enumerate(dict.fromkeys(mind[name] for name in names))}
    names.sort(key=lambda name: places[mind[name]])
    agents = {name: number for number, name in enumerate(names, 1)}
    turns = {time: turn for turn, time in enumerate(sorted(set(rows[ROUND])))}
    return rows.assign(agent=rows[PLAYER].map(agents), turn=rows[ROUND].map(turns))


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


def _refused(path: str | Path, rows: pd.DataFrame) -> pd.DataFrame:
    """The decisions of the table that are invalid, with the ``reason`` of each."""
    decisions = Recorded(path).decisions().sort_values(["run", "agent", "round", "call"])
    asks = decisions[decisions["name"].isin(DECIDES) & decisions["final"]]
    asks = asks[["run", "agent", "valid", "reason"]].rename(columns={"run": "number"})
    asks["turn"] = asks.groupby(["number", "agent"]).cumcount()
    return asks[~asks["valid"]].merge(rows, on=["number", "agent", "turn"])


def _problems(refused: pd.DataFrame) -> list[str]:
    """One line for each kind of problem: how often, why, and where."""
    kinds: dict[str, list[Any]] = {}
    for row in refused.to_dict("records"):
        kind = re.sub(r"-?\d+(\.\d+)?|'[^']*'", "…", row["reason"]) if row[DECISION] else ""
        kinds.setdefault(kind, []).append(row)
    lines = []
    for rows in kinds.values():
        n = f"{len(rows):,} decision{' is' if len(rows) == 1 else 's are'}"
        where = ", ".join(
            f"line {row['line']}: {row[DECISION] or 'empty'}" for row in rows[:EXAMPLES]
        )
        more = ", …" if len(rows) > EXAMPLES else ""
        why = f" ({' '.join(rows[0]['reason'].split())})" if rows[0][DECISION] else ""
        lines.append(f"{n} no legal answer, recorded as invalid: {where}{more}{why}")
    return lines


def _names(table: pd.DataFrame, columns: str) -> list[str]:
    """The columns of several players of one row, or one for all of them."""
    return [columns] if columns in table.columns else columns.split(WIDE)


def _texts(table: pd.DataFrame, columns: str) -> list[str]:
    """The texts of a column, or of joined columns."""
    joined = [columns] if columns in table.columns else columns.split(JOINED)
    for column in joined:
        if column not in table.columns:
            raise UsageError(_no_column(table, column))
    rows = zip(*(table[column] for column in joined), strict=True)
    return [" ".join(map(_text, row)) for row in rows]


def _no_column(table: pd.DataFrame, name: str) -> str:
    listed = ", ".join(map(str, table.columns))
    return (
        f"The table has no column {name!r}; it has {listed}. Name another one: --map FIELD=COLUMN."
    )


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
