"""Runs: one, many, sweeps, replays, and what they cost."""
