"""Bertrand competition."""
