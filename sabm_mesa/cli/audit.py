"""``sabm audit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FileMindOptions,
    LLMOptions,
    isolation_of,
    with_options,
)
from sabm_mesa.cli.reproduce import minds_given, populations
from sabm_mesa.core.parsing import parse_list, parse_minds
from sabm_mesa.errors import (
    ParameterError,
    RunError,
)

if TYPE_CHECKING:
    from sabm_mesa.studies.audit.plan import AuditPlan
    from sabm_mesa.studies.audit.running import Audited
    from sabm_mesa.studies.experiments.design import Experiment


@app.command()
@with_options
def audit(
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
            metavar="NAME[=A,B]",
            help="Factor to vary: wording, format, options, speakers, persona, or a parameter with "
            "its values. Repeatable (default: those of the first five that apply).",
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
    llm: LLMOptions,
    isolation: FileMindOptions,
    cost: Annotated[
        bool,
        typer.Option("--cost", help="Only estimate the cost of the missing runs."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Test whether the claims of an experiment hold with another wording, format, order or model.

    The experiment runs in a balanced fraction of all combinations of the factors, with the same
    seeds in each. If you repeat the command, only missing runs are executed.
    """
    from sabm_mesa.recording import export
    from sabm_mesa.studies.audit.plan import audit_plan
    from sabm_mesa.studies.experiments.design import load_experiment

    isolation.apply()
    experiment = load_experiment(name)
    planned = audit_plan(
        experiment, scale, minds=_minds(experiment, minds or []), given=_factors(factor or []),
        runs=runs, seed=seed, budget_usd=llm.budget_usd, max_asks=llm.max_asks,
        prices=llm.prices,
    )  # fmt: skip
    folder = out or Path("out", "audit", experiment.name)
    if cost:
        _say_costs(planned, folder, llm, as_json)
        return
    connection = llm.connection()
    done = _audited(planned, folder, connection, quiet=as_json)
    if as_json:
        say(export.readable_json(done.summary()))


def _minds(experiment: Experiment, given: Sequence[str]) -> Any:
    """Return the levels of the minds, or condition → minds."""
    if len(given) > 1 and not any(_names_condition(experiment, text) for text in given):
        return [parse_minds(text) for text in given]
    minds = minds_given(experiment, given)
    places = {*experiment.slots, *(condition.name for condition in experiment.conditions)}
    return minds if isinstance(minds, Mapping) and set(minds) & places else [minds]


def _names_condition(experiment: Experiment, text: str) -> bool:
    names = [*experiment.slots, *(condition.name for condition in experiment.conditions)]
    return text.partition("=")[0] in names


def _factors(given: Sequence[str]) -> dict[str, list[Any] | None] | None:
    """Return factor → levels, None for its default levels; None without any factor."""
    factors: dict[str, list[Any] | None] = {}
    for text in given:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not name or (equals and not values):
            raise ParameterError(f"--factor takes NAME or NAME=A,B,…, not {text!r}.")
        if name in factors:
            raise ParameterError(f"--factor {name} is given twice.")
        factors[name] = parse_list(values) if equals else None
    return factors or None


def _audited(planned: AuditPlan, folder: Path, connection: Any, *, quiet: bool) -> Audited:
    """Run the missing part of an audit, and write its report."""
    from sabm_mesa.cli.progress import Progress, stopped_early
    from sabm_mesa.cli.report import reporting_lost
    from sabm_mesa.studies.audit import report, running
    from sabm_mesa.studies.experiments.running import EARLIER, RECORDING

    def begin() -> None:
        if line := isolation_of(populations(planned.plans)):
            say(line, err=True)
        if not quiet:
            say(_before(planned))

    recordings = [folder / EARLIER / RECORDING, folder / RECORDING]
    with (
        reporting_lost(recordings, connection.prices),
        Progress(f"audit of {planned.experiment.name}", planned.n_runs) as progress,
    ):
        try:
            done = running.run(
                planned, folder, connection=connection, watch=progress.show, begin=begin
            )
            files = report.write(done, folder)
        except (RunError, KeyboardInterrupt) as error:
            name = f"Audit of {planned.experiment.name}"
            raise stopped_early(error, name, recordings, progress.asks) from error
    if not quiet:
        say(_said(done, files))
    return done


def _before(planned: AuditPlan) -> str:
    """Report which minds decide in which cells, before anything is spent."""
    from sabm_mesa.studies.audit.report import decided_by, design_in_words

    n_cells, n_conditions = len(planned.plans), len(planned.experiment.conditions)
    size = f"{n_cells} cells, {n_conditions} conditions, {planned.runs} seeds"
    lines = [
        f"Audit of {planned.experiment.name}, decided by: {decided_by(planned)}",
        f"  {design_in_words(planned)}",
        *(f"  Not varied: {name}, since {why}." for name, why in planned.left_out.items()),
        f"  {planned.n_runs:,} runs: {size}.",
    ]
    return "\n".join(lines)


def _said(done: Audited, files: Sequence[Path]) -> str:
    """Return a few lines: the verdict on each claim, and the path of the report."""
    from sabm_mesa.studies.audit.report import headline, said_of, warnings

    kept = len(done.runs) - done.ran
    runs = f"{len(done.runs)} runs" + (f", {kept} of them from before" if kept else "")
    lines = [f"{done.plan.experiment.name}: {runs}. {headline(done)}"]
    for claim, judged in done.claims:
        lines += [f"  {claim.text}", f"    {said_of(done, replace(judged, why=''))}"]
    lines += [f"  {warning}" for warning in warnings(done)]
    report = next(path for path in files if path.name == "report.html")
    return "\n".join([*lines, f"  Report: {report}"])


def _say_costs(planned: AuditPlan, folder: Path, llm: LLMOptions, as_json: bool) -> None:
    """Report the cost of the missing runs of an audit."""
    from sabm_mesa.cli.cost import in_words
    from sabm_mesa.recording import export
    from sabm_mesa.studies.audit.plan import expected_cost_of_audit

    costs = expected_cost_of_audit(planned, folder, llm.prices)
    if as_json:
        say(export.readable_json(costs.as_dict()))
    else:
        say("\n".join([_before(planned), "", in_words(costs)]))
