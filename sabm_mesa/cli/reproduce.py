"""``sabm reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say, typed
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FigureOptions,
    FileMindOptions,
    LLMOptions,
    MindsByCondition,
    isolation_of,
)
from sabm_mesa.core.parsing import parse_minds
from sabm_mesa.errors import ParameterError, UnknownName

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.studies.experiments.running import Plan
    from sabm_mesa.studies.experiments.schema import Experiment
    from sabm_mesa.studies.registration import Registration


@app.command(blocks=[LLMOptions, FileMindOptions, FigureOptions])
def reproduce(
    context: typer.Context,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Experiments (see --list), or your own TOML files."
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the experiments with their cost classes.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Run all experiments.")] = False,
    scale: Annotated[
        str | None,
        typer.Option(
            help="Size of the runs: quick, or paper (the published size). Default: as registered, "
            "else quick."
        ),
    ] = None,
    minds: MindsByCondition = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_RUNS,
            help="Runs per condition (default: as registered, else set by the scale).",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed S of the first run (default: as registered, else 1); run i has the seed "
            "S + i.",
        ),
    ] = None,
    registered: Annotated[
        Path | None,
        typer.Option(
            help="Registration of the experiment, made by sabm register (default: the one in the "
            "experiment's folder)."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Parent folder of the experiments' folders.")] = Path(
        "out/reproduce"
    ),
    cost: Annotated[
        bool,
        typer.Option("--cost", help="Only estimate the cost of the missing runs."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run published experiments and compare the results with the published figures.

    Finished runs of an earlier command are not repeated, and interrupted runs are resumed.
    """
    from sabm_mesa.recording import export
    from sabm_mesa.studies.experiments.running import SEED, plan
    from sabm_mesa.studies.experiments.schema import experiment_names, load_experiment
    from sabm_mesa.studies.registration import FILE, read

    llm = LLMOptions.of(context)
    if list_:
        listed = [load_experiment(name) for name in names or experiment_names()]
        say(_in_json(listed) if as_json else _list(listed))
        return
    FileMindOptions.of(context).apply()
    FigureOptions.of(context).apply()
    chosen = experiment_names() if all_ else names
    if not chosen:
        raise ParameterError("Name an experiment. To list all of them: sabm reproduce --list")
    experiments = _read(chosen)
    if registered is not None and len(experiments) > 1:
        raise ParameterError(
            "A registration (--registered) belongs to one experiment: name only that one."
        )
    plans: list[tuple[Plan, Registration | None]] = []
    for experiment in experiments:
        path = registered or out / experiment.name / FILE
        frozen = read(path) if registered or path.exists() else None
        content = {} if frozen is None else {**frozen.content["frozen"], **frozen.content}
        planned = plan(
            experiment,
            scale or content.get("scale", "quick"),
            minds=minds_given(experiment, minds or []),
            runs=runs or content.get("runs"),
            seed=content.get("seed", SEED) if seed is None else seed,
        )
        plans.append((planned, frozen))
    if cost:
        _say_costs([planned for planned, _ in plans], out, llm, as_json)
        return
    connection = llm.connection()
    said = [
        _reproduced(planned, out, connection, as_json, frozen, typed(context))
        for planned, frozen in plans
    ]
    if as_json:
        say(export.readable_json(said))


