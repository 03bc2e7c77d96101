"""Tests of `sabm_mesa.studies.experiments`."""
