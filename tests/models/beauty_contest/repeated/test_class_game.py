"""The content that a person of a class sees beside a question of the beauty contest."""

from types import SimpleNamespace
from typing import Any

from sabm_mesa.models.beauty_contest.repeated.class_game import board


def _text(n_players: int, *past: Any) -> str:
    seen = SimpleNamespace(p=2 / 3, high=100, integer=False, past=past, n_others=n_players - 1)
    seen.player = 1
    found = board(SimpleNamespace(name="act", facts=seen))  # type: ignore[arg-type]
    assert found is not None
    return str(found.get("text", ""))


def test_the_question_names_the_factor() -> None:
    played = {"mean": 30, "target": 20, "choices": (30, 30)}
    asked = "The target is 2/3 × the mean. Which number do you choose?"
    assert _text(2) == _text(2, played) == asked
