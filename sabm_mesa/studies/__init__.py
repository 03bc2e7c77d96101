"""Studies of many runs: experiments, judging and tournaments."""
