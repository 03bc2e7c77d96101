"""The outcome of a death, and the form in which processes report it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one death, or of several in a row.

    Attributes:
        scenario: the case study.
        kind: what died.
        point: where it died.
        in_flight: answers that were paid for and not used yet at death.
        twice: answers that were paid for again.
        beyond: those of them that had not been in flight.
        problem: what did not come out as it has to, or ``""``.
    """

    scenario: str
    kind: str
    point: str
    in_flight: int
    twice: int
    beyond: int
    problem: str = ""


def write(outcomes: Iterable[Outcome], path: Path) -> None:
    """Append to a file, one line each; several processes may."""
    with path.open("ab", buffering=0) as file:
        for outcome in outcomes:
            file.write(json.dumps(asdict(outcome)).encode() + b"\n")


def read(path: Path) -> Iterator[Outcome]:
    """All that was written."""
    for line in path.read_text("utf-8").splitlines():
        yield Outcome(**json.loads(line))
