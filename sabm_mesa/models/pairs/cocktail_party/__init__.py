"""Cocktail party: free talk in pairs."""
