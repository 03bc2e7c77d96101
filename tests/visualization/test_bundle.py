"""`sabm bundle`: pages that hold every text of a recording, and lead nowhere else."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from sabm_mesa import Fishery, Recording, ScriptedMind, communication
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.recording import load_runs
from sabm_mesa.visualization.reading.bundle import RECORDING, write_bundle
from tests.core.support import tiny

HOSTILE = (
    "</p><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "{{ 7 * 7 }} {% raw %}",
    "😀 ä \u202e “quoted” & &amp;",
    "a line\x1b[31m and \x00 another",
)


class Page(HTMLParser):
    """The texts of a page, its ids, and the targets of its links and pictures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.text, self.ids, self.links = "", set[str](), list[str]()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.add(value or "")
            if name in {"href", "src"}:
                self.links.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Two runs of one round, whose agents say one hostile text each."""
    path = tmp_path / "r.sqlite"

    def said(ask):
        return Reply(HOSTILE[ask.key.agent - 1], cost_usd=math.nan, thoughts=f"I, {ask.key.agent}")

    with Recording(path) as recording:
        for seed in (1, 2):
            tiny(
                communication(), n=len(HOSTILE), minds=ScriptedMind(said), rng=seed,
                recording=recording,
            ).run_model()  # fmt: skip
    return path


def test_every_text_is_on_the_pages_as_text_and_all_links_lead_to_a_place(
    recorded: Path, tmp_path: Path
) -> None:
    folder = write_bundle(recorded, tmp_path / "out" / "bundle")
    pages = {path: Page(path) for path in folder.rglob("*.html")}

    assert {path.relative_to(folder).as_posix() for path in pages} == {
        "index.html", "run-0.html", "run-0/round-1.html", "run-1.html", "run-1/round-1.html",
    }  # fmt: skip
    for text in HOSTILE:
        readable = text.replace("\x1b", "\ufffd").replace("\x00", "\ufffd")
        assert readable in pages[folder / "run-1" / "round-1.html"].text
    for text in HOSTILE[:3]:  # of the others a message has what can be printed
        assert text in pages[folder / "run-0.html"].text
    assert "I, 3" in pages[folder / "run-0" / "round-1.html"].text
    for path, page in pages.items():
        assert "onmouseover" not in page.attributes
        assert path.read_text("utf-8").count("<script") == 1
        for link in page.links:
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_relative_to(folder.resolve()), link
            assert target.exists(), link
            assert not anchor or anchor in pages[target].ids, link


def test_the_recording_and_its_tables_stand_beside_the_pages(
    recorded: Path, tmp_path: Path
) -> None:
    folder = write_bundle(recorded, tmp_path / "bundle", [1])

    copy = folder / RECORDING
    assert [run.uid for run in load_runs(copy)] == [run.uid for run in load_runs(recorded)]
    assert hashlib.sha256(copy.read_bytes()).hexdigest() in (folder / "index.html").read_text()
    with (folder / "tables" / "messages.csv").open(newline="", encoding="utf-8") as file:
        assert {row["text"] for row in csv.DictReader(file)} >= set(HOSTILE[:3])
    assert not (folder / "run-0.html").exists()
    assert "1 further run of the recording has no pages here" in Page(folder / "index.html").text


def test_a_month_is_called_so_and_counted_from_1(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    Fishery(n_agents=2, n_rounds=2, rng=1, recording=path).run_model()
    folder = write_bundle(path, tmp_path / "bundle")

    run, month = (
        re.sub(
            r"<[^>]*>|\s", " ", (folder / name).read_text("utf-8").partition("<main>")[2]
        ).partition("(() =>")[0]
        for name in ("run-0.html", "run-0/round-2.html")
    )
    assert "Month 2" in month
    assert "run 0" in month
    assert "Month 2  prompts and answers" in run
    assert not re.search("round", run + month, re.IGNORECASE)


def test_what_is_wrong_leaves_nothing_behind(recorded: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()

    with pytest.raises(OutputError, match="taken already exists"):
        write_bundle(recorded, taken)
    with pytest.raises(RecordingError):
        write_bundle(recorded, tmp_path / "new", [7])
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "r.sqlite"}
    assert not list(taken.iterdir())
