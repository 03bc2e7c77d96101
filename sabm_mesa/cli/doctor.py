"""``sabm doctor``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, BaseURL


@app.command()
def doctor(
    recording: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECORDING]", help="Check a recording, and what may be missing in it, instead."
        ),
    ] = None,
    base_url: BaseURL = None,
    model: Annotated[
        str | None, typer.Option(help="The model that is asked; by default one the server has.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds an answer may take.")] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Check Python, Mesa, packages, folder, browser, isolation, key, endpoint; say what to do."""
    from sabm_mesa.cli.doctor_checks import State, check_all, check_recording, is_asked
    from sabm_mesa.recording import export

    if recording is None and is_asked(base_url, model) and not as_json:
        say("The endpoint is asked one tiny question; a hosted model takes a fraction of a cent.")
    found = []
    checks = check_recording(recording) if recording else check_all(base_url, model, timeout)
    for check in checks:
        found.append(check)
        if not as_json:
            say(f"{check.state:<8} {check.name:<9} {check.said}")
    fine = all(check.state is not State.PROBLEM for check in found)
    if as_json:
        say(export.readable_json({"fine": fine, "checks": [asdict(check) for check in found]}))
    else:
        needed = "All that is needed is there." if recording is None else "It can be used."
        say(needed if fine else "Mend what is called a problem above.")
    if not fine:
        raise typer.Exit(1)
