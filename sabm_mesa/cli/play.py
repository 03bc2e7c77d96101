"""``sabm play``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    HOST,
    PORT,
    EndpointOptions,
    FileMindOptions,
    RunOptions,
    ScenarioName,
)


@app.command(blocks=[RunOptions, EndpointOptions, FileMindOptions])
def play(
    context: typer.Context,
    name: ScenarioName,
    *,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed (default: random).")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds to answer a question (default: no limit)."),
    ] = None,
    seats: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Open n seats for programs over HTTP, instead of one in the terminal.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on with --seats.")] = HOST,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port to listen on with --seats.")
    ] = PORT,
) -> None:
    """Play one seat of a scenario in the terminal. --minds sets the minds of the other agents.

    With --seats, programs take seats over HTTP.
    """
    from sabm_mesa.cli.seat import play as take_seat
    from sabm_mesa.cli.seat import serve

    parameters = RunOptions.of(context).parameters(rng=seed)
    others = parameters.pop("minds", "classical")
    parameters["connection"] = EndpointOptions.of(context).connection()
    FileMindOptions.of(context).apply([others])
    common: dict[str, Any] = {"others": others, "time_limit_s": time_limit, "say": say}
    if seats is None:
        take_seat(name, parameters, **common)
    else:
        serve(name, parameters, seats, host, port, **common)
