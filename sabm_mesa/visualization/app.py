"""The viewer: one app for all scenarios.

Start it with ``sabm view``, or with ``solara run sabm_mesa.visualization.app``. It does not execute
input from the browser: Mesa's command console is left out.
"""

# No string annotations here: Solara calls the annotations with the parts of the path. Pages are
# imported when they are drawn (`sabm_mesa.visualization.loading`).
import atexit
import gc

import solara
import solara.lab
from solara.server import settings

from sabm_mesa.errors import UsageError
from sabm_mesa.models.registry import scenario
from sabm_mesa.visualization import loading
from sabm_mesa.visualization.closing import close_all, end_with_the_server
from sabm_mesa.visualization.frame import Head, Layout
from sabm_mesa.visualization.html import inside, problem

settings.theme.show_banner = False  # also when Solara runs the app
settings.theme.loader = "plain"
solara.lab.on_kernel_start(end_with_the_server)


def _load() -> None:
    """Import Mesa, the pages and all scenarios."""
    gc.disable()  # loaded modules are not garbage: scanning them would delay pages
    try:
        # Mesa first: its logger scans all loaded modules for each frame of the stack.
        import mesa  # noqa: F401

        from sabm_mesa.visualization.pages import (  # noqa: F401
            home,
            host,
            recording,
            scenario,
            screen,
        )

        home.load_all()
        atexit.register(close_all)
        gc.freeze()
    finally:
        gc.enable()


loading.begin(_load)


@solara.component
def Home() -> None:
    """The list of scenarios."""
    from sabm_mesa.visualization.pages import home

    home.Page()


@solara.component
def ScenarioByName(name: str = "") -> None:
    """The page of a registered scenario.

    Args:
        name: its name.
    """
    from sabm_mesa.visualization.pages.scenario import ScenarioPage

    try:
        model = scenario(name)
    except UsageError as error:
        Head("Not found")
        with inside("main", "sabm-home"):
            problem(str(error))
        return
    ScenarioPage(model).key(name)


@solara.component
def Recordings() -> None:
    """The list of recordings, or one recording."""
    from sabm_mesa.visualization.pages import recording

    recording.Page()


@solara.component
def Screen(code: str = "") -> None:
    """The wall of one class.

    Args:
        code: its code.
    """
    from sabm_mesa.visualization.pages import screen

    screen.Page(code)


@solara.component
def ReadOnlyScreen(token: str = "") -> None:
    """The wall of one class, by its read-only link.

    Args:
        token: the secret of the link.
    """
    from sabm_mesa.visualization.pages import screen

    screen.ReadOnlyPage(token)


@solara.component
def Host() -> None:
    """The games of the current browser."""
    from sabm_mesa.visualization.pages import host

    host.Page()


routes = [
    solara.Route("/", component=Home, layout=Layout, label="sabm"),
    solara.Route("scenario", component=ScenarioByName, label="Scenario"),
    solara.Route("recording", component=Recordings, label="Recordings · sabm"),
    solara.Route("screen", component=Screen, label="On the wall · sabm"),
    solara.Route("wall", component=ReadOnlyScreen, label="On the wall · sabm"),
    solara.Route("host", component=Host, label="Play with people · sabm"),
]
