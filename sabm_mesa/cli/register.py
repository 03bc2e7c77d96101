"""``sabm register``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FirstSeed,
    LLMOptions,
    MindsByCondition,
)


@app.command(blocks=[LLMOptions])
def register(
    context: typer.Context,
    *,
    name: Annotated[
        str,
        typer.Argument(metavar="EXPERIMENT", help="Experiment, or your own TOML file."),
    ],
    claim: Annotated[
        int | None, typer.Option(help="Number of the primary claim, if there are several.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="Size of the runs: quick, or paper (the published size).")
    ] = "quick",
    minds: MindsByCondition = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_RUNS, help="Runs per condition (default: set by the scale)."),
    ] = None,
    seed: FirstSeed = 1,
    out: Annotated[Path, typer.Option(help="Parent folder of the experiment's folder.")] = Path(
        "out/reproduce"
    ),
    as_json: AsJson = False,
) -> None:
    """Freeze an experiment before its runs: plan, prompts, primary claim, tests, models.

    Reports of later runs in the same folder say "as registered", or list the deviations.
    """
    from sabm_mesa.cli.reproduce import minds_given
    from sabm_mesa.recording.export import readable_json
    from sabm_mesa.studies import registration as studies
    from sabm_mesa.studies.experiments.running import plan
    from sabm_mesa.studies.experiments.schema import load_experiment

    experiment = load_experiment(name)
    planned = plan(
        experiment, scale, minds=minds_given(experiment, minds or []), runs=runs, seed=seed
    )
    registration = studies.register(planned, LLMOptions.of(context).connection(), claim)
    path = studies.write(registration, out / experiment.name)
    primary = registration.content["primary"]
    if as_json:
        summary = {
            "experiment": experiment.name, "registered": registration.content["registered"],
            "sha256": registration.digest, "runs": planned.runs, "primary": primary,
            "files": [str(path)],
        }  # fmt: skip
        say(readable_json(summary))
        return
    say(f"{experiment.name} is registered: {planned.runs} runs per condition.")
    say(f"  Primary claim: {primary}")
    say(f"  SHA-256: {registration.digest}")
    say(f"  Written to {path}. Deposit this file in an archive, such as OSF.")
    say("  sabm reproduce with the same folder runs it, and reports deviations from this.")
