"""A warehouse in the browser: ``solara run examples/warehouse/app.py``."""

from pathlib import Path

from sabm_mesa.models.registry import load
from sabm_mesa.visualization.pages.scenario import View

page = View(load(str(Path(__file__).with_name("warehouse.py"))))
