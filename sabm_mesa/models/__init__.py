"""The models: one file per scenario, whose docstring is its spec sheet, and their base class."""
