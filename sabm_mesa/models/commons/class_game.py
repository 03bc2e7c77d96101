"""The commons as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief

UNITS = {"fishery": "tons of fish", "pasture": "hectares of grass", "pollution": "units"}


def board(ask: Ask) -> dict[str, Any] | None:
    """The stock, and what is left of it.

    Args:
        ask: the question.
    """
    if ask.name != "act":
        return None
    seen: Any = ask.observation
    unit = UNITS[seen.wording]
    return {"kind": "lake", "stock": seen.stock, "capacity": seen.capacity, "unit": unit}


GAME = ClassGame(
    rule="Take from what you all share: what is left doubles each month, up to its limit, and "
    "what is emptied stays empty.",
    people=(3, 6),
    minutes=20,
    people_answer=("act", "communicate", "next_speaker"),
    board=board,
    debrief=Debrief(
        "wanted", "Units asked for in a month", lambda _: 0, lambda model: model.capacity / 2,
        lambda model: {"what lasts, from a full stock": model.capacity / 2 / model.n_agents},
    ),
)  # fmt: skip
