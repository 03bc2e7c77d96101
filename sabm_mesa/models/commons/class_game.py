"""The commons as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.commons.theory import has_collapsed, regrown
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound

UNITS = {
    "fishery": Phrase("units.fish"),
    "pasture": Phrase("units.grass"),
    "pollution": Phrase("units.units"),
}


def board(ask: Ask) -> dict[str, Any] | None:
    """The stock, and what is left of it."""
    if ask.name != "act":
        return None
    facts = ask.facts
    unit = UNITS[facts.wording]
    return {
        "kind": "level",
        "level": facts.stock,
        "capacity": facts.capacity,
        "unit": unit,
        "text": Phrase("share.your_turn", unit=unit),
    }


def result_lines(played: ToldRound) -> list[str]:
    """The player's harvest, the total harvest, and the growth of the rest."""
    model, values, mine = played.model, played.values, played.own
    lines: list[str] = []
    if mine:
        taken, total = int(mine["harvest"]), int(values["harvest"])
        unit = UNITS[model.wording]
        lines.append(Phrase("share.took", taken=taken, unit=unit, total=total))
    left = int(values["left"])
    if has_collapsed(left, model.collapse_below):
        return [*lines, Phrase("share.collapsed", left=left, least=model.collapse_below)]
    grown = int(regrown(left, model.capacity))
    return [*lines, Phrase("share.grows", left=left, grown=grown)]


def course(model: Any, began: float, ended: float) -> str:
    """Whether people requested more than the sustainable amount."""
    lasts = model.capacity / 2 / model.n_agents
    key = "share.too_much" if began > lasts else "share.enough"
    return Phrase(key, began=began, ended=ended, lasts=float(lasts))


GAME = ClassGame(
    rule=Phrase("rules.share"),
    people=(3, 6),
    minutes=20,
    people_answer=("act", "communicate", "next_speaker"),
    board=board,
    told=result_lines,
    questions={
        "communicate": Phrase("asks.say"),
        "next_speaker": Phrase("asks.speaker"),
    },
    debrief=Debrief(
        "wanted", Phrase("decisions.wanted"), lambda _: 0, lambda model: model.capacity / 2,
        lambda model, _before: {Phrase("share.lasts"): model.capacity / 2 / model.n_agents},
        course=course,
    ),
)  # fmt: skip
