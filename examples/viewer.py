"""All scenarios in the browser: ``solara run examples/viewer.py``."""

from sabm_mesa.visualization.viewer.app import routes

__all__ = ["routes"]
