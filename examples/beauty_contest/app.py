"""The repeated beauty contest in the browser: ``solara run examples/beauty_contest/app.py``."""

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.visualization.pages.scenario import View

page = View(RepeatedBeautyContest)
