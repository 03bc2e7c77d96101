"""Tests of the course and the examples: what they say and show holds."""
