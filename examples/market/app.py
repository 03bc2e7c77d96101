"""A market with births in the browser: ``solara run examples/market/app.py``."""

from pathlib import Path

from sabm_mesa.models.registry import load
from sabm_mesa.visualization.viewer.scenario import View

page = View(load(str(Path(__file__).with_name("market.py"))))
