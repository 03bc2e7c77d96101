"""Minds from Python files, each in a process of its own: mind, client, supervisor, worker."""
