"""The process of a file, from outside: why it ended, and what is believed of it."""

import signal
from typing import Any

import pytest

from sabm_mesa.minds.files.process import DEEPEST, _outcome, _why


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (-signal.SIGXCPU, "longer than 0.5 s"),
        (128 + signal.SIGXCPU, "longer than 0.5 s"),
        (-signal.SIGHUP, "SIGHUP"),
        (128 + signal.SIGKILL, "SIGKILL"),
        (-signal.SIGSEGV, "SIGSEGV"),
        (0, "(exit status 0)"),
        (4, "(exit status 4)"),
    ],
)
def test_why_a_process_ended(status: int, says: str) -> None:
    assert says in _why(status, 0.5)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ('{"problem": "no idea", "lost": true}', {"problem": "no idea", "lost": True}),
        ('{"answer": 5}', {"answer": 5}),
        ('{"answer": {"a": [1, null, "x"]}}', {"answer": {"a": [1, None, "x"]}}),
        ('{"answer": 5, "lost": true}', {"answer": 5}),
        (f'{{"answer": {"[" * DEEPEST}{"]" * DEEPEST}}}', None),
        ('{"problem": 5}', "nothing"),
        ('{"name": "Five"}', "nothing"),
        ("{}", "nothing"),
        ("[]", "nothing"),
        ("5", "nothing"),
        ("junk", "nothing"),
        ("\xff", "nothing"),
        ('{"answer": NaN}', "nothing"),
        (f'{{"answer": {"5" * 5000}}}', "nothing"),
        (f'{{"answer": {"[" * (DEEPEST + 1)}{"]" * (DEEPEST + 1)}}}', "nothing"),
        (f'{{"answer": {"[" * 100_000}', "nothing"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_only_what_a_mind_may_write_is_believed(line: str, outcome: Any) -> None:
    if outcome == "nothing":
        with pytest.raises((ValueError, RecursionError)):
            _outcome(line.encode("latin-1"))
    else:
        found = _outcome(line.encode())
        assert outcome in (None, found)
