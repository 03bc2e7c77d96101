"""Screening: whether a mind is fit to play in the three scenarios, before money is spent on it."""
