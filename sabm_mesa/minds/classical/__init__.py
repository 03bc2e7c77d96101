"""Classical minds: behavioural models from the literature, one file per scenario."""
