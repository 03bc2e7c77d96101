"""``sabm export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, RecordingPath, ScenarioFile
from sabm_mesa.models import registry


class Kind(StrEnum):
    """Formats of an export."""

    CSV = "csv"
    JSONL = "jsonl"


@app.command()
def export(
    path: RecordingPath,
    to: Annotated[Kind, typer.Option(help="Format of the files.")] = Kind.CSV,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files (default: export, next to the recording)."),
    ] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="Add the prompts to the table of asks.")
    ] = False,
    scenario: ScenarioFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a recording as tables: runs, asks, decisions, data of model and agents, messages."""
    from sabm_mesa.recording import export
    from sabm_mesa.recording.frames import Recorded

    registry.load_given(scenario, path)
    folder = path.parent / "export" if out is None else out
    frames = Recorded(path).frames(messages)
    files = export.write_frames(folder, frames, to)
    rows = {name: len(frame) for name, frame in frames.items()}
    if as_json:
        content = {"recording": str(path), "files": [*map(str, files)], "rows": rows}
        say(export.readable_json(content))
        return
    listed = [
        f"{file.name} ({n:,} row{'' if n == 1 else 's'})"
        for file, n in zip(files, rows.values(), strict=True)
    ]
    say(f"Written to {folder}: {', '.join(listed)}")
