"""``sabm import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, Settings, complete_scenarios, parameters_from


@app.command("import")
def import_(
    data: Annotated[
        Path,
        typer.Argument(
            help="CSV table: one row per decision, or one per round with a column per player."
        ),
    ],
    *,
    scenario: Annotated[
        str,
        typer.Option(
            help="Scenario of the decisions, or your own file: FILE.py or FILE.py:CLASS.",
            autocompletion=complete_scenarios,
        ),
    ],
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="FIELD=COLUMN",
            help="Column of a field: run, round, player, decision, mind, condition, or the name of "
            "another question. A+B joins two columns; A|B names one column per player. Fields "
            "other than condition default to the column of the same name. Repeatable.",
        ),
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT=VALUE",
            help="Decision for a value of the table, such as J=cooperate. Repeatable.",
        ),
    ] = None,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Path of the recording (default: next to the table, with its name)."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make a recording from a table of decisions, for fit, compare, plots, viewer and export."""
    from sabm_mesa.core.toml_io import expand_home
    from sabm_mesa.models import registry
    from sabm_mesa.recording import export
    from sabm_mesa.recording.importing import digest, import_table, read_map, read_table

    file = expand_home(str(data))
    table = read_table(file)
    path = out or file.with_name(file.name.split(".")[0] + ".sqlite")
    imported = import_table(
        table, registry.load(scenario), path, columns=read_map(map_ or []),
        values=read_map(value or [], "--value", "TEXT=VALUE, such as J=cooperate"),
        parameters=parameters_from(set_ or [], {}), source=f"{file.name}, SHA-256 {digest(file)}",
    )  # fmt: skip
    if as_json:
        say(
            export.readable_json(
                {"recording": str(path), "runs": imported.runs, "decisions": imported.decisions,
                 "problems": list(imported.problems)}
            )
        )  # fmt: skip
        return
    for problem in imported.problems:
        say(problem)
    runs = f"{imported.runs:,} run{'' if imported.runs == 1 else 's'}"
    say(f"{imported.decisions:,} decisions of {runs} are in {path}.")
