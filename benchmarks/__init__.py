"""Benchmarks: ratios measured in one run, never timed tests.

``python -m benchmarks`` measures all, prints a table and writes ``benchmarks/results.json``;
``python -m benchmarks NAME …`` measures some.
"""
