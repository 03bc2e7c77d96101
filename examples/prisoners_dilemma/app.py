"""The prisoner's dilemma in the browser: ``solara run examples/prisoners_dilemma/app.py``."""

from pathlib import Path

from sabm_mesa.models.registry import load
from sabm_mesa.visualization.viewer.scenario import View

page = View(load(str(Path(__file__).with_name("prisoners_dilemma.py"))))
