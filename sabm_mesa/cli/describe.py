"""``sabm describe`` and ``sabm scenarios``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    AsJson,
    FileMindOptions,
    RunOptions,
    ScenarioFile,
    complete_scenarios,
    is_recording,
)
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from collections.abc import Mapping


@app.command("describe", blocks=[RunOptions, FileMindOptions])
def describe_(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|RECORDING",
            help="Name of a scenario, such as kbc; its file, FILE.py; or a recording, such as "
            "out/recording.sqlite.",
            autocompletion=complete_scenarios,
        ),
    ],
    *,
    run: Annotated[
        list[int] | None,
        typer.Option(
            "--run",
            help="Only this run of the recording (default: all runs of its latest command). "
            "Repeatable.",
        ),
    ] = None,
    scenario: ScenarioFile = None,
    no_prompts: Annotated[
        bool, typer.Option("--no-prompts", help="Leave out the prompts.")
    ] = False,
    checklist: Annotated[
        bool,
        typer.Option(
            "--checklist",
            help="Write the GUIDE-LLM reporting checklist instead, filled in from the runs.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a scenario or recorded runs by the ODD protocol, with all prompts and their hashes.

    With options of sabm run, such as --minds, it describes runs with these settings. The output is
    Markdown, formatted in a terminal.
    """
    from sabm_mesa import describe
    from sabm_mesa.recording import export

    if scenario is not None:
        registry.load(scenario)
    parameters = RunOptions.of(context).parameters()
    FileMindOptions.of(context).apply([parameters.get("minds", "classical")])
    description = _description(name, parameters, run, checklist=checklist)
    if as_json:
        say(export.readable_json(description))
    elif checklist:
        _show(describe.checklist_as_markdown(description))
    else:
        _show(describe.as_markdown(description, prompts=not no_prompts))


def _show(markdown: str) -> None:
    """Print Markdown: formatted in a terminal, as it is into a file or another program."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(markdown))
    else:
        say(markdown.rstrip("\n"))


def _description(
    name: str, parameters: dict[str, Any], run: list[int] | None, *, checklist: bool
) -> Mapping[str, Any]:
    from sabm_mesa import describe

    if not is_recording(name):
        if run is not None:
            raise ParameterError(f"--run chooses runs of a recording, but {name} is a scenario.")
        of_scenario = describe.checklist if checklist else describe.describe
        return of_scenario(registry.load(name), parameters=parameters)
    if parameters:
        raise ParameterError(
            f"{name} is a recording, which has the parameters of its runs: leave out "
            f"{', '.join(sorted(parameters))}, or describe its scenario."
        )
    if checklist:
        return describe.checklist_of_recording(name, run)
    return describe.describe_recording(name, run)


@app.command()
def scenarios(as_json: AsJson = False) -> None:
    """List the scenarios of this package and of other installed packages."""
    titles, problems = registry.find_titles()
    outside = registry.outside()
    rows = [
        {"name": name, "title": title, "package": outside[name].package if name in outside else ""}
        for name, title in titles.items()
    ]
    if as_json:
        from sabm_mesa.recording import export  # slow to import

        say(export.readable_json({"scenarios": rows, "problems": problems}))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        origin = f" ({row['package']})" if row["package"] else ""
        say(f"{row['name']:{width}}  {row['title']}{origin}")
    for problem in problems:
        say(f"sabm: {problem}", err=True)
