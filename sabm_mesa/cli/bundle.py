"""``sabm bundle``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, RecordingPath, ScenarioFile
from sabm_mesa.models import registry


@app.command()
def bundle(
    path: RecordingPath,
    out: Annotated[
        Path | None,
        typer.Option(help="New folder (default: bundle, next to the recording)."),
    ] = None,
    run: Annotated[
        list[int] | None,
        typer.Option("--run", help="Only this run (default: all runs). Repeatable."),
    ] = None,
    scenario: ScenarioFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a recording as static pages that open without a server, for a paper's supplement."""
    from sabm_mesa.recording.export import readable_json
    from sabm_mesa.visualization.reading.bundle import write_bundle

    registry.load_given(scenario, path)
    folder = path.parent / "bundle" if out is None else out
    write_bundle(path, folder, run or None)
    first = folder / "index.html"
    if as_json:
        say(readable_json({"recording": str(path), "folder": str(folder), "index": str(first)}))
        return
    say(f"Written to {folder}: open {first} in a browser.")
