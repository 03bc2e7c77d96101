"""Emergency evacuation."""
