"""Runs: single and several runs, sweeps, replays, and costs."""
