"""Minds from Python files, each in its own process: mind, client, supervisor, worker."""
