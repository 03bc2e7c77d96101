"""``sabm doctor``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, BaseURL, EndpointsFile
from sabm_mesa.errors import UsageError

if TYPE_CHECKING:
    from sabm_mesa.minds.model_check import Check


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
    minds: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Ask each of these language models a few small questions instead, and tell its "
            "dialect: llm:MODEL, llm:MODEL@URL, llm:MODEL@NAME; several with their numbers.",
        ),
    ] = None,
    endpoints: EndpointsFile = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add what --minds finds to this file of endpoints."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check Python, Mesa, packages, folder, browser, isolation, key, endpoint; say what to do."""
    from sabm_mesa.cli.doctor_checks import check_all, check_recording, is_asked
    from sabm_mesa.minds.model_check import State
    from sabm_mesa.recording import export

    if minds is not None:
        _doctor_minds(minds, base_url, endpoints, write, timeout, as_json=as_json)
        return
    if write or endpoints:
        raise UsageError("--write and --endpoints belong to --minds: name the language models.")
    if recording is None and is_asked(base_url, model) and not as_json:
        say("The endpoint is asked one tiny question; a hosted model takes a fraction of a cent.")
    found = []
    checks = check_recording(recording) if recording else check_all(base_url, model, timeout)
    for check in checks:
        found.append(check)
        if not as_json:
            _say(check)
    fine = all(check.state is not State.PROBLEM for check in found)
    if as_json:
        say(export.readable_json({"fine": fine, "checks": [asdict(check) for check in found]}))
    else:
        needed = "All that is needed is there." if recording is None else "It can be used."
        say(needed if fine else "Mend what is called a problem above.")
    if not fine:
        raise typer.Exit(1)


def _doctor_minds(
    minds: str,
    base_url: str | None,
    endpoints: Path | None,
    write: Path | None,
    timeout: float,
    *,
    as_json: bool,
) -> None:
    from sabm_mesa.core.parsing import parse_minds
    from sabm_mesa.llm import Connection, read_endpoints
    from sabm_mesa.minds.model_check import MOST_ASKS, QUESTIONS, probe_minds, write_entries
    from sabm_mesa.recording import export

    parsed = parse_minds(minds)
    specs = [parsed] if isinstance(parsed, str) else list(parsed)
    known = read_endpoints(endpoints) if endpoints else {}
    connection = Connection(base_url, known, timeout_s=timeout)
    if not as_json:
        say(
            f"Each model is asked {QUESTIONS} small questions; {MOST_ASKS} answers are billed at "
            "most, if it turns out to think."
        )
    found = []
    for finding in probe_minds(specs, connection):
        found.append(finding)
        if as_json:
            continue
        say(f"\n{finding.spec} at {finding.endpoint.where}")
        for check in finding.checks:
            _say(check)
        if finding.fine:
            say(f"\n{finding.entry()}")
    fine = [finding for finding in found if finding.fine]
    added = write_entries(write, fine) if write else []
    if as_json:
        told = [
            {
                "mind": each.spec, "model": each.model, "endpoint": each.endpoint.where,
                "checks": [asdict(check) for check in each.checks], **each.facts,
                "entry": each.entry() if each.fine else None,
            }
            for each in found
        ]  # fmt: skip
        say(export.readable_json({"fine": fine == found, "minds": told, "added": added}))
    elif write:
        say(f"Added to {write}: {', '.join(added) or 'nothing, all are there'}.")
    if fine != found:
        raise typer.Exit(1)


def _say(check: Check) -> None:
    """Print the line of a check; all of them have the same columns."""
    say(f"{check.state:<8} {check.name:<10} {check.said}")
