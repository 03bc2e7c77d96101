"""The scenarios, one folder each, and the base class of their models."""
