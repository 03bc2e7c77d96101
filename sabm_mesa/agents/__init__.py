"""Agents: their base class, and the parts they are made of."""
