"""Results are the same with the measures that make a million agents possible."""

import asyncio
import gc
import random
import re
import sqlite3
from contextlib import closing

import mesa
import pytest

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from sabm_mesa.core import engine
from sabm_mesa.core.jsonable import rows_to_json, to_json
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import RecordingError
from sabm_mesa.models.evacuation.room import Room
from sabm_mesa.recording import writing
from tests.core.support import rows, tiny


@pytest.fixture
def usual():
    """Python's thresholds of the collector; what a test before this one had set comes back."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_garbage_is_looked_for_more_rarely_while_agents_are_at_work(usual) -> None:
    with engine.relaxed_gc(2):
        assert gc.get_threshold() == (engine.GARBAGE_AT, *usual[1:])
    with engine.relaxed_gc(20_000):
        with engine.relaxed_gc(50_000):
            assert gc.get_threshold() == (1_000_000, *usual[1:])
        assert gc.get_threshold() == (400_000, *usual[1:])
    assert gc.get_threshold() == usual


def test_a_crowd_that_fails_leaves_the_collector_as_it_was(usual) -> None:
    with pytest.raises(ZeroDivisionError), engine.relaxed_gc(20_000):
        _ = 1 / 0
    assert gc.get_threshold() == usual


def test_a_collector_that_is_more_patient_or_off_stays_so(usual) -> None:
    gc.set_threshold(10**9, *usual[1:])
    with engine.relaxed_gc(20_000):
        assert gc.get_threshold()[0] == 10**9
    assert gc.get_threshold()[0] == 10**9
    gc.set_threshold(0)
    with engine.relaxed_gc(20_000):
        assert gc.get_threshold()[0] == 0


def test_crowds_that_end_in_another_order(usual) -> None:
    one, two = engine.relaxed_gc(20_000), engine.relaxed_gc(50_000)
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold()[0] == 1_000_000
    two.__exit__(None, None, None)
    assert gc.get_threshold() == usual


@pytest.mark.usefixtures("usual")
def test_what_agents_waited_with_is_gone_without_the_collector(tmp_path) -> None:
    class Slow:
        async def answer(self, _ask):
            await asyncio.sleep(0.01)
            return "7"

    model = tiny(n=300, n_rounds=2, minds=Slow(), rng=1, recording=tmp_path / "r.sqlite")
    model.step()
    gc.collect()
    gc.set_threshold(0)
    model.step()

    assert gc.collect() < 300


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


def test_many_rows_are_the_same_json_as_all_at_once() -> None:
    nan = float("nan")
    many = [(i, nan if i == 12_000 else i / 3, None, "ä", True) for i in range(25_000)]

    assert rows_to_json(many) == to_json(many)
    assert rows_to_json([]) == to_json([])


def test_the_records_of_agents_are_those_of_mesa() -> None:
    """Also of agents with whose asks something went wrong."""
    mind = ScriptedMind(lambda ask: "?" if ask.key.agent == 2 else "7")
    model = KeynesianBeautyContest(n_players=3, n_rounds=1, minds=mind, rng=1, recording=False)
    model.run_model()
    plain = mesa.DataCollector(agent_reporters=model.datacollector.agent_reporters)
    plain.collect(model)

    ours = model.datacollector.get_agent_vars_dataframe()
    assert ours.to_json(orient="values") == plain.get_agent_vars_dataframe().to_json(
        orient="values"
    )
    assert ours[["invalid", "reasks"]].to_numpy().tolist() == [[0, 0], [1, 2], [0, 0]]


def test_blank_lines_of_a_prompt_are_as_one_substitution_would_leave_them(tmp_path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[prompts]\nscenario = "{text}"\n', "utf-8")
    book, draw = PromptBook(path), random.Random(1)
    for _ in range(2000):
        text = "".join(draw.choices(" \t\na", k=draw.randrange(12)))
        expected = re.sub(r"[ \t]*\n(?:[ \t]*\n)+", "\n\n", text).strip()
        assert book.render("scenario", {"text": text}) == expected, repr(text)


def test_the_floor_field_in_rows_is_the_floor_field() -> None:
    room = Room(7, 9, obstacles=[(3, 3)])

    for name, field in zip(room.names, room.field, strict=True):
        assert room.way_down[name] == field.tolist()


def test_a_crowd_that_waits_is_asked_all_at_once(tmp_path) -> None:
    """Nobody is answered before everybody has been asked, and each answer is its own."""
    n, asked, over = 2000, [], asyncio.Event()

    class Patient:
        spec, instant, paid = "patient", False, False

        async def answer(self, ask):
            asked.append(ask.key.agent)
            if len(asked) == n:
                over.set()
            await over.wait()
            return ask.key.agent % 101

    path = tmp_path / "r.sqlite"
    model = KeynesianBeautyContest(n_players=n, n_rounds=1, minds=Patient(), rng=1, recording=path)
    model.run_model()

    assert asked == list(range(1, n + 1))
    assert [player.choice for player in model.players] == [i % 101 for i in range(1, n + 1)]
    assert rows(path, "SELECT count(*), sum(value) FROM asks") == [
        (n, sum(player.choice for player in model.players))
    ]
    assert model.in_flight == 0
    assert model.critical_path_asks == 1
