"""Score the reader of answers on a corpus of real ones: ``make corpus CORPUS=FILE``.

A corpus has an answer a line, as JSON (``.jsonl``, also ``.jsonl.gz``): ``text``, the ``value``
that the model marked in square brackets, as it had been asked to, ``legal`` (two limits, or the
options), ``question``, ``game`` and ``model``. Each is read twice: as it is, and without brackets
(``[$30]`` → ``$30``), as a model writes that is not asked for marks.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sabm_mesa import Choice, Number
from sabm_mesa.core.answers import AnswerSpec, InvalidAnswer

SHIPPED = Path(__file__).parent / "corpus" / "chatgpt.jsonl"
OUTCOMES = ("right", "unread", "wrong")
AIMS = {True: (0.97, 0.001), False: (0.70, 0.001)}
"""Marked or not → the smallest share that is right, and the largest one that is wrong."""


class Scored(NamedTuple):
    """An answer, and how it was read."""

    answer: dict[str, Any]
    marked: bool
    outcome: str
    read_as: str


def load(path: Path) -> list[dict[str, Any]]:
    """Load a corpus."""
    packed = path.suffix == ".gz"
    text = gzip.decompress(path.read_bytes()).decode() if packed else path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def without_marks(text: str) -> str:
    """Remove the square brackets around what stands in them."""
    return re.sub(r"\[([^\[\]]*)\]", r"\1", text)


def spec_of(answer: dict[str, Any]) -> AnswerSpec:
    """The spec of an answer, from its legal values."""
    first, *others = answer["legal"]
    return Choice((first, *others)) if isinstance(first, str) else Number(first, others[0])


def score(answers: Iterable[dict[str, Any]], *, marked: bool) -> list[Scored]:
    """Read all answers, with their marks or without."""
    scored = []
    for answer in answers:
        text = answer["text"] if marked else without_marks(answer["text"])
        try:
            reading = spec_of(answer).read(text, question=answer["question"])
        except InvalidAnswer:
            scored.append(Scored(answer, marked, "unread", ""))
            continue
        outcome = "right" if reading.value == answer["value"] else "wrong"
        scored.append(Scored(answer, marked, outcome, reading.read_as))
    return scored


def table(scored: list[Scored]) -> list[str]:
    """The rows of a table in Markdown: right, unread and wrong, by game and model."""
    rows = ["| marks | game | model | answers | right | unread | wrong |", "|" + "---|" * 7]
    groups: dict[tuple[str, str, str], Counter[str]] = {}
    for one in scored:
        marks = "as marked" if one.marked else "removed"
        for group in ((one.answer["game"], one.answer["model"]), ("all", "all")):
            groups.setdefault((marks, *group), Counter())[one.outcome] += 1
    for group, counts in sorted(groups.items()):
        n = counts.total()
        shares = [f"{100 * counts[outcome] / n:.2f} %" for outcome in OUTCOMES]
        rows.append("| " + " | ".join([*group, str(n), *shares]) + " |")
    return rows


def main(path: Path = SHIPPED) -> bool:
    """Print the table, and which steps read what; return whether the aims are reached."""
    answers = load(path)
    reached = True
    scored = [one for marked in (True, False) for one in score(answers, marked=marked)]
    sys.stdout.write("\n".join([*table(scored), ""]))
    for marked, (least, most) in AIMS.items():
        some = [one for one in scored if one.marked == marked]
        right, wrong = (
            sum(one.outcome == o for one in some) / len(some) for o in ("right", "wrong")
        )
        met = right >= least and wrong <= most
        reached = reached and met
        steps = Counter(one.read_as for one in some if one.read_as)
        said = ", ".join(f"{step} {n}" for step, n in steps.most_common())
        sys.stdout.write(
            f"\nMarks {'kept' if marked else 'removed'}: {100 * right:.2f} % right "
            f"(aim: {100 * least:g}), "
            f"{100 * wrong:.2f} % wrong (aim: at most {100 * most:g}): "
            f"{'reached' if met else 'missed'}. Read as: {said}.\n"
        )
    return reached


if __name__ == "__main__":
    sys.exit(0 if main(*map(Path, sys.argv[1:])) else 1)
