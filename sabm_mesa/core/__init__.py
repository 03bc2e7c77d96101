"""Questions and answers, and how a round is run."""
