"""Finite games as data: the scenario ``games``."""
