"""``sabm play``."""

from __future__ import annotations

from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    BaseURL,
    EndpointsFile,
    FileMindOptions,
    RunOptions,
    ScenarioName,
    isolation_of,
    with_options,
)


@app.command()
@with_options
def play(
    name: ScenarioName,
    *,
    setting: RunOptions,
    as_: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="CLASS",
            help="Where there are several classes of agents the one that you belong to; the first "
            "by default.",
        ),
    ] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed; drawn by default.")] = None,
    base_url: BaseURL = None,
    endpoints: EndpointsFile = None,
    isolation: FileMindOptions,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds until a question is given up; no limit.")
    ] = None,
) -> None:
    """Take one seat of a scenario yourself, here in the terminal; --minds decide for the others."""
    from sabm_mesa.cli.seat import play as take_seat
    from sabm_mesa.llm import Connection, read_endpoints

    parameters = setting.parameters(rng=seed)
    others = parameters.pop("minds", "classical")
    parameters["connection"] = Connection(base_url, read_endpoints(endpoints) if endpoints else {})
    isolation.apply()
    if line := isolation_of([others]):
        say(line, err=True)
    take_seat(name, parameters, others=others, seats_of=as_, time_limit_s=time_limit, say=say)
