"""Sentence making: sentences of given words, alone or after talks in pairs."""
