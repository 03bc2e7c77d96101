"""Repeated beauty contests in mixed groups."""
