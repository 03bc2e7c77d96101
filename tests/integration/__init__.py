"""Tests against a third-party server: llama.cpp with a tiny model of random weights."""
