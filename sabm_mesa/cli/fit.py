"""``sabm fit``."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, RecordingPath, ScenarioFile


@app.command()
def fit(
    path: RecordingPath,
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Behavioural model to fit (default: all that apply). Repeatable."),
    ] = None,
    mind: Annotated[
        str, typer.Option(help="Only agents with this mind, such as llm:MODEL (default: all).")
    ] = "",
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Only the first n rounds.")
    ] = None,
    absolute: Annotated[
        int,
        typer.Option(
            min=0, max=10_000,
            help="Number of simulated data sets for the test of the selected model: 39 or more, "
            "or 0 for no test.",
        ),
    ] = 99,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulations.")] = 0,
    scenario: ScenarioFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files (default: fit, next to RECORDING).")
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Fit behavioural models to the decisions of a recording, and select one by BIC."""
    from sabm_mesa.cli.report import deliver_report
    from sabm_mesa.models import registry
    from sabm_mesa.recording.export import make_folder, readable_json, write_file
    from sabm_mesa.studies.fit import fit_recording, report_of

    registry.load_given(scenario, path)
    folder = path.parent / "fit" if out is None else out
    study = fit_recording(
        path, models=model or (), mind=mind, rounds=rounds, absolute=absolute, seed=seed,
        watch=lambda what: say(f"Fitting {what} …", err=True),
    )  # fmt: skip
    file = folder / "fingerprint.json"
    given = scenario or registry.given_as(study.scenario)
    play = ["sabm", "run", given, "--minds", f"fitted:{file}"]
    report = replace(report_of(study), next_commands=[shlex.join(play)])
    make_folder(folder)
    write_file(file, readable_json(study.fingerprint.as_json()))
    deliver_report(report, folder, "fit", as_json, files=[file])
