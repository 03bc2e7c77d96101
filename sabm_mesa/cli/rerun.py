"""``sabm replay``, ``sabm resume`` and ``sabm fork``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    AsJson,
    FigureOptions,
    FileMindOptions,
    LLMOptions,
    Prompts,
    RecordingPath,
    ScenarioFile,
    Settings,
    parameters_from,
)
from sabm_mesa.errors import KEY_VARIABLE, ParameterError, ReplayMismatch
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.recording import RecordedRun

OnlyRuns = Annotated[
    list[int] | None,
    typer.Option(
        "--run",
        help="Only this run. Repeatable. Default: replay takes all runs, fork those of the latest "
        "command, and resume those of the latest unfinished command.",
    ),
]


@app.command()
def replay(
    recording: RecordingPath,
    run: OnlyRuns = None,
    scenario: ScenarioFile = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables, plots and summary (default: not written)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a recording again without key and network, and check that the data are the same."""
    from sabm_mesa.cli.progress import Progress
    from sabm_mesa.cli.report import deliver
    from sabm_mesa.recording import export, load_runs
    from sabm_mesa.runs import rerun

    if scenario is not None:
        registry.load(scenario)
    runs = load_runs(recording, run)
    by_command: dict[tuple[str, str], list[RecordedRun]] = {}
    for recorded in runs:
        by_command.setdefault((recorded.command, recorded.scenario), []).append(recorded)
    commands = list(by_command.values())
    if out is not None and len(commands) > 1:
        raise ParameterError(
            f"{recording} has runs of {len(commands)} commands, but --out takes the runs of one: "
            "choose them with --run."
        )
    if out is not None and not all(recorded.rounds for recorded in runs):
        none = next(recorded for recorded in runs if not recorded.rounds)
        raise ParameterError(
            f"{none.name} has no complete round, so it has no tables: leave out --out, or choose "
            "other runs with --run."
        )
    lines, checked = [], {"replayed": 0, "answers": 0, "rounds": 0}
    for command in commands:
        changed = rerun.changed_file(command[0])
        with Progress(command[0].scenario, len(command)) as progress:
            try:
                done = rerun.replay(
                    recording, [recorded.run for recorded in command], watch=progress.show
                )
            except ReplayMismatch as error:
                if changed:
                    raise ReplayMismatch(f"{error} {changed} has changed since.") from None
                raise
        answers = done.answers_repeated()
        lines += [_verified(recorded, n) for recorded, n in zip(command, answers, strict=True)]
        if changed:
            lines.append(f"{changed} has changed since, without an effect on these runs.")
        checked["replayed"] += len(command)
        checked["answers"] += sum(answers)
        checked["rounds"] += sum(recorded.rounds for recorded in command)
    if out is not None:
        deliver(done, out, None, as_json=as_json, first_lines=lines, more={"verified": checked})
    else:
        say(export.readable_json({"verified": checked}) if as_json else "\n".join(lines))


