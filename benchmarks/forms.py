"""The answer format that a language model follows: ``python -m benchmarks forms --minds SPEC``.

For each scenario and answer format, the table has the share of valid decisions, and the attempt at
which answers were usable. Runs are small; the table has their n. The results are not stored with
those of the other benchmarks, since they are about a model and not about this package.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_args

from sabm_mesa.core.answers import Format
from sabm_mesa.errors import SabmError
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording.frames import Recorded

ATTEMPTS = 3
MOST_TOKENS = 96
"""The maximum number of tokens of an answer, since small models may not stop."""
GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "prisoner's dilemma": ("games", {"n_rounds": 2}),
    "bertrand": ("bertrand", {"n_rounds": 3, "communication": False}),
    "kbc": ("kbc", {"n_players": 4, "n_rounds": 1}),
    "public-goods": ("public-goods", {"n_players": 4, "n_rounds": 1}),
    "evacuation": ("evacuation", {"n_people": 2, "width": 9, "height": 9, "n_rounds": 1}),
}
"""Name → scenario, and parameters of a run with few questions."""


class Cell(NamedTuple):
    """The outcome of the questions of one run.

    Attributes:
        asks: the number of questions.
        valid: the number with a usable answer.
        at: attempt, from 1 → (answers, usable answers).
        tokens: tokens of all answers.
        seconds: wall time of the run.
    """

    asks: int
    valid: int
    at: Mapping[int, tuple[int, int]]
    tokens: int
    seconds: float


def measure(name: str, answer_format: str, minds: str, folder: str) -> Cell:
    """Play a small run, and return its outcome.

    Args:
        name: an entry of `GAMES`.
        answer_format: the answer format.
        minds: the spec of the language model.
        folder: the folder for its recording.
    """
    game, given = GAMES[name]
    path = Path(folder) / f"{name}-{answer_format}.sqlite"
    began = time.perf_counter()
    model = scenario(game)(
        minds=minds, rng=1, recording=path, answer_format=answer_format, max_attempts=ATTEMPTS,
        max_tokens=MOST_TOKENS, **given,
    )  # fmt: skip
    model.run_model()
    seconds = time.perf_counter() - began
    asks = Recorded(path).asks()
    answers = Counter(asks["attempt"] + 1)
    usable = Counter(asks.loc[asks["valid"].astype(bool), "attempt"] + 1)
    at = {number: (answers[number], usable[number]) for number in sorted(answers)}
    return Cell(answers[1], usable.total(), at, int(asks["completion_tokens"].sum()), seconds)


def row(name: str, answer_format: str, cell: Cell) -> str:
    """Return the row of one run: valid decisions, and usable answers at each attempt."""
    at = [cell.at.get(number, (0, 0)) for number in range(1, ATTEMPTS + 1)]
    shares = [f"{usable} of {answers}" if answers else "–" for answers, usable in at]
    return (
        f"| {name} | {answer_format} | {cell.valid} of {cell.asks} | {' | '.join(shares)} "
        f"| {cell.tokens / max(1, sum(answers for answers, _ in at)):.0f} | {cell.seconds:.0f} |"
    )


def main(words: Iterable[str]) -> int:
    """Measure and print. The status is 1 when a run failed."""
    parser = argparse.ArgumentParser("python -m benchmarks forms", description=__doc__)
    parser.add_argument("--minds", required=True, help="a language model, such as llm:MODEL@URL")
    parser.add_argument("--form", action="append", choices=get_args(Format), default=[])
    parser.add_argument("--scenario", action="append", choices=list(GAMES), default=[])
    given = parser.parse_args(list(words))
    failed = 0
    print("| scenario | form | valid decisions | attempt 1 | attempt 2 | attempt 3 | tokens | s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in given.scenario or GAMES:
        for answer_format in given.form or get_args(Format):
            with TemporaryDirectory() as folder:
                try:
                    cell = measure(name, answer_format, given.minds, folder)
                except SabmError as error:
                    print(f"| {name} | {answer_format} | {error} |||||", flush=True)
                    failed = 1
                    continue
            print(row(name, answer_format, cell), flush=True)
    return failed
