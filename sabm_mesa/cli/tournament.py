"""``sabm tournament``."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FileMindOptions,
    FirstSeed,
    LLMOptions,
    RunsOn,
    ScenarioName,
    SettingOptions,
    Workers,
    isolation_of,
    with_options,
)
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.studies.tournament import Tournament

REASONS = 5
"""The maximum number of entrants with a printed reason for invalid decisions."""
REASON = 200
"""The maximum printed length of a reason; ``reasons.csv`` has the whole text."""


@app.command()
@with_options
def tournament(
    name: ScenarioName,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES…",
            help="Minds that compete: FILE.py, FILE.py:NAME, or another spec such as llm:MODEL.",
        ),
    ],
    *,
    against: Annotated[
        list[str] | None,
        typer.Option(help="Additional mind that competes, such as classical. Repeatable."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Runs per seating.")] = 10,
    seed: FirstSeed = 1,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="pairs|population",
            help="Play in pairs (round-robin), or all together in one population (default: set by "
            "the scenario).",
        ),
    ] = None,
    setting: SettingOptions,
    on: RunsOn = "here",
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder (default: out/tournament-SCENARIO).")
    ] = None,
    llm: LLMOptions,
    isolation: FileMindOptions,
    as_json: AsJson = False,
) -> None:
    """Play minds from files against one another, and rank them."""
    from sabm_mesa.cli.progress import RunsDone
    from sabm_mesa.cli.report import reporting_lost
    from sabm_mesa.recording import export
    from sabm_mesa.runs.sweep import RECORDING
    from sabm_mesa.studies import tournament as tournaments

    model = registry.load(name)
    parameters = setting.parameters()
    if "minds" in parameters:
        raise ParameterError("Name the minds of a tournament after the scenario, not with --set.")
    connection = llm.connection()
    folder = out or Path("out", f"tournament-{model.scenario_name}")
    isolation.apply()
    minds = [*files, *(against or [])]
    entered = [tournaments.spec_of(mind) for mind in minds]

    with (
        reporting_lost([folder / RECORDING], connection.prices),
        RunsDone(model.scenario_name, folder, lambda: isolation_of(entered)) as progress,
    ):
        played = tournaments.play(
            model, minds, folder=folder, form=form, parameters=parameters,
            runs=runs, seed=seed, on=on, workers=workers, connection=connection,
            watch=progress.show,
        )  # fmt: skip
    if as_json:
        files_written = [str(path) for path in [*played.sweep.files, *played.files]]
        where = {"recording": str(played.sweep.path), "files": files_written}
        say(export.readable_json({**played.summary(), **where}))
    else:
        say(_said(played))


def _said(played: Tournament) -> str:
    """Return the ranking as a table, the most frequent reasons, and the files."""
    grid, score = played.sweep.grid, played.score
    how = "in pairs" if score.pairs else f"{played.agents} agents in one population"
    lower = ", lower is better" if score.lower_is_better else ""
    kept = len(grid.cells) - played.sweep.ran
    before = f", {kept} of them from before" if kept else ""
    head = (
        f"{grid.model.title}: {len(played.entered)} minds, {how}, {len(grid.cells)} runs{before}; "
        f"{score.label}{lower}"
    )
    lost = played.ranking[played.ranking["invalid"] > 0].head(REASONS)
    reasons = [
        f"  {row.entrant}: {textwrap.shorten(str(row.reason), REASON, placeholder='…')}"
        for row in lost.itertuples()
    ]
    lines = [head, *_table(played), *reasons]
    dollars = float(played.sweep.runs["cost_usd"].sum(skipna=False))
    if math.isnan(dollars):
        lines.append("The price of a model is not known: list it in a price file (--prices).")
    elif dollars:
        lines.append(f"Spent on these runs in all: ${dollars:.4f}")
    names = [played.sweep.path.name, *(path.name for path in played.files)]
    return "\n".join([*lines, f"Written to {played.sweep.path.parent}: {', '.join(names)}"])


def _table(played: Tournament) -> list[str]:
    head = ("rank", "mind", "mean", "95 % interval", "invalid")
    rows = [
        (
            str(row["rank"]), str(row["entrant"]), _number(row["score"]),
            "" if math.isnan(row["low"]) else f"{_number(row['low'])} – {_number(row['high'])}",
            f"{row['invalid']:,} of {row['decisions']:,}",
        )
        for row in played.ranking.to_dict("records")
    ]  # fmt: skip
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    aligned = [
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        for row in (head, *rows)
    ]
    return ["  " + "  ".join(row).rstrip() for row in aligned]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
