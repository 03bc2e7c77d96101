"""``sabm new``."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say


@app.command()
def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the scenario, such as my_scenario."),
    ],
    into: Annotated[Path, typer.Option(help="Parent folder of the new file.")] = Path(),
    *,
    package: Annotated[
        bool, typer.Option("--package", help="Write a package with tests and a page.")
    ] = False,
) -> None:
    """Write a small working scenario to start from, as one Python file."""
    from sabm_mesa.scaffold import new_scenario

    path = new_scenario(name, into, package=package)
    file = quote(str(path))
    if package:
        say(
            f"{path} holds a working scenario. Continue there:\n  cd {file}\n  pytest              "
            "   # check it, without installing it\n  solara run app.py      # its page in the "
            f"browser\n  pip install -e .       # then also: sabm run {name}, sabm view"
        )
    else:
        say(
            f"{path} is a working scenario. Change it, and:\n  sabm check {file}\n"
            f"  sabm run {file}\n  sabm view {file}"
        )
