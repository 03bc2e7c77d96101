"""A rule-based coder of private reasoning: steps, reference point, imitation, own payoff.

It can be checked by hand: the word lists are in ``reasoning.toml``, the rules below. It reads the
surface of English sentences. A text may carry at most one of the four steps, and any of the others:

============== ==================================================================================
``step_0``     decides without a thought of what others will do: at random, by liking, the middle
``step_1``     expects others to do something, and answers to that
``step_2``     expects others to answer to something, and answers to that
``step_3``     three such steps or more, also "and so on" to the end
``reference``  names a point that it starts from: the middle, an earlier result, an equilibrium
``imitation``  does as others do, did or said, because they do
``own_payoff`` argues with what it gains itself: winning, profit, getting out
============== ==================================================================================

Steps are those of Nagel 1995. In guessing games they are counted in the numbers of the text: each
number that equals the factor times the previous number is a step (50, 33, 22 are two), and 33
without a preceding 50 is also a step. The factor is one half if the text says so, otherwise two
thirds. If the words indicate more steps than the numbers, the words count.

Cohen's kappa with 56 invented texts that were coded by hand
(``tests/studies/hand_labelled_reasoning.toml``):

============== =========== ======== =======
code           development held out   later
============== =========== ======== =======
``step_0``            1.00     1.00    0.00
``step_1``            1.00     1.00    0.29
``step_2``            1.00     1.00    0.64
``step_3``            1.00     1.00    0.00
``reference``         0.89     1.00    0.59
``imitation``         1.00     1.00    0.00
``own_payoff``        1.00     1.00    0.33
============== =========== ======== =======

The lists were tuned on the first 20 texts, and the next 20 were held out. The same person wrote
lists and texts, so both columns are optimistic. The last column is the most realistic: 16 texts
with other wording, written after the lists were finished. The rules miss unusual wording, above all
imitation and steps without numbers: let a language model code such texts (`sabm judge --minds`),
and compare. Each code occurs in 1 to 8 texts of a part.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pandas as pd

STEPS = ("step_0", "step_1", "step_2", "step_3")
CODES = (*STEPS, "reference", "imitation", "own_payoff")
_WORD = re.compile(r"[\w'#-]+")
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/%]|\.\d)")
_FRACTION = re.compile(r"\b\d+\s*/\s*\d+|\bround \d+|#\d+|\bplayer \d+", re.IGNORECASE)
_HALF = re.compile(r"\b(?:half|1/2)\b", re.IGNORECASE)
_FIRST_STEP = 100 / 3
_NEAR = 0.75
"""Tolerance for a number to count as the factor times another one."""


def codes(text: str) -> tuple[str, ...]:
    """The codes of a text.

    Args:
        text: the reasoning before one decision.
    """
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    line = f" {' '.join(words)} "
    steps = _steps(text, line)
    matched = {code for code in CODES[len(STEPS) :] if _holds(line, code, "phrases")}
    return tuple(code for code in CODES if code in matched or code == f"step_{steps}")


def coded(texts: pd.DataFrame) -> pd.DataFrame:
    """Texts with their codes.

    Args:
        texts: one row per text, with ``text``.

    Returns:
        The same rows with one boolean column a code.
    """
    coded_texts = [codes(text) for text in texts["text"]]
    columns = {code: [code in of_text for of_text in coded_texts] for code in CODES}
    return texts.assign(
        **{code: pd.Series(held, texts.index, dtype=bool) for code, held in columns.items()}
    )


def steps_of(coded: pd.DataFrame) -> pd.Series[float]:
    """The number of steps of coded texts.

    Args:
        coded: texts with one column per code; missing if a judge gave none.

    Returns:
        0 to 3 (three or more) for each text; NaN for a text without a step code, or with several.
    """
    held = coded[list(STEPS)].astype("boolean").fillna(value=False).to_numpy(bool)
    steps = pd.Series(held.argmax(axis=1), coded.index, dtype=float)
    return steps.where(held.sum(axis=1) == 1)


def _steps(text: str, line: str) -> int | None:
    counted = _counted(text)
    stated = [
        3 if _holds(line, "step_3", "phrases") else 0,
        2 if _holds(line, "step_2", "phrases") else 0,
        1 if _holds(line, "step_1", "others") else 0,
    ]
    if most := min(3, max(counted, *stated)):
        return most
    return 0 if _holds(line, "step_0", "phrases") else None


def _counted(text: str) -> int:
    """The longest chain of numbers in which each is the factor times the previous one."""
    factor = 1 / 2 if _HALF.search(text) else 2 / 3
    plain = _FRACTION.sub(" ", text)
    named = list(dict.fromkeys(float(number) for number in _NUMBER.findall(plain)))
    longest = here = 1 if named and _is_first_step(named[0], factor) else 0
    for before, after in pairwise(named):
        near = abs(after - factor * before) <= _NEAR and before > 1
        here = here + 1 if near else int(_is_first_step(after, factor))
        longest = max(longest, here)
    # A first step alone is just a pick, without information about its reasoning.
    return longest if longest > 1 or not _is_first_step(named[0] if named else 0, factor) else 0


def _is_first_step(number: float, factor: float) -> bool:
    return factor == 2 / 3 and abs(number - _FIRST_STEP) <= _NEAR


def _holds(line: str, table: str, name: str) -> bool:
    return any(f" {phrase} " in line for phrase in _lists()[table][name])


@cache
def _lists() -> dict[str, Any]:
    text = files(__package__).joinpath("reasoning.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
