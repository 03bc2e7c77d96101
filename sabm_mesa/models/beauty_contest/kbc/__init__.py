"""Keynesian beauty contest."""
