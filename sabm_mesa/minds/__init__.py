"""Minds: whatever decides for an agent."""
