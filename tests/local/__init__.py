"""Tests with the real default local model."""
