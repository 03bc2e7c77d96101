"""``sabm doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, BaseURL


@app.command()
def doctor(
    base_url: BaseURL = None,
    model: Annotated[
        str | None, typer.Option(help="The model that is asked; by default one the server has.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds an answer may take.")] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Check Python, Mesa, packages, folder, browser, key and endpoint; say what to do."""
    from sabm_mesa.cli.checks import State, check_all, is_asked
    from sabm_mesa.recording import export

    if is_asked(base_url, model) and not as_json:
        say("The endpoint is asked one tiny question; a hosted model takes a fraction of a cent.")
    found = []
    for check in check_all(base_url, model, timeout):
        found.append(check)
        if not as_json:
            say(f"{check.state:<8} {check.name:<9} {check.said}")
    fine = all(check.state is not State.PROBLEM for check in found)
    if as_json:
        say(export.readable_json({"fine": fine, "checks": [asdict(check) for check in found]}))
    else:
        say("All that is needed is there." if fine else "Mend what is called a problem above.")
    if not fine:
        raise typer.Exit(1)
