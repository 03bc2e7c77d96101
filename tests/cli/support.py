"""Call the command line inside the test's process."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sabm_mesa.cli import main
from sabm_mesa.llm.endpoints import WAYS


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


class Sabm:
    """The command line as a function of its arguments."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Outcome:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, captured.out, captured.err)


def one_line(outcome: Outcome) -> str:
    """The one line of an error; the ways on from a missing key, which follow it, are indented."""
    problem = outcome.err.removesuffix("".join(f"  {way}\n" for way in WAYS))
    lines = [line for line in problem.split("\n") if line.strip()]
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("sabm: ")
    return lines[0].removeprefix("sabm: ")
