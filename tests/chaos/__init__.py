"""Crash tests: commands that ask a language model are killed at random moments, and go on.

``python -m tests.chaos`` (``make chaos``) prints a report, and ends with status 1 when a resumed
command does not come out as the uninterrupted one, or an answer was paid twice that was not in
flight when the process died. It needs a system with `os.fork`.
"""
