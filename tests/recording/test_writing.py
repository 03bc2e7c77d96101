"""The thread that writes rows to a recording."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from sabm_mesa.errors import RecordingError
from sabm_mesa.recording import writing
from tests.core.support import rows


class Counted(sqlite3.Connection):
    """A connection that knows how many rows came at once."""

    most = 0

    def executemany(self, sql, given):
        type(self).most = max(self.most, len(given))
        return super().executemany(sql, given)


ROW = ("INSERT INTO kept VALUES (?)", [1])


def new_writer(path) -> writing.BatchWriter:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE kept (number INTEGER NOT NULL)")
    return writing.BatchWriter(
        path, lambda: sqlite3.connect(path, isolation_level=None, factory=Counted)
    )


def test_who_brings_rows_faster_than_they_are_written_waits(tmp_path, monkeypatch) -> None:
    """All rows are written, and never more than a few wait: the writer takes them all at once."""
    monkeypatch.setattr(writing, "COMMIT_AT", 3)
    monkeypatch.setattr(Counted, "most", 0)
    path = tmp_path / "r.sqlite"
    busy = new_writer(path)
    for _ in range(500):
        busy.add(ROW)
    busy.close()

    assert rows(path, "SELECT count(*) FROM kept") == [(500,)]
    assert 1 <= Counted.most <= 3


def bring_until_refused(busy: writing.BatchWriter, bad: tuple) -> None:
    while True:
        busy.add(bad)


def test_who_waits_for_room_hears_that_the_recording_failed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(writing, "COMMIT_AT", 1)
    busy = new_writer(tmp_path / "r.sqlite")

    with pytest.raises(RecordingError, match="Cannot write the recording"):
        bring_until_refused(busy, (ROW[0], [None]))
    with pytest.raises(RecordingError):
        busy.close()


def test_who_is_cancelled_takes_nobody_along_who_waits_for_the_same_commit(tmp_path) -> None:
    busy = new_writer(tmp_path / "r.sqlite")

    async def three() -> list[str]:
        waiting = [asyncio.ensure_future(busy.committed()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        return [type(each).__name__ for each in done]

    assert asyncio.run(three()) == ["NoneType", "CancelledError", "NoneType"]
    busy.close()
