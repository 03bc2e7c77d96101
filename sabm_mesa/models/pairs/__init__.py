"""Agents that invite one another and talk in pairs: the cocktail party, and joint sentences."""
