"""Tests with the real model in the box."""
