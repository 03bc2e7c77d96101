"""Recordings in the viewer: finding, reading, comparing and showing them."""
