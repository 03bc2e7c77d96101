"""``sabm new`` and ``sabm scenarios``."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from sabm_mesa.cli.app import AsJson, app, say


@app.command()
def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the scenario, such as my_scenario."),
    ],
    into: Annotated[Path, typer.Option(help="Where its folder is made.")] = Path(),
) -> None:
    """Write a small scenario of your own that works, as a package to start from."""
    from sabm_mesa.scaffold import new_scenario

    folder = new_scenario(name, into)
    say(
        f"{folder} holds a scenario that works. Go on there:\n"
        f"  cd {quote(str(folder))}\n"
        "  pytest                 # it conforms, without being installed\n"
        "  solara run app.py      # its page in the browser\n"
        f"  pip install -e .       # then also: sabm run {name}, sabm view"
    )


@app.command()
def scenarios(as_json: AsJson = False) -> None:
    """List the scenarios: those of this package and of others that are installed."""
    from sabm_mesa import registry
    from sabm_mesa.recording.outputs import as_json as text_of

    found = registry.find_all()
    rows = [
        {
            "name": name,
            "title": model.title,
            "package": registry.outside()[name].package if name in registry.outside() else "",
        }
        for name, model in found.models.items()
    ]
    if as_json:
        say(text_of({"scenarios": rows, "problems": found.problems}))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        origin = f" ({row['package']})" if row["package"] else ""
        say(f"{row['name']:{width}}  {row['title']}{origin}")
    for problem in found.problems:
        say(f"sabm: {problem}", err=True)
