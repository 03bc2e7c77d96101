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
    with_options,
)
from sabm_mesa.errors import ParameterError


@app.command()
@with_options
def register(
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
    eligible: Annotated[
        list[str] | None,
        typer.Option(
            "--eligible",
            metavar="RULE",
            help='Language models that may decide, including future ones: "gpt-6*", or '
            '"provider=openai since=2026-10-01" (default: those of --minds). Repeatable.',
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_RUNS, help="Runs per condition (default: set by the scale)."),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(help="Folder of pilot runs, to compute the number of runs from."),
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(
            help="Smallest relevant effect in standard deviations, to compute the number of runs "
            "from."
        ),
    ] = None,
    power: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Power for --pilot or --effect.")
    ] = 0.8,
    seed: FirstSeed = 1,
    max_invalid: Annotated[
        float | None,
        typer.Option(
            help="Exclude a run from the primary test if a larger share of its questions has no "
            "usable answer (default: exclude none)."
        ),
    ] = None,
    note: Annotated[
        list[str] | None,
        typer.Option(help="Further decision to record, in one sentence. Repeatable."),
    ] = None,
    deposit: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Record where the existing registration was deposited, such as its DOI. Nothing "
            "new is registered.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Parent folder of the experiment's folder.")] = Path(
        "out/reproduce"
    ),
    llm: LLMOptions,
    as_json: AsJson = False,
) -> None:
    """Freeze an experiment before its runs: plan, prompts, primary claim, tests, models.

    Reports of later runs in the same folder say "as registered", or list the deviations.
    """
    from sabm_mesa.cli.reproduce import minds_given
    from sabm_mesa.recording.export import readable_json
    from sabm_mesa.studies import registration as studies
    from sabm_mesa.studies.experiments.design import load_experiment
    from sabm_mesa.studies.experiments.plan import plan

    if sum(option is not None for option in (runs, pilot, effect)) > 1:
        raise ParameterError("Give only one of --runs, --pilot and --effect.")
    experiment = load_experiment(name)
    if deposit is not None:
        deposited = studies.write_deposit(out / experiment.name, deposit)
        known = {"sha256": deposited.digest, "deposit": dict(deposited.deposit)}
        where = f"{deposited.path} was deposited as {deposit}. SHA-256: {deposited.digest}"
        say(readable_json(known) if as_json else where)
        return
    who = minds_given(experiment, minds or [])
    planned = plan(experiment, scale, minds=who, runs=runs, seed=seed)
    folder = out / experiment.name
    studies.check_new(folder)
    reason = ""
    if pilot is not None:
        n = studies.runs_by_pilot(planned, claim, pilot, power)
        reason = f"for a power of {power:g}, if the truth is as the runs in {pilot} are"
    elif effect is not None:
        n = studies.runs_by_effect(planned, claim, effect, power)
        reason = f"for a power of {power:g} at an effect of {effect:g} standard deviations"
    else:
        n = planned.runs
    planned = plan(experiment, scale, minds=who, runs=n, seed=seed)
    connection = llm.connection()
    registration = studies.register(
        planned, connection, claim=claim, eligible=eligible or (), sample_size=reason,
        max_invalid=max_invalid, notes=note or (),
    )  # fmt: skip
    files = studies.write(registration, folder)
    if as_json:
        summary = {
            "experiment": experiment.name,
            "registered": registration.registered,
            "sha256": registration.digest,
            "runs": planned.runs,
            "primary": registration.primary.text,
            "eligible": registration.content["eligible"],
            "files": [str(path) for path in files],
        }
        say(readable_json(summary))
        return
    lines = [
        f"{experiment.name} is registered: {planned.runs} runs per condition.",
        f"  Primary claim: {registration.primary.text}",
        f"  Language models: {'; '.join(registration.content['eligible']) or 'none'}",
        f"  SHA-256: {registration.digest}",
        f"  To deposit: {files[0]} and {files[1]}",
        "  sabm reproduce with the same folder runs it, and reports deviations from this.",
    ]
    say("\n".join(lines))
