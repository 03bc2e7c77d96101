"""Guessing games: the Keynesian beauty contest, and repeated beauty contests."""
