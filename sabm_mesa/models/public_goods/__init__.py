"""Public goods: contributions to a pot that is multiplied and split."""
