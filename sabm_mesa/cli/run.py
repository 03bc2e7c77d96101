"""``sabm run``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FigureOptions,
    FileMindOptions,
    LLMOptions,
    RunOptions,
    ScenarioName,
)
from sabm_mesa.models import registry


@app.command(blocks=[RunOptions, LLMOptions, FileMindOptions, FigureOptions])
def run(
    context: typer.Context,
    name: ScenarioName,
    *,
    runs: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Number of runs; run i has the seed S + i.")
    ] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed S of the first run (default: random).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for recording, tables and plots.")] = Path(
        "out"
    ),
    as_json: AsJson = False,
) -> None:
    """Run a scenario and write its recording, tables, plots and summary."""
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver
    from sabm_mesa.recording import Recording
    from sabm_mesa.runs.cost import with_context
    from sabm_mesa.runs.run import run_all

    model = registry.load(name)
    parameters = RunOptions.of(context).parameters(rng=seed)
    seed = parameters.pop("rng", None)
    connection = LLMOptions.of(context).connection()
    FileMindOptions.of(context).apply([parameters.get("minds", "classical")])
    FigureOptions.of(context).apply()
    # Usage errors are raised here, before any file exists.
    connection = with_context(connection, model, parameters)
    first = model(**parameters, rng=seed, connection=connection, recording=False)
    path = out / "recording.sqlite"
    resume = f"sabm resume {shlex.quote(str(path))}{registry.option_for(model.scenario_name)}"
    with (
        session(
            model.scenario_name, [path], connection.prices, runs=runs, resume=resume
        ) as progress,
        Recording(path) as recording,
    ):
        done = run_all(
            model, parameters, runs=runs, first=first,
            recording=recording, connection=connection, watch=progress.show,
        )  # fmt: skip
    deliver(done, out, recording.path, as_json=as_json)
    if (before := done.numbers[0]) and not as_json:
        say(
            f"{recording.path} keeps its earlier runs ({before}); model.csv, agents.csv and the "
            "plots named above are of this command alone."
        )
