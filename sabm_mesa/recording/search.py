"""Search of a recording: words of messages, answers, thoughts and requests, and facts of asks.

The recording is only read. Its index is a temporary database of this process, in an unnamed file
that SQLite removes with the process. It uses FTS5 without a copy of the texts (section 4.4 of
"SQLite FTS5 Extension", sqlite.org). An excerpt is read from the recording when it is shown. The
index of a large recording takes a while; the indexed part can be searched at once.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sabm_mesa.errors import ParameterError
from sabm_mesa.recording.store import open_for_reading, reporting_damage

ANSWERED, THOUGHT, SAID, SENT = "answered", "thought", "said", "sent"
KINDS = (ANSWERED, THOUGHT, SAID, SENT)
"""Raw answers, with the reason of an invalid one; private thoughts; messages to others; messages of
requests, each at its first use."""
AROUND = 90
"""Characters of an excerpt on each side of the first word that was found."""
COUNTED = 10_000
"""The maximum number of counted hits; a search stops counting there and says so."""
_KEY = "run = ? AND round = ? AND phase = ? AND agent = ? AND call = ? AND attempt = ?"
_ANSWER = "coalesce(raw, '') || ' ' || reason"
_PIECES = re.compile(r'"([^"]*)"|(\S+)')
_TABLES = """
CREATE TABLE places (
    id INTEGER PRIMARY KEY, kind TEXT, run INTEGER, round INTEGER, phase TEXT, agent INTEGER,
    call INTEGER, attempt INTEGER, valid INTEGER, read_as TEXT, text_hash TEXT
);
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize="unicode61 remove_diacritics 2"
);
"""
_FACTS = ("kind", "run", "round", "phase", "agent", "call", "attempt", "valid", "read_as")
_INSERT_PLACE = "INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ANSWERS = f"""
SELECT run, round, phase, agent, call, attempt, valid, read_as, messages, {_ANSWER}, thoughts
FROM asks WHERE (run, round, phase, agent, call, attempt) > (?, ?, ?, ?, ?, ?)
ORDER BY run, round, phase, agent, call, attempt LIMIT 2000
"""
_MESSAGES = """
SELECT run, round, json_extract(value, '$[2]'), json_extract(value, '$[0]'), key,
    json_extract(value, '$[5]')
FROM (
    SELECT * FROM message_data WHERE (run, round) > (?, ?) AND data <> '[]'
    ORDER BY run, round LIMIT 100
), json_each(data) ORDER BY run, round, key
"""
_TEXTS = (
    "SELECT hash, text FROM texts WHERE hash IN (SELECT value FROM json_each(?)) AND text <> '' "
    "ORDER BY rowid"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A text in which the words were found, or an attempt that has the facts.

    Attributes:
        kind: one of `KINDS`.
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
        searched: the number of texts that were searched.
        complete: whether these are all texts of the recording.
        more: whether there are more hits than `total`.
    """

    total: int
    hits: list[Hit]
    searched: int
    complete: bool
    more: bool


