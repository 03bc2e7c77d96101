"""``sabm tournament``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FileMindOptions,
    FirstSeed,
    LLMOptions,
    ScenarioName,
    SettingOptions,
    isolation_of,
)
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry


@app.command(blocks=[SettingOptions, LLMOptions, FileMindOptions])
def tournament(
    context: typer.Context,
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
    out: Annotated[
        Path | None, typer.Option(help="Folder (default: out/tournament-SCENARIO).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play minds from files against one another, and rank them."""
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver_report
    from sabm_mesa.runs.sweep import RECORDING
    from sabm_mesa.studies import tournament as tournaments

    model = registry.load(name)
    parameters = SettingOptions.of(context).parameters()
    if "minds" in parameters:
        raise ParameterError("Name the minds of a tournament after the scenario, not with --set.")
    connection = LLMOptions.of(context).connection()
    folder = out or Path("out", f"tournament-{model.scenario_name}")
    FileMindOptions.of(context).apply()
    minds = [*files, *(against or [])]
    entered = [tournaments.spec_of(mind) for mind in minds]

    with session(model.scenario_name, [folder / RECORDING], connection.prices) as progress:
        progress.notice = lambda: isolation_of(entered)
        played = tournaments.play(
            model, minds, folder=folder, parameters=parameters, runs=runs, seed=seed,
            connection=connection, watch=progress.show_runs,
        )  # fmt: skip
    deliver_report(played.report(), folder, "tournament", as_json)
