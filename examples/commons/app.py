"""The fishery in the browser: ``solara run examples/commons/app.py``."""

from sabm_mesa import Fishery
from sabm_mesa.visualization.pages.scenario import View

page = View(Fishery)
