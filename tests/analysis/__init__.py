"""Tests of `sabm_mesa.analysis`."""
