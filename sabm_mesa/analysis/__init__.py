"""Analysis of runs: theory, statistics, process measures and plots."""
