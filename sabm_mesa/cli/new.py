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
    into: Annotated[Path, typer.Option(help="Parent folder of the new folder.")] = Path(),
) -> None:
    """Write a small working scenario to start from, as a Python package."""
    from sabm_mesa.scaffold import new_scenario

    folder = new_scenario(name, into)
    say(
        f"{folder} holds a working scenario. Continue there:\n  cd {quote(str(folder))}\n  pytest  "
        "               # check it, without installing it\n  solara run app.py      # its "
        f"page in the browser\n  pip install -e .       # then also: sabm run {name}, sabm view"
    )
