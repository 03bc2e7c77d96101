"""The report: what died where, what was paid twice, and what came out otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tests.chaos.deaths import KINDS
from tests.chaos.kills import TWICE
from tests.chaos.outcomes import Outcome
from tests.chaos.points import POINTS
from tests.chaos.stops import KINDS as STOPS

HEAD = ("scenarios", "in flight at death", "paid twice", "of those in flight", "divergent")
MOST_PROBLEMS = 10


def report(
    died: Sequence[Outcome],
    killed: Sequence[Outcome],
    stopped: Sequence[Outcome],
    seed: int,
    took_s: float,
) -> str:
    """The tables, and whether there is any fault.

    Args:
        died: the simulated deaths.
        killed: the real ones.
        stopped: commands that were stopped otherwise.
        seed: the first seed.
        took_s: seconds it all took.
    """
    kills = sum(1 + (each.point == TWICE) for each in killed)
    studies = list(dict.fromkeys(each.scenario for each in (*died, *killed, *stopped)))
    counts = f"{len(died):,} simulated deaths, {kills} SIGKILLs and {len(stopped)} stops"
    lines = [f"{counts} in {took_s:.0f} s, seed {seed}."]
    if died:
        by_point = [(study, point) for study in studies for point in POINTS]
        lines += ["", "By case study and point of death:"]
        lines += _table(died, lambda each: (each.scenario, each.point), by_point)
        lines += ["", "By what died:"]
        lines += _table(died, lambda each: (each.kind, ""), [(kind, "") for kind in KINDS])
    if killed:
        lines += ["", "Commands that were killed (SIGKILL) and resumed:"]
        by_moment = [(study, p) for study in studies for p in {each.point: 0 for each in killed}]
        lines += _table(killed, lambda each: (each.scenario, each.point), by_moment)
    if stopped:
        lines += ["", "Commands of several runs that were stopped and resumed:"]
        lines += _table(stopped, lambda each: (each.point, ""), [(kind, "") for kind in STOPS])
    return "\n".join([*lines, "", *_verdict([*died, *killed, *stopped]), ""])


def faults(outcomes: Sequence[Outcome]) -> int:
    """Deaths after which something was not as it must be."""
    return sum(bool(each.problem) or each.beyond > 0 for each in outcomes)


def _verdict(outcomes: Sequence[Outcome]) -> list[str]:
    if not (wrong := faults(outcomes)):
        return ["No answer was paid twice that had not been in flight, and nothing diverged."]
    problems = Counter(each.problem for each in outcomes if each.problem)
    return [f"{wrong} FAULTS:", *(text for text, _ in problems.most_common(MOST_PROBLEMS))]


def _table(
    outcomes: Sequence[Outcome],
    by: Callable[[Outcome], tuple[str, str]],
    groups: Sequence[tuple[str, str]],
) -> list[str]:
    found = {group: [each for each in outcomes if by(each) == group] for group in groups}
    parts = {group: some for group, some in found.items() if some} | {("in all", ""): outcomes}
    texts = [
        ["", "", *HEAD],
        *([*group, *(f"{n:,}" for n in _sums(some))] for group, some in parts.items()),
    ]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if place < 2 else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    ]


def _sums(outcomes: Sequence[Outcome]) -> list[int]:
    twice = sum(each.twice for each in outcomes)
    return [
        len(outcomes),
        sum(each.in_flight for each in outcomes),
        twice,
        twice - sum(each.beyond for each in outcomes),
        sum(bool(each.problem) for each in outcomes),
    ]
