"""``sabm audit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say, typed
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FileMindOptions,
    LLMOptions,
    isolation_of,
)
from sabm_mesa.cli.reproduce import minds_given, populations
from sabm_mesa.core.parsing import parse_list, parse_minds
from sabm_mesa.errors import ParameterError

if TYPE_CHECKING:
    from sabm_mesa.studies.experiments.schema import Experiment


@app.command(blocks=[LLMOptions, FileMindOptions])
def audit(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Experiment (see sabm reproduce --list), or your own TOML file."
        ),
    ],
    *,
    minds: Annotated[
        list[str] | None,
        typer.Option(
            "--minds",
            metavar="[CONDITION=]SPEC",
            help="Who decides (default: classical). Repeat the option to compare models.",
        ),
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="Factor to vary: wording, or any parameter, with its levels; the first one is "
            "that of the experiment. Repeatable (default: all wordings with the same content).",
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="Size of the runs: quick, or paper (the published size).")
    ] = "quick",
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_RUNS,
            help="Runs per condition and combination (default: set by the scale).",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seed S of the first run. In each combination, run i of a condition has the seed "
            "S + i.",
        ),
    ] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the audit (default: out/audit/NAME).")
    ] = None,
    cost: Annotated[
        bool,
        typer.Option("--cost", help="Only estimate the cost of the missing runs."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Test whether the claims of an experiment hold with another wording, model or parameter.

    The experiment runs as it is, and with one factor changed at a time, with the same seeds. If you
    repeat the command, only missing runs are executed.
    """
    from sabm_mesa.cli.cost import in_words
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver_report
    from sabm_mesa.recording.export import readable_json
    from sabm_mesa.studies.audit import plan_audit, report_of
    from sabm_mesa.studies.experiments.running import EARLIER, RECORDING, expected_cost, run
    from sabm_mesa.studies.experiments.schema import load_experiment

    llm = LLMOptions.of(context)
    FileMindOptions.of(context).apply()
    experiment = load_experiment(name)
    planned = plan_audit(
        experiment, scale, minds=_minds(experiment, minds or []), given=_factors(factor),
        runs=runs, seed=seed,
    )  # fmt: skip
    folder = out or Path("out", "audit", experiment.name)
    n_conditions = len(experiment.conditions)
    conditions = "1 condition" if n_conditions == 1 else f"{n_conditions} conditions"
    size = f"{len(planned.levels)} cells, {conditions}, {planned.plan.runs} seeds"
    lines = [
        f"Audit of {experiment.name}, decided by: {planned.plan.decided_by}",
        f"  {planned.design}",
        f"  {len(planned.plan.cells):,} runs: {size}.",
    ]
    if cost:
        costs = expected_cost(planned.plan, folder, llm.prices)
        text = "\n".join([*lines, "", in_words(costs)])
        say(readable_json(costs.as_dict()) if as_json else text)
        return

    def begin() -> None:
        if line := isolation_of(populations([planned.plan])):
            say(line, err=True)
        if not as_json:
            say("\n".join(lines))

    connection = llm.connection()
    recordings = [folder / EARLIER / RECORDING, folder / RECORDING]
    title, n_runs = f"Audit of {experiment.name}", len(planned.plan.cells)
    with session(title, recordings, connection.prices, runs=n_runs) as progress:
        outcome = run(planned.plan, folder, connection=connection, watch=progress.show, begin=begin)
        report = report_of(planned, outcome)
    report = replace(report, next_commands=[typed(context), *report.next_commands])
    deliver_report(report, folder, "report", as_json)


def _minds(experiment: Experiment, given: Sequence[str]) -> Any:
    """Return the levels of the minds, or condition → minds."""
    places = {*experiment.slots, *(condition.name for condition in experiment.conditions)}
    if len(given) > 1 and not any(text.partition("=")[0] in places for text in given):
        return [parse_minds(text) for text in given]
    minds = minds_given(experiment, given)
    return minds if isinstance(minds, Mapping) and set(minds) & places else [minds]


def _factors(given: Sequence[str] | None) -> dict[str, list[Any]] | None:
    """Return factor → levels; None without any factor."""
    if not given:
        return None
    factors: dict[str, list[Any]] = {}
    for text in given:
        name, _, levels = (part.strip() for part in text.partition("="))
        if not name or not levels:
            raise ParameterError(f"--factor takes NAME=A,B,…, not {text!r}.")
        if name in factors:
            raise ParameterError(f"--factor {name} is given twice.")
        factors[name] = parse_list(levels)
    return factors
