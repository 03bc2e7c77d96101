"""A recording as static pages that open without a server, as a supplement of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sabm_mesa.errors import OutputError
from sabm_mesa.llm.gguf import sha256_of
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.export import new_folder, write_file, write_frames
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.store import copy_recording
from sabm_mesa.studies.registration import FILE as REGISTRATION
from sabm_mesa.visualization.reading import charts, pages
from sabm_mesa.visualization.reading.store import RunData, read_run, values_by_name

RECORDING = "recording.sqlite"
MOST_PICTURES = 60
"""Maximum number of rounds with a picture each; longer runs have charts only."""


def write_bundle(
    path: Path,
    folder: Path,
    runs: Sequence[int] | None = None,
) -> Path:
    """Write a recording as pages: runs, charts, rounds, messages, prompts and answers.

    The folder also contains the recording, its registration and its tables as CSV. The pages need
    no server and load no external files. Each round and message has an address.

    Args:
        folder: the folder; it must not exist.
        runs: the numbers of the runs; None: all.

    Returns:
        The folder.

    Raises:
        OutputError: when the folder cannot be written or already exists.
        RecordingError: when the recording cannot be read, or has no such run.
    """
    if folder.exists():
        raise OutputError(f"{folder} already exists: choose another name or place.")
    recorded = load_runs(path, None if runs is None else list(runs))
    frame = Recorded(path).runs()
    rows = {int(row["run"]): row for row in frame.to_dict("records")}
    with new_folder(folder) as new:
        for run in recorded:
            _write_run(new, read_run(path, run.run), rows[run.run])
        copy_recording(path, new / RECORDING)
        digest = sha256_of(new / RECORDING)
        tables = write_frames(new / "tables", Recorded(path).frames(), "csv")
        registration = path.parent / REGISTRATION
        registered = registration.is_file()
        if registered:
            write_file(new / REGISTRATION, registration.read_text("utf-8"))
        links = _links("")
        content = {
            "runs": [pages.about_run(run, rows[run.run]) for run in recorded],
            "links": links,
            "varied": [title for title, _ in values_by_name(frame).values()],
            "left_out": len(rows) - len(recorded),
            "recording": RECORDING,
            "digest": digest,
            "tables": [table.relative_to(new).as_posix() for table in tables],
            "registration": REGISTRATION if registered else "",
            "settings": pages.settings_of(recorded),
        }
        write_file(new / "index.html", pages.render("index.html", content))
    return folder


def _write_run(folder: Path, run: RunData, row: dict[Any, Any]) -> None:
    number, (_, first) = run.recorded.run, charts.counting_of(run)
    (folder / f"run-{number}").mkdir()
    for chart in charts.charts_of(run):
        drawn = pages.chart_png(chart, charts.subtitle_of(run))
        write_file(folder / f"run-{number}" / f"{chart.name}.png", drawn)
    pictured = len(run.rounds) <= MOST_PICTURES
    for round_ in run.rounds:
        page = folder / f"run-{number}" / f"round-{round_ + first}.html"
        if pictured and (png := pages.scene_png(run, round_)) is not None:
            write_file(page.with_suffix(".png"), png)
        content = pages.round_page(run, row, round_, _links("../"), pictured=pictured)
        write_file(page, pages.render("round.html", content))
    content = pages.run_page(run, row, _links(""))
    write_file(folder / f"run-{number}.html", pages.render("run.html", content))


def _links(up: str) -> pages.Links:
    """The addresses of pages as files.

    Args:
        up: the way from the page to the folder of the bundle.
    """
    return pages.Links(
        runs=f"{up}index.html",
        run=lambda number: f"{up}run-{number}.html",
        round=lambda number, round_: f"{up}run-{number}/round-{round_}.html",
        chart=lambda number, name: f"{up}run-{number}/{name}.png",
        scene=lambda number, round_: f"{up}run-{number}/round-{round_}.png",
    )
