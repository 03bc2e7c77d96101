"""`sabm export`: the files, what they give back, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa import Recording, ScriptedMind, action, communication
from sabm_mesa.core.answers import Reply
from sabm_mesa.recording.export import csv_of, for_spreadsheet
from sabm_mesa.recording.frames import Recorded
from tests.core.support import Priced, tiny

from .support import Sabm, one_line

NAMES = ["runs", "asks", "decisions", "model_data", "agent_data", "messages"]
KINDS = ["csv", "jsonl"]
HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1+2",
    "@SUM(1)",
    'He said: "yes, no"',
    "two\nlines",
    "a\r\nb",
    "lone\rreturn",
    "\n",
    " blanks around ",
    "'",
    '"',
    ",;\t|",
    "😀 ä “quoted” \u202e \u2028 \u2029 \ufeff",
    "\x1b[31mred\x1b[0m\x07\x08\x7f\x9b",
    "\\n \\\\ \\u0041",
    "<b>bold</b> & {placeholder}",
    "NA",
    "null",
    "007",
    "1e5",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run whose agents say one hostile text each, and whose prices are not known."""
    path = tmp_path / "rec" / "r.sqlite"

    def said(ask):
        return Reply(HOSTILE[ask.key.agent - 1], cost_usd=math.nan, request="f00d")

    model = tiny(communication(), n=len(HOSTILE), minds=ScriptedMind(said), rng=1, recording=path)
    model.step()
    return path


def read(file: Path) -> pd.DataFrame:
    if file.suffix == ".csv":
        # Texts as they stand there; a missing one is an empty one in CSV.
        texts = {"value": str} if file.stem in ("asks", "decisions") else {}
        return pd.read_csv(file, na_values=[""], keep_default_na=False, dtype=texts)
    with file.open(encoding="utf-8", newline="\n") as lines:
        return pd.DataFrame([json.loads(line) for line in lines])


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_hold_the_frames(sabm: Sabm, path: Path, kind: str) -> None:
    outcome = sabm("export", path, "--to", kind, "--messages")
    assert (outcome.status, outcome.err) == (0, "")
    folder = path.parent / "export"
    assert sorted(file.name for file in folder.iterdir()) == sorted(f"{n}.{kind}" for n in NAMES)
    n, attempts = len(HOSTILE), len(Recorded(path).asks())
    assert outcome.out == (
        f"Written to {folder}: runs.{kind} (1 row), asks.{kind} ({attempts} rows), "
        f"decisions.{kind} ({n} rows), model_data.{kind} (1 row), agent_data.{kind} ({n} rows), "
        f"messages.{kind} ({n - 1} rows)\n"
    )

    for name, frame in Recorded(path).frames(messages=True).items():
        assert_holds(folder / f"{name}.{kind}", frame)


def assert_holds(file: Path, frame: pd.DataFrame) -> None:
    found = read(file)
    assert list(found.columns) == list(frame.columns)
    expected = frame
    if file.suffix == ".csv":
        texts = {name: frame[name].map(_shown) for name in frame.select_dtypes(["object", "str"])}
        expected = frame.assign(**texts).replace("", None)
    pd.testing.assert_frame_equal(
        found.astype(object).where(found.notna(), None),
        expected.astype(object).where(expected.notna(), None),
        check_exact=True,
    )


def _shown(value: object) -> object:
    return for_spreadsheet(value) if isinstance(value, str) else value


ODD = {
    "late": [1, 2, 3, None],
    "half": [1, 2, 3, 4.5],
    "flag": [True, False, True, None],
    "word": [None, None, "a", "b"],
    "nothing": [None, None, None, None],
    "mixed": [1, 2, "two", None],
    "lists": [[1], None, [2, 3], []],
    "huge": [1, 2, 3, 2**70],
}


def test_any_reader_of_csv_sees_the_texts(sabm: Sabm, path: Path) -> None:
    sabm("export", path)
    with (path.parent / "export" / "asks.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert [row["raw"] for row in rows if row["attempt"] == "0"] == [
        for_spreadsheet(text) for text in HOSTILE
    ]
    assert {row["cost_usd"] for row in rows} == {""}


