"""The games of this server."""

from sabm_mesa.runs.game import Games

GAMES = Games()
"""The games of this server: one process plays them, and serves every browser."""
