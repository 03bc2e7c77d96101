"""The Bertrand competition in the browser: ``solara run examples/bertrand/app.py``."""

from sabm_mesa import BertrandCompetition
from sabm_mesa.visualization.pages.scenario import View

page = View(BertrandCompetition)
