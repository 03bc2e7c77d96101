"""Crash proof: processes that die at every boundary of an ask and at random moments, and go on.

``python -m tests.chaos`` (``make chaos``) prints a report, and ends with status 1 when a resumed
run does not come out as the uninterrupted one, or an answer was paid twice that was not in flight
when the process died. It needs a system with `os.fork`.
"""
