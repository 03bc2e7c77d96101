"""Experiments: conditions of a scenario, their measures, and claims about them."""
