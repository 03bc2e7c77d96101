"""The public goods game in the browser: ``solara run examples/public_goods/app.py``."""

from sabm_mesa import PublicGoods
from sabm_mesa.visualization.pages.scenario import View

page = View(PublicGoods)
