"""One group in the browser: ``solara run examples/mixed_study/app.py``."""

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.visualization.pages.scenario import View

page = View(RepeatedBeautyContest)
