"""``sabm doctor``."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, BaseURL, EndpointsFile, SettingOptions, is_recording
from sabm_mesa.errors import UsageError
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.models.declarations import Exam, Marks
    from sabm_mesa.runs.try_model import Check, Trial


@app.command(blocks=[SettingOptions])
def doctor(
    context: typer.Context,
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO|RECORDING]",
            help="With --minds: a scenario or a recorded run. The model answers its questions in "
            "every answer format. Without --minds: a recording to check for unfinished runs and "
            "lost answers.",
        ),
    ] = None,
    *,
    times: Annotated[
        int,
        typer.Option(
            min=1,
            help="How often each question is asked in each answer format, and how many problems "
            "of each kind the preliminary test of the scenario has.",
        ),
    ] = 4,
    base_url: BaseURL = None,
    model: Annotated[
        str | None, typer.Option(help="The model to ask (default: one that the server lists).")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until a request fails.")] = 120.0,
    minds: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Ask a language model a few small questions, and show the parameters that it "
            "supports: llm:MODEL, llm:MODEL@URL, llm:MODEL@NAME, local, gguf:FILE. Several: "
            "'llm:a=1,llm:b=1'.",
        ),
    ] = None,
    endpoints: EndpointsFile = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add the results of --minds to this endpoints file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check Python, packages, folder, browser, isolation, key and endpoint; suggest fixes."""
    from sabm_mesa.cli.doctor_checks import check_all, check_recording, is_asked
    from sabm_mesa.core.parsing import parse_minds
    from sabm_mesa.llm import Connection, read_endpoints
    from sabm_mesa.recording import export
    from sabm_mesa.runs.try_model import State

    setting = SettingOptions.of(context)
    if minds is not None:
        if subject is not None and write:
            raise UsageError(
                "--write belongs to --minds without a scenario: leave out the scenario."
            )
        parsed = parse_minds(minds)
        specs = [parsed] if isinstance(parsed, str) else list(parsed)
        known = read_endpoints(endpoints) if endpoints else {}
        connection = Connection(base_url, known, timeout_s=timeout)
        if subject is not None:
            _try_minds(subject, specs, setting.parameters(), connection, times, as_json=as_json)
        else:
            _recording(None, setting)  # refuses parameters, which belong to a scenario
            _doctor_minds(specs, connection, write, as_json=as_json)
        return
    recording = _recording(subject, setting)
    if write or endpoints:
        raise UsageError("--write and --endpoints need --minds: name the language models.")
    if recording is None and is_asked(base_url, model) and not as_json:
        say("One tiny question is sent to the endpoint; a hosted model bills a fraction of a cent.")
    done = []
    checks = check_recording(recording) if recording else check_all(base_url, model, timeout)
    for check in checks:
        done.append(check)
        if not as_json:
            _say(check)
    fine = all(check.state is not State.PROBLEM for check in done)
    if as_json:
        say(export.readable_json({"fine": fine, "checks": [asdict(check) for check in done]}))
    else:
        warned = ", ".join(check.name for check in done if check.state is State.WARNING)
        usable = "No problem found" if recording is None else "The recording can be used"
        usable += f"; see the warnings on {warned}." if warned else "."
        say(usable if fine else "Fix each problem in the list above.")
    if not fine:
        raise typer.Exit(1)


def _doctor_minds(
    specs: list[str], connection: Connection, write: Path | None, *, as_json: bool
) -> None:
    from sabm_mesa.recording import export
    from sabm_mesa.runs.try_model import MOST_ASKS, QUESTIONS, probe_minds, write_entries

    if not as_json:
        say(
            f"Each model is asked {QUESTIONS} small questions; a model that thinks bills up to "
            f"{MOST_ASKS} answers."
        )
    findings = []
    for finding in probe_minds(specs, connection):
        findings.append(finding)
        if as_json:
            continue
        say(f"\n{finding.spec} at {finding.endpoint.where}")
        for check in finding.checks:
            _say(check)
        if finding.fine and not finding.is_local:
            say(f"\n{finding.entry()}")
    fine = [finding for finding in findings if finding.fine]
    added = (
        write_entries(write, [finding for finding in fine if not finding.is_local]) if write else []
    )
    if as_json:
        minds_as_json = [
            {
                "mind": finding.spec, "model": finding.model, "endpoint": finding.endpoint.where,
                "checks": [asdict(check) for check in finding.checks], **finding.facts,
                "entry": finding.entry() if finding.fine and not finding.is_local else None,
            }
            for finding in findings
        ]  # fmt: skip
        say(
            export.readable_json({"fine": fine == findings, "minds": minds_as_json, "added": added})
        )
    elif write:
        say(f"Added to {write}: {', '.join(added) or 'nothing, all entries exist'}.")
    if fine != findings:
        raise typer.Exit(1)


