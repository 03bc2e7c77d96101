"""Minds: rules, language models, people, scripts and recordings that decide for agents."""
