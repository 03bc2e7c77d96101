"""Minds from Python files, each file in its own process: mind, process, sandbox, worker."""