def _recording(subject: str | None, setting: SettingOptions) -> Path | None:
    """Return the recording to check without a language model, or None."""
    if any(value is not None for value in setting.parameters().values()):
        raise UsageError("Parameters belong to a scenario: sabm doctor SCENARIO --minds SPEC.")
    if subject in registry.names() or (subject and registry.is_file(subject)):
        raise UsageError(
            f"sabm doctor {subject} needs --minds: name the language model to ask the questions of "
            "the scenario."
        )
    return None if subject is None else Path(subject)


def _try_minds(
    subject: str,
    specs: list[str],
    given: dict[str, Any],
    connection: Connection,
    times: int,
    *,
    as_json: bool,
) -> None:
    from sabm_mesa.core.answers import FORMATS
    from sabm_mesa.recording import export, load_runs
    from sabm_mesa.runs.rerun import class_of
    from sabm_mesa.runs.try_model import SETTINGS, Tried, sit_exam, try_model

    if is_recording(subject):
        run = load_runs(Path(subject))[0]
        scenario, parameters = class_of(run), {**run.parameters, **given}
    else:
        scenario, parameters = registry.load(subject), given
    exam = scenario.study.exam
    settings = {k: v for k, v in given.items() if k in SETTINGS and v is not None}
    forms: set[str] = set()

    def tell(text: str, *, err: bool = False) -> None:
        if not as_json:
            say(text, err=err)

    def progress(row: Tried) -> None:
        if row.form not in forms:
            forms.add(row.form)
            tell(f"Answer format {row.form} ({len(forms)} of {len(FORMATS)}) …", err=True)
        tell(f"  {row.question}: {row.valid} valid, {row.answers} of {times} asked", err=True)

    trials: list[dict[str, Any]] = []
    for spec in specs:
        forms.clear()
        tell(f"{spec} is asked the questions of {scenario.scenario_name}, {times} of each kind.")
        trial = try_model(scenario, parameters, spec, connection, times=times, progress=progress)
        tell(in_words(trial))
        trials.append(
            {
                **asdict(trial), "best": trial.best, "run_s": trial.run_s,
                "recommendation": trial.recommendation,
            }
        )  # fmt: skip
        if exam is not None and trial.valid_of(trial.best)[0]:
            tell(f"Preliminary test: {exam.title} …", err=True)
            form = {"answer_format": trial.best}
            marks = sit_exam(
                exam, scenario, spec, connection, times=times, settings=settings | form
            )
            tell(exam_in_words(exam, marks))
            trials[-1]["exam"] = {
                "title": exam.title, "source": exam.source,
                "solved": {kind: [sum(right), len(right)] for kind, right in marks.items()},
                "threshold": exam.threshold, "passes": exam.passes(marks),
            }  # fmt: skip
    if as_json:
        say(export.readable_json({"trials": trials}))
    if not all(any(row["valid"] for row in trial["tried"]) for trial in trials):
        raise typer.Exit(1)


def in_words(trial: Trial) -> str:
    """Return the outcome of a trial: a recommendation, the expected cost of a run, a table."""
    import pandas as pd

    from sabm_mesa.cli.progress import dollars
    from sabm_mesa.studies.report import Report, Table, in_terminal

    rows = [
        {
            "question": row.question, "form": row.form, "valid": f"{row.valid} of {row.answers}",
            "tokens each": row.tokens / max(row.answers, 1),
            "seconds each": row.seconds / max(row.answers, 1),
        }
        for row in trial.tried
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    reasons = {row.form: row.reason for row in reversed(trial.tried) if row.reason}
    expected = f"about {trial.asks:,.0f} questions, {duration(trial.run_s)}"
    return in_terminal(
        Report(
            trial.recommendation,
            f"A run with these settings: {expected}, {dollars(trial.usd, 2)}",
            [f"{form}, first refused answer: {reason}" for form, reason in reasons.items()],
            [Table("tried", frame, {str(name): str(name) for name in frame})],
        )
    )


def exam_in_words(exam: Exam, marks: Marks) -> str:
    """Return the outcome of a preliminary test."""
    shares = [f"{kind}: {sum(right)} of {len(right)} right" for kind, right in marks.items()]
    verdict = "passes" if exam.passes(marks) else "fails"
    return (
        f"Preliminary test, {exam.title} ({exam.source}): {verdict}.\n"
        f"  {'; '.join(shares)}\n"
        f"  Right: {exam.right}. To pass, {100 * exam.threshold:g} % of each kind must be right; "
        f"the limit is ours.\n"
        f"  Published: {exam.published}."
    )


def duration(seconds: float) -> str:
    """Format seconds as a readable duration."""
    if math.isnan(seconds):
        return "time unknown"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _say(check: Check) -> None:
    """Print a check as a line with fixed columns."""
    say(f"{check.state:<8} {check.name:<10} {check.said}")
