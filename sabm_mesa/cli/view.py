"""``sabm view``."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    HOST,
    PORT,
    BaseURL,
    EndpointsFile,
    FileMindOptions,
    complete_scenarios,
    is_recording,
)
from sabm_mesa.models import registry


@app.command(blocks=[FileMindOptions])
def view(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO|RECORDING]",
            help="Open the page of this scenario or recording.",
            autocompletion=complete_scenarios,
        ),
    ] = None,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 opens games to the network.")
    ] = HOST,
    port: Annotated[int, typer.Option(min=1, max=65534, help="Port to listen on.")] = PORT,
    base_url: BaseURL = None,
    endpoints: EndpointsFile = None,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Open the viewer in a browser: watch scenarios, read recordings, play with people."""
    from sabm_mesa.llm.endpoints import ENDPOINTS_VARIABLE, URL_VARIABLE, check_url, read_endpoints
    from sabm_mesa.visualization.access import NETWORK, host_key
    from sabm_mesa.visualization.reading.store import runs_of
    from sabm_mesa.visualization.server import serve
    from sabm_mesa.visualization.web.recordings import PATH as RECORDINGS

    # Warnings of Solara on hooks and cookies concern authors of pages, not users.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"solara\.")
    path = "/"
    if name is not None and is_recording(name):
        registry.load_given(None, Path(name))
        runs_of(Path(name))  # an error is a line in the terminal
        path = f"{RECORDINGS}?{urlencode({'file': name})}"
    elif name is not None:
        is_built_in = name in registry.SCENARIOS  # loaded with the pages
        if not is_built_in:
            model = registry.load(name)
            getattr(model, "prompt_file", None)  # a plain Mesa model says that it has no pages
            name = model.scenario_name
        path = f"/scenario/{name}"
    FileMindOptions.of(context).apply()
    if base_url is not None:
        os.environ[URL_VARIABLE] = check_url(base_url)
    if endpoints is not None:
        read_endpoints(endpoints)
        os.environ[ENDPOINTS_VARIABLE] = str(endpoints.resolve())

    def ready(address: str) -> None:
        say(f"The viewer is at {address} (end it with Ctrl-C).")
        if NETWORK.address:
            say("Only this computer reaches it. Others reach only games, walls and recordings:")
            say(f"Hosts open {NETWORK.address}/host?key={host_key()}")
            say(f"People join at {NETWORK.address}/join")

    say("Starting the viewer …", err=True)
    serve(host, port, path, open_browser=browser, ready=ready)
