"""Benchmarks: ratios measured in one run, never timed tests.

``python -m benchmarks`` runs the default benchmarks, prints tables and writes
``benchmarks/results.json``. ``python -m benchmarks NAME …`` runs the named ones.
"""
