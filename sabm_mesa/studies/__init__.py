"""Studies of many runs: experiments, screening, judging and tournaments."""
