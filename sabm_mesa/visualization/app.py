"""The viewer: one app for all scenarios.

Start it with ``sabm view``, or with ``solara run sabm_mesa.visualization.app``. It runs nothing
that is typed in the browser: Mesa's command console is no part of it.
"""

# Annotations are no texts here: Solara calls them with the parts of the path.
import atexit

import solara
import solara.lab
from solara.server import settings

from sabm_mesa.errors import UsageError
from sabm_mesa.models.registry import scenario
from sabm_mesa.visualization.closing import close_all, end_with_the_server
from sabm_mesa.visualization.frame import Head, Layout
from sabm_mesa.visualization.html import inside, problem
from sabm_mesa.visualization.pages import home, host, recording, screen
from sabm_mesa.visualization.pages.scenario import ScenarioPage

settings.theme.show_banner = False  # also when the app is run by Solara itself
settings.theme.loader = "plain"
atexit.register(close_all)
solara.lab.on_kernel_start(end_with_the_server)


@solara.component
def ScenarioByName(name: str = "") -> None:
    """The page of a scenario of the registry.

    Args:
        name: its name.
    """
    try:
        model = scenario(name)
    except UsageError as error:
        Head("Not found")
        with inside("main", "sabm-home"):
            problem(str(error))
        return
    ScenarioPage(model).key(name)


routes = [
    solara.Route("/", component=home.Page, layout=Layout, label="sabm"),
    solara.Route("scenario", component=ScenarioByName, label="Scenario"),
    solara.Route("recording", component=recording.Page, label="Recordings · sabm"),
    solara.Route("screen", component=screen.Page, label="On the wall · sabm"),
    solara.Route("host", component=host.Page, label="Play with people · sabm"),
]
