"""The preliminary test of the guessing game: one pick in a one-shot contest."""

from __future__ import annotations

from sabm_mesa.models.beauty_contest.kbc.model import KeynesianBeautyContest
from sabm_mesa.models.exam import Exam, Marks

HIGHEST_PICK = 67
"""The highest undominated pick: the integer nearest to the highest possible target."""


def _marks(model: KeynesianBeautyContest) -> Marks:
    picks = [player.choice for player in model.players]
    return {"picks": [pick is not None and pick <= HIGHEST_PICK for pick in picks]}


EXAM = Exam(
    title="one-shot contest",
    source="Wu et al. 2024, appendix B.1 and table 4",
    right=f"a pick from 0 to {HIGHEST_PICK} (no target is above 2/3 of 100: a higher pick is "
    "dominated)",
    published="GPT-4 picks 18, Gemini Pro 30, GPT-3.5 and Claude 2 pick 33; the picks of GPT-3.5 "
    "are spread from 20 to 80 over 10 runs",
    model=KeynesianBeautyContest,
    parameters=lambda _, n: {"n_players": max(2, n), "n_rounds": 1, "variant": "screening"},
    marks=_marks,
)
