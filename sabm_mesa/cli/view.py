"""The viewer, from the command line."""

from __future__ import annotations

import typer

from sabm_mesa import registry

HOST, PORT = "127.0.0.1", 8765
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def view(
    name: str | None = None, *, host: str = HOST, port: int = PORT, browser: bool = True
) -> None:
    """Open the viewer, and serve it until it is interrupted.

    Args:
        name: the scenario whose page is opened; the home page when None.
        host: the address to listen at: loopback unless told otherwise.
        port: the port.
        browser: whether a browser is opened.

    Raises:
        UnknownName: for a scenario that does not exist.
        RunError: when the server cannot listen there.
    """
    from sabm_mesa.visualization.server import serve

    path = "/"
    if name is not None:
        registry.scenario(name)
        path = f"/scenario/{name}"
    typer.echo(f"The viewer is at http://{host}:{port}{path} (end it with Ctrl-C).")
    if host not in LOOPBACK:
        typer.echo(
            "Everybody who can reach this address can run models here, and spend money with the "
            "key in OPENAI_API_KEY.",
            err=True,
        )
    serve(host, port, path, open_browser=browser)