def _read(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments, each once, in the order of the command."""
    from sabm_mesa.studies.experiments.schema import load_experiment

    experiments = {name: load_experiment(name) for name in names}
    for name, experiment in experiments.items():
        if sum(other.name == experiment.name for other in experiments.values()) > 1:
            raise ParameterError(
                f"Two experiments are called {experiment.name}, and would have the same folder: "
                f"rename the file {name}."
            )
    return list(experiments.values())


def _reproduced(
    planned: Plan,
    out: Path,
    connection: Connection,
    quiet: bool,
    frozen: Registration | None,
    command: str,
) -> dict[str, Any]:
    """Run the missing part of an experiment, and write its report, which is returned as JSON."""
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import write_report
    from sabm_mesa.studies.experiments import report, results, running
    from sabm_mesa.studies.experiments.running import EARLIER, RECORDING
    from sabm_mesa.studies.registration import deviations, judge

    name = planned.experiment.name
    folder = out / name
    ahead = [] if frozen is None else deviations(frozen, planned, connection)

    def begin() -> None:
        if line := isolation_of(populations([planned])):
            say(line, err=True)
        if not quiet:
            say(_before(planned))
        if ahead:
            say(f"Warning: not as registered. {'. '.join(ahead)}.", err=quiet)

    recordings = [folder / EARLIER / RECORDING, folder / RECORDING]
    with session(name, recordings, connection.prices, runs=len(planned.cells)) as progress:
        outcome = running.run(
            planned, folder, connection=connection, watch=progress.show, begin=begin
        )
        kept = len(outcome.runs) - outcome.ran
        if kept and not quiet:
            say(f"{len(outcome.runs)} runs, {kept} of them from before.")
        analysed = results.results(outcome)
        standing = None if frozen is None else judge(frozen, outcome, connection)
        made = report.report_of(analysed, standing)
        made = replace(made, next_commands=[command, *made.next_commands])
        return write_report(made, folder, "report", quiet=quiet)


def populations(plans: Sequence[Plan]) -> list[Any]:
    """Return the minds of all runs of plans, each population once."""
    every = [*plans, *(plan.earlier for plan in plans if plan.earlier is not None)]
    cells = [cell for planned in every for cell in planned.cells]
    given = [minds for cell in cells for part in (cell.parameters, cell.changes)
             if (minds := part.get("minds")) is not None]  # fmt: skip
    return list({repr(minds): minds for minds in given}.values())


def minds_given(experiment: Experiment, given: Sequence[str]) -> Any:
    """Return the minds that decide: one for all conditions, or condition → minds."""
    names = [*experiment.slots, *(condition.name for condition in experiment.conditions)]
    minds: dict[str, Any] = {}
    for text in given:
        condition, equals, spec = text.partition("=")
        if equals and condition in names:
            minds[condition] = parse_minds(spec)
        elif len(given) == 1 and (not equals or _is_count(text) or ":" in condition):
            return parse_minds(text)
        elif equals and ":" not in condition:
            raise UnknownName(f"condition of {experiment.name}", condition, names)
        else:
            raise ParameterError(
                f"Several --minds need a condition each: CONDITION=SPEC, with a condition of "
                f"{experiment.name} ({', '.join(names)}), not {text!r}."
            )
    return minds or "classical"


def _is_count(text: str) -> bool:
    """Return whether a text begins with ``SPEC=COUNT``."""
    return text.partition(",")[0].rpartition("=")[2].isdecimal()


def _list(experiments: Sequence[Experiment]) -> str:
    width = max(len(experiment.name) for experiment in experiments)
    lines = [
        f"{experiment.name:{width}}  {experiment.cost:6}  {experiment.title}"
        for experiment in experiments
    ]
    costs = (
        "Cost at paper scale, in questions to language models: small up to 2,000, medium up to "
        "20,000, large more. Classical minds cost nothing."
    )
    more = "To test whether a language model can play: sabm doctor SCENARIO --minds SPEC"
    return "\n".join([*lines, "", costs, more])


def _in_json(experiments: Sequence[Experiment]) -> str:
    from sabm_mesa.recording import export

    return export.readable_json(
        [
            {
                "name": experiment.name, "title": experiment.title, "source": experiment.source,
                "scenario": experiment.scenario, "cost": experiment.cost,
                "conditions": [condition.name for condition in experiment.conditions],
                "runs": {scale: size.runs for scale, size in experiment.scales.items()},
            }
            for experiment in experiments
        ]
    )  # fmt: skip


def _before(planned: Plan) -> str:
    """Return which minds decide and what few runs cannot show, before anything is spent."""
    from sabm_mesa.studies.experiments.results import too_few_runs

    experiment = planned.experiment
    lines = [f"{experiment.name}, decided by: {planned.decided_by}"]
    if planned.has_language_models:
        most = {"small": "up to 2,000", "medium": "up to 20,000"}.get(experiment.cost, "many")
        lines.append(
            f"Cost class {experiment.cost}: {most} questions at paper scale; --cost estimates "
            "these runs."
        )
    if few := too_few_runs(planned):
        lines.append(few)
    return "\n".join(lines)


def _say_costs(plans: Sequence[Plan], out: Path, llm: LLMOptions, as_json: bool) -> None:
    """Report the cost of the missing runs of experiments."""
    from sabm_mesa.cli.cost import in_words
    from sabm_mesa.recording import export
    from sabm_mesa.studies.experiments.results import too_few_runs
    from sabm_mesa.studies.experiments.running import expected_cost

    costs = []
    for planned in plans:
        folder = out / planned.experiment.name
        costs.append(expected_cost(planned, folder, llm.prices))
        if not as_json:
            few = too_few_runs(planned)
            say("\n".join([in_words(costs[-1]), *([few] if few else [])]))
    if as_json:
        say(export.readable_json([cost.as_dict() for cost in costs]))