def test_another_folder_and_json(sabm: Sabm, path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "to" / "there"
    outcome = sabm("export", path, "--to", "jsonl", "--out", folder, "--json")
    assert json.loads(outcome.out) == {
        "recording": str(path),
        "files": [str(folder / f"{name}.jsonl") for name in NAMES],
        "rows": {name: len(frame) for name, frame in Recorded(path).frames().items()},
    }
    assert not (path.parent / "export").exists()


"""Column → values of four rounds, whose type shows late."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_of_several_runs(sabm: Sabm, path: Path, kind: str) -> None:
    """The runs have other columns, questions asked three times, and rounds of odd data."""
    for seed in (1, 2):
        tiny(
            communication(), action(), n=3, n_rounds=4, rng=seed, recording=path,
            minds=Priced(lambda ask: "about 7" if ask.key.agent == 2 else "3"),
        ).run_model()  # fmt: skip
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET model_columns = ? WHERE run = 1", [json.dumps([*ODD])])
        for round_, values in enumerate(zip(*ODD.values(), strict=True)):
            connection.execute(
                "UPDATE model_data SET data = ? WHERE run = 1 AND round = ?",
                [json.dumps(values), round_],
            )
    frames = Recorded(path).frames(messages=True)
    assert sabm("export", path, "--to", kind, "--messages").status == 0
    if kind != "jsonl":  # which has values as they are
        odd = frames["model_data"]
        for name, texts in {
            "mixed": ["1", "2", "two", None],
            "lists": ["[1]", None, "[2,3]", "[]"],
            "huge": ["1", "2", "3", str(2**70)],
        }.items():
            odd[name] = [None, *texts, *[None] * 4]
    for name, frame in frames.items():
        if kind == "csv" and name == "model_data":
            continue  # texts of CSV are stated below
        assert_holds(path.parent / "export" / f"{name}.{kind}", frame)
    if kind == "csv":
        with (path.parent / "export" / "model_data.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))[1:5]
        assert [tuple(row[name] for name in ODD) for row in rows] == [
            ("1.0", "1.0", "True", "", "", "1", "[1]", "1"),
            ("2.0", "2.0", "False", "", "", "2", "", "2"),
            ("3.0", "3.0", "True", "a", "", "two", "[2,3]", "3"),
            ("", "4.5", "", "b", "", "", "[]", str(2**70)),
        ]


def test_files_are_replaced_whole(sabm: Sabm, path: Path) -> None:
    sabm("export", path)
    folder = path.parent / "export"
    before = (folder / "asks.csv").read_bytes()
    tiny(n=2, minds="fixed:1", rng=1, recording=path).step()
    sabm("export", path)
    assert (folder / "asks.csv").read_bytes().startswith(before)
    assert {file.suffix for file in folder.iterdir()} == {".csv"}
    assert len(list(folder.iterdir())) == 6

    before = {file: file.read_bytes() for file in folder.iterdir()}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE agent_data SET data = '[[1]]' WHERE run = 1")
    outcome = sabm("export", path)
    assert outcome.status == 1
    assert "is not a usable recording" in one_line(outcome)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_a_folder_that_cannot_be_written(sabm: Sabm, path: Path) -> None:
    outcome = sabm("export", path, "--out", path / "below", "--json")
    assert outcome.status == 1
    assert one_line(outcome) == (
        f"Cannot write {path / 'below'} (Not a directory): choose another folder."
    )
    assert json.loads(outcome.out)["exit_status"] == 1


def test_a_recording_that_is_being_written(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    model = tiny(n=20, n_rounds=60, minds=Priced(lambda _: "1"), rng=1, recording=path)
    model.begin()
    writer = threading.Thread(target=model.run_model)
    writer.start()
    seen = []
    while True:
        going = writer.is_alive()
        outcome = sabm("export", path, "--json")
        assert outcome.status == 0, outcome.err
        rows = json.loads(outcome.out)["rows"]
        run = pd.read_csv(tmp_path / "export" / "runs.csv").iloc[0]
        assert (run["asks"], run["rounds"]) == (rows["decisions"], rows["model_data"])
        assert rows["agent_data"] == 20 * rows["model_data"]
        assert rows["asks"] >= rows["agent_data"]
        seen.append((run["status"], rows["asks"]))
        if not going:
            break
    writer.join()

    assert [asks for _, asks in seen] == sorted(asks for _, asks in seen)
    assert seen[-1] == ("finished", 20 * 60)
    assert {status for status, _ in seen} <= {"running", "finished"}
    assert seen[0][0] == "running"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_recording(sabm: Sabm, tmp_path: Path, kind: str) -> None:
    Recording(tmp_path / "r.sqlite").close()
    outcome = sabm("export", tmp_path / "r.sqlite", "--to", kind)

    assert outcome.status == 0
    assert outcome.out.count("(0 rows)") == 6


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1", ' "=1+1']
CELLS = ["5;=1+1", "5\n-1+cmd", "5\t@a", '5;"=1+1"']
HARMLESS = [
    "-5",
    "a, -1",
    "+5.5e-3",
    "5-3",
    "a=b",
    "me@example.org",
    "a = b =",
    "",
    "1 - 2",
]


@pytest.fixture
def formulas(tmp_path: Path) -> Path:
    """A run whose agents say one text each that a spreadsheet could compute, or could not."""
    texts = [*FORMULAS, *CELLS, *HARMLESS[:-3]]
    path = tmp_path / "formulas.sqlite"
    mind = ScriptedMind(lambda ask: Reply(texts[ask.key.agent - 1]))
    model = tiny(communication(), n=len(texts), minds=mind, rng=1, recording=path)
    model.step()
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_spreadsheet_computes_no_text_of_an_agent(
    sabm: Sabm, formulas: Path, kind: str, tmp_path: Path
) -> None:
    assert sabm("export", formulas, "--to", kind, "--out", tmp_path).status == 0
    found = read(tmp_path / f"asks.{kind}")["raw"].tolist()

    said = [*FORMULAS, *CELLS, *HARMLESS[:-3]]
    if kind != "csv":
        assert found == said
        return
    ours = dict(zip(said, found, strict=True))
    assert [ours[text] for text in HARMLESS[:-3]] == HARMLESS[:-3]
    for text in [*FORMULAS, *CELLS]:
        assert ours[text].replace("'", "") == text
        for separator in (";", "\t", "\r", "\n"):
            for cell in ours[text].split(separator):
                assert not cell.strip(' "').startswith(("=", "+", "-", "@", "\uff1d")), cell


def test_tables_of_people_are_safe_in_a_spreadsheet() -> None:
    frame = pd.DataFrame({"=cmd": FORMULAS, "n": -1.5})
    shown = pd.read_csv(io.StringIO(csv_of(frame)), keep_default_na=False)

    assert shown.columns.tolist() == ["'=cmd", "n"]
    assert shown["n"].tolist() == [-1.5] * len(FORMULAS)
    assert all("'" in text for text in shown["'=cmd"])
    harmless = pd.DataFrame({"text": HARMLESS})
    assert csv_of(harmless) == harmless.to_csv(index=False)
