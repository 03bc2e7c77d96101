"""Benchmarks: ratios measured in one run, never timed tests.

``python -m benchmarks`` runs all benchmarks, prints tables and writes ``benchmarks/results.json``.
``python -m benchmarks NAME …`` runs the named ones. ``python -m benchmarks.calibration`` simulates
how often verdicts are wrong.
"""
