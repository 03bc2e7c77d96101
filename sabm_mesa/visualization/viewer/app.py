"""The pages of Solara: one app for all scenarios.

Start it with ``sabm view``, or with ``solara run sabm_mesa.visualization.viewer.app``. It does not
execute input from the browser: Mesa's command console is left out.
"""

# No string annotations here: Solara calls the annotations with the parts of the path.
import atexit

import solara

from sabm_mesa.errors import UsageError
from sabm_mesa.models.registry import scenario
from sabm_mesa.visualization import run_controller
from sabm_mesa.visualization.viewer import home
from sabm_mesa.visualization.viewer.frame import Head, Layout
from sabm_mesa.visualization.viewer.html import inside, problem
from sabm_mesa.visualization.viewer.scenario import ScenarioPage
from sabm_mesa.visualization.web.games import GAMES


def close_all() -> None:
    """Close all displayed models and all games, and wait until pending answers are recorded.

    It starts no thread, since it also runs at the exit of the interpreter, when threads cannot
    start.
    """
    home.stop_drawing()
    run_controller.stop_all()
    GAMES.close_all()
    run_controller.close_all()


atexit.register(close_all)


@solara.component
def ScenarioByName(name: str = "") -> None:
    """The page of a registered scenario."""
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
]
