"""The emergency evacuation in the browser: ``solara run examples/evacuation/app.py``."""

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.visualization.pages.scenario import View

page = View(EmergencyEvacuation)
