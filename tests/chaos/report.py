"""The outcomes of killed and stopped commands, and their report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HEAD = ("", "times", "in flight", "paid twice", "of those in flight", "divergent")
MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one command that was killed or stopped, and went on.

    Attributes:
        command: the command, and what ended it.
        in_flight: requests whose answers were not recorded yet when it was killed.
        twice: answers that were paid for again.
        problem: what did not come out as it has to, or ``""``.
    """

    command: str
    in_flight: int
    twice: int
    problem: str = ""

    @property
    def beyond(self) -> int:
        """Answers that were paid for again and had not been in flight."""
        return max(0, self.twice - self.in_flight)


def write(outcome: Outcome, path: Path) -> None:
    """Append to a file, in one line; several processes may."""
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(asdict(outcome)).encode() + b"\n")


def read(path: Path) -> Iterator[Outcome]:
    """All that was written."""
    for line in path.read_text("utf-8").splitlines():
        yield Outcome(**json.loads(line))


def faults(outcomes: Sequence[Outcome]) -> int:
    """Trials after which something was not as it must be."""
    return sum(bool(each.problem) or each.beyond > 0 for each in outcomes)


def report(outcomes: Sequence[Outcome], seed: int, took_s: float) -> str:
    """The table, and whether there is any fault.

    Args:
        outcomes: one for each trial.
        seed: the first seed.
        took_s: seconds it all took.
    """
    groups = {
        name: [each for each in outcomes if each.command == name]
        for name in sorted({each.command for each in outcomes})
    } | {"in all": list(outcomes)}
    texts = [HEAD, *((name, *(f"{n:,}" for n in _sums(some))) for name, some in groups.items())]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [f"{len(outcomes)} commands were killed or stopped in {took_s:.0f} s, seed {seed}."]
    lines += [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in texts
    ]
    problems = Counter(each.problem for each in outcomes if each.problem)
    verdict = ["No answer was paid twice that had not been in flight, and nothing diverged."]
    if wrong := faults(outcomes):
        verdict = [f"{wrong} FAULTS:", *(text for text, _ in problems.most_common(MOST_PROBLEMS))]
    return "\n".join([*lines, *verdict, ""])


def _sums(outcomes: Sequence[Outcome]) -> list[int]:
    twice = sum(each.twice for each in outcomes)
    return [
        len(outcomes),
        sum(each.in_flight for each in outcomes),
        twice,
        twice - sum(each.beyond for each in outcomes),
        sum(bool(each.problem) for each in outcomes),
    ]
