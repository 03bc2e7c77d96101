"""Plots: functions from data frames to matplotlib figures; nothing here writes a file."""