class Search:
    """An index of a recording, built during searches; its texts are not in memory.

    Args:
        path: the recording.

    Attributes:
        complete: whether all texts are in the index.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """Begin the index, with nothing in it."""
        # A name of no characters is a database of this connection alone, on disk when it is large.
        self._index = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._index.close)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -32768"):
            self._index.execute(f"PRAGMA {pragma}")
        self._index.executescript(_TABLES)
        self.complete = False
        self._texts = 0
        self._last_ask: Sequence[Any] = (-1, -1, "", -1, -1, -1)
        self._last_round: Sequence[Any] = (-1, -1)
        self._sent = set[str]()

    def find(
        self,
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
        patience: float = math.inf,
    ) -> SearchResult:
        """Find texts with all words, or attempts when there are no words.

        Args:
            words: words, and phrases in quotation marks; the last word may be incomplete. Case and
                accents do not count.
            kind: only texts of this kind.
            run: only in this run.
            phase: only in this phase.
            agent: only of this agent.
            valid: only valid attempts, or only invalid ones.
            read_as: only attempts that this step read.
            start: number of hits to skip.
            most: the maximum number of hits of the page.
            patience: the longest time for indexing in seconds; the next search indexes the
                remaining texts.

        Raises:
            ParameterError: when the words have neither letters nor digits.
            RecordingError: when the recording cannot be read.
        """
        words = words.replace("\0", " ")  # which would end the expression
        sought = _expression(words)
        if not sought and kind is None:
            kind = ANSWERED
        wanted = {
            "kind": kind, "run": run, "phase": phase, "agent": agent, "valid": valid,
            "read_as": read_as,
        }  # fmt: skip
        given = {name: value for name, value in wanted.items() if value is not None}
        where = [f"{name} = :{name}" for name in given]
        looked_in, column = "places", "id"
        if sought:
            # The words alone are found without a look at their places.
            looked_in = "words JOIN places ON id = words.rowid" if where else "words"
            column = "words.rowid"
            where.append("words MATCH :words")
            given["words"] = sought
        condition = " AND ".join(where)
        with self._lock:
            self._index_more(patience)
            searched, complete = self._texts, self.complete
            counting = max(COUNTED, start + most)
            matching = self._index.execute(
                f"SELECT {column} FROM {looked_in} WHERE {condition} "
                f"ORDER BY {column} LIMIT :bound",
                {**given, "bound": counting + 1},
            ).fetchall()
            page = [number for (number,) in matching[start : start + most]]
            rows = self._index.execute(
                f"SELECT {', '.join(_FACTS)}, text_hash FROM places "
                "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
                [json.dumps(page)],
            ).fetchall()
        marked = _pattern(words)
        with reporting_damage(self.path), open_for_reading(self.path, check=False) as source:
            source.row_factory = None
            texts = [_text(source, row) for row in rows]
        hits = []
        for row, text in zip(rows, texts, strict=True):
            facts: dict[str, Any] = dict(zip(_FACTS, row[:-1], strict=True))
            facts["valid"] = None if row[7] is None else bool(row[7])
            hits.append(Hit(**facts, excerpt=_excerpt(text, marked)))
        return SearchResult(
            min(len(matching), counting), hits, searched, complete, len(matching) > counting
        )

    def _index_more(self, seconds: float) -> None:
        """Put texts into the index, at least some, until all are in it or the time is over."""
        if self.complete:
            return
        until = time.monotonic() + seconds
        with reporting_damage(self.path), open_for_reading(self.path, check=False) as source:
            source.row_factory = None
            source.execute("BEGIN")
            try:
                while not self.complete:
                    self._index_batch(source)
                    if time.monotonic() >= until:
                        break
            except BaseException:  # a part of the batch may be in the index: there is no way back
                self._index.close()
                self._begin()
                raise

    def _index_batch(self, source: sqlite3.Connection) -> None:
        """Put the next texts into the index, all of them in one transaction."""
        batch = [*self._answers(source)] or [*self._messages(source)]
        self.complete = not batch
        rows = [(self._texts + n, *row) for n, row in enumerate(batch, start=1)]
        self._index.execute("BEGIN")
        self._index.executemany(_INSERT_PLACE, [row[:-1] for row in rows])
        self._index.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)", [(row[0], row[-1]) for row in rows]
        )
        self._index.execute("COMMIT")
        self._texts += len(rows)

    def _answers(self, source: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        """The next rows of `places`, each with its answer, thought or request."""
        new: dict[str, Sequence[Any]] = {}
        for row in source.execute(_ANSWERS, self._last_ask).fetchall():
            *facts, messages, answer, thoughts = row
            self._last_ask = facts[:6]
            yield ANSWERED, *facts, None, answer
            if thoughts:
                yield THOUGHT, *facts, None, thoughts
            for _, digest in json.loads(messages) if messages else ():
                if digest not in self._sent:
                    self._sent.add(digest)
                    new[digest] = facts
        for digest, text in source.execute(_TEXTS, (json.dumps([*new]),)):
            yield SENT, *new[digest], digest, text

    def _messages(self, source: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        """The next rows of `places`, each with its message."""
        for *key, text in source.execute(_MESSAGES, self._last_round).fetchall():
            self._last_round = key[:2]
            yield SAID, *key, 0, None, None, None, text


def _text(source: sqlite3.Connection, row: Sequence[Any]) -> str:
    """The text of a hit, from the recording."""
    kind, *key = row[:7]
    if kind == SENT:
        query, given = "SELECT text FROM texts WHERE hash = ?", [row[9]]
    elif kind == SAID:
        query = (
            "SELECT json_extract(data, '$[' || ? || '][5]') FROM message_data "
            "WHERE run = ? AND round = ?"
        )
        given = [row[5], row[1], row[2]]
    else:
        text = _ANSWER if kind == ANSWERED else "thoughts"
        query, given = f"SELECT {text} FROM asks WHERE {_KEY}", key
    (column,) = source.execute(query, given).fetchone()
    return str(column)


def _expression(words: str) -> str:
    """Words as an expression of FTS5, which has its own operators; empty for none.

    Raises:
        ParameterError: when they have neither letters nor digits.
    """
    pieces = [(phrase or word, not phrase) for phrase, word in _PIECES.findall(words)]
    known = [(text, loose) for text, loose in pieces if any(map(str.isalnum, text))]
    if words.strip() and not known:
        raise ParameterError(f"{words.strip()!r} has no word or number to search for: type one.")
    quoted = ['"' + text.replace('"', "") + '"' for text, _ in known]
    return " ".join(quoted) + ("*" if known and known[-1][1] else "")


def _pattern(words: str) -> re.Pattern[str] | None:
    """The pattern of the marked words of an excerpt; None without words."""
    pieces = [re.escape(phrase or word.strip('"')) for phrase, word in _PIECES.findall(words)]
    return re.compile(rf"\b(?:{'|'.join(pieces)})", re.IGNORECASE) if any(pieces) else None


def _excerpt(text: str, marked: re.Pattern[str] | None) -> tuple[str, ...]:
    """A part of a text around its first mark, as alternating unmarked and marked texts."""
    text = " ".join(text.split())
    first = marked.search(text) if marked else None
    begin = max(first.start() - AROUND, 0) if first else 0
    end = begin + 2 * AROUND + (len(first[0]) if first else 0)
    shown = ("… " if begin else "") + text[begin:end] + (" …" if end < len(text) else "")
    return tuple(re.split(f"({marked.pattern})", shown, flags=re.IGNORECASE) if marked else [shown])
