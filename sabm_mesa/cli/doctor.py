"""``sabm doctor``."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, EndpointOptions, SettingOptions, is_recording
from sabm_mesa.errors import UsageError
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.models.declarations import Exam, Marks
    from sabm_mesa.runs.try_model import Check, Trial


@app.command(blocks=[SettingOptions, EndpointOptions])
def doctor(
    context: typer.Context,
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO|RECORDING]",
            help="With --minds: a scenario or a recorded run. The model answers its questions in "
            "every answer format.",
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
    minds: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Ask a language model a few small questions, and show the parameters that it "
            "supports: llm:MODEL, llm:MODEL@URL, llm:MODEL@NAME, local, gguf:FILE. Several: "
            "'llm:a=1,llm:b=1'.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check Python, packages, folder, browser, isolation and key; with --minds, check a model."""
    from sabm_mesa.cli.doctor_checks import check_all
    from sabm_mesa.core.parsing import parse_minds
    from sabm_mesa.recording import export

    setting = SettingOptions.of(context).parameters()
    if subject is None and any(value is not None for value in setting.values()):
        raise UsageError("Parameters belong to a scenario: sabm doctor SCENARIO --minds SPEC.")
    if minds is not None:
        parsed = parse_minds(minds)
        specs = [parsed] if isinstance(parsed, str) else list(parsed)
        connection = EndpointOptions.of(context).connection()
        if subject is not None:
            _try_minds(subject, specs, setting, connection, times, as_json=as_json)
        else:
            _doctor_minds(specs, connection, as_json=as_json)
        return
    if subject is not None:
        raise UsageError(
            f"sabm doctor {subject} needs --minds: name the language model to ask the questions of "
            "the scenario."
        )
    checks = []
    for check in check_all():
        checks.append(check)
        if not as_json:
            _say(check)
    fine = all(check.state != "problem" for check in checks)
    if as_json:
        say(export.readable_json({"fine": fine, "checks": [check._asdict() for check in checks]}))
    else:
        warned = ", ".join(check.name for check in checks if check.state == "warning")
        usable = f"No problem found{f'; see the warnings on {warned}' if warned else ''}."
        say(usable if fine else "Fix each problem in the list above.")
    if not fine:
        raise typer.Exit(1)


def _doctor_minds(specs: list[str], connection: Connection, *, as_json: bool) -> None:
    from sabm_mesa.recording import export
    from sabm_mesa.runs.try_model import MOST_ASKS, QUESTIONS, probe_minds

    if not as_json:
        say(
            f"Each model is asked {QUESTIONS} small questions; a model that thinks bills up to "
            f"{MOST_ASKS} answers."
        )
    probed = {}
    for spec, checks in probe_minds(specs, connection):
        probed[spec] = [check._asdict() for check in checks]
        if not as_json:
            say(f"\n{spec}")
            for check in checks:
                _say(check)
    fine = all(check["state"] != "problem" for checks in probed.values() for check in checks)
    if as_json:
        say(export.readable_json({"fine": fine, "minds": probed}))
    if not fine:
        raise typer.Exit(1)


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
