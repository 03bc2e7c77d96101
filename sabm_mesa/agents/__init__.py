"""The agents: one file per scenario, and their base class."""
