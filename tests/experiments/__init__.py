"""Tests of `sabm_mesa.experiments`."""
