"""Search of a recording: words of messages, answers, thoughts and requests, and facts of asks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sabm_mesa.recording.store import open_for_reading, reporting_damage

ANSWERED, THOUGHT, SAID, SENT = "answered", "thought", "said", "sent"
AROUND = 90
"""Characters of an excerpt on each side of the first word that was found."""
COUNTED = 10_000
"""The maximum number of counted hits; a search stops counting there and says so."""
_PIECES = re.compile(r'"([^"]*)"|(\S+)')
_FACTS = "run, round, phase, agent, call, attempt, valid, read_as"
_TEXTS = {
    ANSWERED: f"SELECT {_FACTS}, raw || ' ' || reason AS text FROM answers",
    THOUGHT: f"SELECT {_FACTS}, thoughts AS text FROM answers WHERE thoughts <> ''",
    SAID: """
        SELECT run, round, json_extract(value, '$[2]') AS phase,
            json_extract(value, '$[0]') AS agent, key AS call, 0 AS attempt, NULL AS valid,
            NULL AS read_as, json_extract(value, '$[5]') AS text
        FROM message_data, json_each(data)
    """,
    # Each message at its first use.
    SENT: f"""
        SELECT {_FACTS}, text FROM (
            SELECT answers.*, json_extract(sent.value, '$[1]') AS hash, row_number() OVER (
                PARTITION BY json_extract(sent.value, '$[1]')
                ORDER BY run, round, phase, agent, call, attempt
            ) AS uses
            FROM answers, json_each(messages) AS sent
        ) JOIN texts USING (hash) WHERE uses = 1
    """,
}
"""Kind → its texts, and where they are: raw answers, with the reason of an invalid one; private
thoughts; messages to others; messages of requests."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A text in which the words were found, or an attempt that has the facts.

    Attributes:
        kind: `ANSWERED`, `THOUGHT`, `SAID` or `SENT`.
        run: the number of the run.
        round: the round, from 0.
        phase: the phase.
        agent: the asked agent, or the sender.
        call: the number of the agent's ask in the phase; for a message its number in the round,
            from 0.
        attempt: the number of the attempt, from 0.
        valid: whether the attempt is valid; None for a message.
        read_as: the step that read it, or None.
        excerpt: alternating texts: outside and inside the search words.
    """

    kind: str
    run: int
    round: int
    phase: str
    agent: int
    call: int
    attempt: int
    valid: bool | None
    read_as: str | None
    excerpt: tuple[str, ...]


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        total: the number of all hits; with `more`, the number of counted ones: `COUNTED`, or those
            up to the end of the page.
        hits: the hits of the page, in the order of runs, rounds, phases and agents.
        more: whether there are more hits than `total`.
    """

    total: int
    hits: list[Hit]
    more: bool


def find(
    path: str | Path,
    words: str = "",
    *,
    kind: str | None = None,
    run: int | None = None,
    phase: str | None = None,
    agent: int | None = None,
    valid: bool | None = None,
    read_as: str | None = None,
    start: int = 0,
    most: int = 50,
) -> SearchResult:
    """Find texts with all words, or attempts when there are no words.

    Args:
        words: words or parts of them, and phrases in quotation marks; the case of A to Z does not
            count.
        start: number of hits to skip.
        most: the maximum number of hits of the page.

    Raises:
        RecordingError: when the recording cannot be read.
    """
    pieces = [phrase or word for phrase, word in _PIECES.findall(words.replace("\0", " "))]
    kinds = [kind] if kind is not None else [*_TEXTS] if pieces else [ANSWERED]
    wanted = {"run": run, "phase": phase, "agent": agent, "valid": valid, "read_as": read_as}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    where = ["text <> ''", *(f"{name} = :{name}" for name in given)]
    for number, piece in enumerate(pieces):
        where.append(f"instr(lower(text), lower(:piece_{number}))")
        given[f"piece_{number}"] = piece
    condition = " AND ".join(where)
    texts = " UNION ALL ".join(
        f"SELECT '{one}' AS kind, * FROM ({_TEXTS[one]}) WHERE {condition}" for one in kinds
    )
    page = f"{texts} ORDER BY run, round, phase, agent, call, attempt LIMIT {most} OFFSET {start}"
    counted = max(COUNTED, start + most)
    with reporting_damage(Path(path)), open_for_reading(path, check=False) as connection:
        ((total,),) = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM ({texts}) LIMIT {counted + 1})", given
        ).fetchall()
        rows = [dict(row) for row in connection.execute(page, given)]
    marked = re.compile("|".join(map(re.escape, pieces)), re.IGNORECASE) if pieces else None
    hits = []
    for row in rows:
        row["valid"] = None if row["valid"] is None else bool(row["valid"])
        excerpt = _excerpt(row.pop("text"), marked)
        hits.append(Hit(**row, excerpt=excerpt))
    return SearchResult(min(total, counted), hits, total > counted)


def _excerpt(text: str, marked: re.Pattern[str] | None) -> tuple[str, ...]:
    """A part of a text around its first mark, as alternating unmarked and marked texts."""
    text = " ".join(text.split())
    first = marked.search(text) if marked else None
    begin = max(first.start() - AROUND, 0) if first else 0
    end = begin + 2 * AROUND + (len(first[0]) if first else 0)
    shown = ("… " if begin else "") + text[begin:end] + (" …" if end < len(text) else "")
    return tuple(re.split(f"({marked.pattern})", shown, flags=re.IGNORECASE) if marked else [shown])