@app.command(blocks=[LLMOptions, FileMindOptions, FigureOptions])
def resume(
    context: typer.Context,
    recording: RecordingPath,
    run: OnlyRuns = None,
    scenario: ScenarioFile = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables, plots and summary (default: that of the recording)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Resume runs that were stopped or failed. Recorded answers are reused.

    When all runs are finished, it writes tables, plots and summary. To get the tables of a study,
    such as a sweep, repeat the command of the study. Limits of this command, such as --budget-usd,
    replace the recorded ones.
    """
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver, missing
    from sabm_mesa.recording import export, load_runs
    from sabm_mesa.recording.varied import after_forks, label_of, varied
    from sabm_mesa.runs import rerun

    if scenario is not None:
        registry.load(scenario)
    runs = load_runs(recording, run) if run else rerun.to_resume(recording)
    connection = _agreed(
        LLMOptions.of(context).connection(runs[0].connection), runs, as_json=as_json
    )
    FileMindOptions.of(context).apply(_minds_of([past for past in runs if not past.finished]))
    FigureOptions.of(context).apply()
    for line in missing(rerun.lost_before(runs, connection.prices)):
        say(line, err=True)
    name = runs[0].scenario
    with session(
        name, [recording], runs=len(runs), resume=_resume(recording, name), lost=False
    ) as progress:
        done = rerun.resume(
            recording, [past.run for past in runs], connection=connection, watch=progress.show
        )
    cells = {label_of(setting) for setting in varied(
        [after_forks(past.parameters, past.forks) for past in runs], [past.tags for past in runs]
    )}  # fmt: skip
    beside = out is None or out == recording.parent
    of_a_study = any("spec" in recorded.tags for recorded in runs)
    if len(cells) > 1 or (of_a_study and beside):
        note = _no_tables(runs, sorted(cells), of_a_study and beside)
        say(export.readable_json({"finished": len(runs), "note": note}) if as_json else note)
        return
    deliver(
        done, out or recording.parent, recording if beside else None, as_json=as_json,
        first_lines=["All runs were finished: nothing was asked."]
        if all(recorded.finished for recorded in runs) else (),
    )  # fmt: skip


@app.command(blocks=[LLMOptions, FileMindOptions, FigureOptions])
def fork(
    context: typer.Context,
    recording: RecordingPath,
    at: Annotated[int, typer.Option(min=0, help="First round (from 0) with the new parameters.")],
    out: Annotated[Path, typer.Option(help="Folder for recording, tables and plots.")],
    run: OnlyRuns = None,
    scenario: ScenarioFile = None,
    *,
    set_: Settings = None,
    minds: Annotated[
        list[str] | None,
        typer.Option(help="Who decides from this round on (default: as before)."),
    ] = None,
    condition: Annotated[
        str | None, typer.Option(help="Condition from this round on (default: as before).")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Total number of rounds (default: as before).")
    ] = None,
    prompts: Prompts = None,
    as_json: AsJson = False,
) -> None:
    """Branch runs: the same history up to a round, then other parameters or minds."""
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver
    from sabm_mesa.core.jsonable import json_roundtrip
    from sabm_mesa.recording import load_runs
    from sabm_mesa.recording.varied import after_forks
    from sabm_mesa.runs import rerun

    new = parameters_from(
        set_ or [],
        {
            "minds": "; ".join(minds) if minds else None,
            "condition": condition,
            "n_rounds": rounds,
            "prompts": prompts,
        },
    )
    if scenario is not None:
        registry.load(scenario)
    runs = load_runs(recording, run) if run else rerun.latest(load_runs(recording))
    same = json_roundtrip(dict(new)).items()
    if new and all(
        same <= after_forks(past.parameters, [f for f in past.forks if f["at"] <= at]).items()
        for past in runs
    ):
        say("The runs have these settings already, so only new answers can differ.", err=True)
    connection = _agreed(
        LLMOptions.of(context).connection(runs[0].connection), runs, as_json=as_json
    )
    FileMindOptions.of(context).apply([*_minds_of(runs), new.get("minds", "classical")])
    FigureOptions.of(context).apply()
    into = out / "recording.sqlite"
    name = runs[0].scenario
    with session(name, [into], runs=len(runs), resume=_resume(into, name), lost=False) as progress:
        done = rerun.fork(
            recording, at, new, into, [past.run for past in runs],
            connection=connection, watch=progress.show,
        )  # fmt: skip
    deliver(done, out, into, as_json=as_json)


def _resume(recording: Path, scenario: str) -> str:
    """Return the command that continues the runs of a recording."""
    return f"sabm resume {shlex.quote(str(recording))}{registry.option_for(scenario)}"


def _no_tables(runs: Sequence[RecordedRun], cells: Sequence[str], of_a_study: bool) -> str:
    """Return the line on finished runs of which no tables are written."""
    path = runs[0].path
    several = (
        f"{len(runs)} runs of {path} are finished." if runs[1:] else f"{runs[0].name} is finished."
    )
    if of_a_study:
        return (
            f"{several} To play the missing runs of their study and to write its tables, repeat "
            "the command of the study."
        )
    shown = "; ".join(cells[:3]) + ("; …" if cells[3:] else "")
    return (
        f"{several} They have {len(cells)} settings ({shown}), so they have no common tables: "
        "choose the runs of one with --run and a folder with --out."
    )


def _minds_of(runs: Sequence[RecordedRun]) -> list[Any]:
    """Return the populations of recorded runs, and those set by forks."""
    changes = [fork["set"] for run in runs for fork in run.forks]
    given = [*(run.parameters for run in runs), *changes]
    return [parameters["minds"] for parameters in given if "minds" in parameters]


def _agreed(connection: Connection, runs: Sequence[RecordedRun], *, as_json: bool) -> Connection:
    """Ask the user about the addresses in a recording; return the connection with the answer.

    Without a terminal, nothing is asked and unknown addresses are refused.
    """
    from sabm_mesa.runs.rerun import foreign_addresses

    foreign = foreign_addresses(runs, connection)
    if not foreign or as_json or not sys.stdin.isatty():
        return connection
    url = connection.recorded_url if connection.base_url is None else None
    say(f"The recording uses {', '.join(foreign)}, which this command does not name.")
    say(
        f"Prompts are sent there, and {KEY_VARIABLE} if it is set."
        if url in foreign
        else "Prompts are sent there, but no key."
    )
    if not typer.confirm("Continue?"):
        raise typer.Exit(2)
    return replace(
        connection,
        base_url=url if url in foreign else connection.base_url,
        agreed=frozenset(foreign),
    )


def _verified(recorded: RecordedRun, answers: int) -> str:
    complete = recorded.status == "finished"
    rounds = f"{recorded.rounds} round" + ("s" if recorded.rounds != 1 else "")
    part = (
        ""
        if complete
        else f" (cut off: {recorded.problem or recorded.status}; compared up to there)"
    )
    return f"Run {recorded.run}: identical{part}, {rounds}, {answers} answers, nothing sent."
