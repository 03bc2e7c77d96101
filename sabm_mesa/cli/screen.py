"""``sabm screen``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FileMindOptions,
    FirstSeed,
    LLMOptions,
    isolation_of,
    with_options,
)
from sabm_mesa.core.parsing import parse_minds
from sabm_mesa.errors import MindSpecError, RunError

if TYPE_CHECKING:
    from sabm_mesa.studies.screening import Screening, ScreeningResult


@app.command()
@with_options
def screen(
    *,
    minds: Annotated[
        list[str],
        typer.Option(
            "--minds",
            metavar="SPEC",
            help="Mind to test: llm:MODEL, llm:MODEL@URL, gguf:FILE, classical, "
            "fixed:VALUE, py:FILE. Repeatable.",
        ),
    ],
    tests: Annotated[
        str,
        typer.Option(
            metavar="SET",
            help="Set of tests, such as play (short games). An unknown name lists all sets.",
        ),
    ] = "play",
    problems: Annotated[
        int | None,
        typer.Option(min=1, help="Number of problems of each kind (default: as published)."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Runs per test and mind.")] = 1,
    seed: FirstSeed = 1,
    out: Annotated[Path, typer.Option(help="Folder for the recordings and the report.")] = Path(
        "out/screening"
    ),
    llm: LLMOptions,
    isolation: FileMindOptions,
    as_json: AsJson = False,
) -> None:
    """Test whether minds can play the scenarios.

    Recorded answers in the same folder are reused, so you can add minds or runs.
    """
    from sabm_mesa.cli.progress import Progress, answers_are
    from sabm_mesa.cli.report import reporting_lost
    from sabm_mesa.recording.export import readable_json as in_json
    from sabm_mesa.studies import screening as report
    from sabm_mesa.studies.screening import RECORDING, battery, scores
    from sabm_mesa.studies.screening import screen as run

    if several := [text for text in minds if not isinstance(parse_minds(text), str)]:
        raise MindSpecError(f"A test has one mind, not {several[0]!r}: give one --minds per mind.")
    chosen = battery(tests, problems)
    connection = llm.connection()
    isolation.apply()
    if line := isolation_of(minds):
        say(line, err=True)
    paths = [out / test.name / RECORDING for test in chosen.tests]
    with reporting_lost(paths, connection.prices), Progress("screening", 1) as progress:
        try:
            screening = run(
                minds, out, tests=chosen, runs=runs, seed=seed, connection=connection,
                watch=progress.show,
            )  # fmt: skip
        except (RunError, KeyboardInterrupt) as error:
            message = str(error) or "Stopped."
            if not progress.asks and isinstance(error, RunError):
                raise
            raise RunError(
                f"{message} {answers_are(paths)} in {out}; the same command continues from there."
            ) from error
    results = scores(screening)
    files = report.write(screening, results, out)
    say(
        in_json(_summary(screening, results, files))
        if as_json
        else _table(screening, results, files)
    )


def _table(screening: Screening, results: Sequence[ScreeningResult], files: Sequence[Path]) -> str:
    """Return a table of minds by tests, then the result of each test."""
    from sabm_mesa.studies.screening import dollars, passed

    battery = screening.battery
    names = [test.name for test in battery.tests]
    rows = [["mind", *names, "questions", "invalid", "paid"]]
    for mind in screening.minds:
        mine = [score for score in results if score.mind == mind]
        asks, invalid, cost = (
            sum(score.measures[name] for score in mine) for name in ("asks", "invalid", "cost_usd")
        )
        words = [passed(score) for score in mine]
        rows.append([mind, *words, f"{asks:,.0f}", f"{invalid:,.0f}", dollars(cost)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    for test in battery.tests:
        lines += ["", f"{test.title} ({test.source})", *_wrapped(f"Passed when {test.rule}", "  ")]
        for result in (score for score in results if score.test == test):
            lines += _wrapped(f"{result.mind} {passed(result)}: {result.words}", "  ")
    if published := [score for score in battery.published if not score.test]:
        lines += ["", "Published"]
        for known in published:
            lines += _wrapped(f"{known.mind}: {known.found} ({known.source})", "  ")
    before = len(results) * len(screening.seeds) - screening.ran
    if before:
        lines += ["", f"{before} of {len(results) * len(screening.seeds)} runs are from before."]
    written = next(path for path in files if path.suffix == ".html")
    return "\n".join([*lines, "", f"Report: {written}"])


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(text, 96, initial_indent=indent, subsequent_indent=2 * indent,
                break_on_hyphens=False, break_long_words=False)  # fmt: skip


def _summary(
    screening: Screening, results: Sequence[ScreeningResult], files: Sequence[Path]
) -> dict[str, Any]:
    return {
        "set": screening.battery.name,
        "minds": screening.minds,
        "seeds": screening.seeds,
        "tests": [
            {
                "test": result.test.name, "mind": result.mind, "passes": result.passes,
                "found": result.words, "rule": result.test.rule, "measures": result.measures,
            }
            for result in results
        ],
        "published": [asdict(score) for score in screening.battery.published],
        "ran": screening.ran,
        "files": [str(path) for path in files],
    }  # fmt: skip
