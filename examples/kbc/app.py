"""The Keynesian beauty contest in the browser: ``solara run examples/kbc/app.py``."""

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.visualization.pages.scenario import View

page = View(KeynesianBeautyContest)
