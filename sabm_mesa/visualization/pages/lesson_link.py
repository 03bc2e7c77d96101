"""Settings of a new game in the address of the page of the host: the link of a lesson.

``/host?game=bertrand&people=2&groups=8&rounds=4&seconds=45`` opens the form with these settings.
Nothing starts by a link: the host reads the form, and opens the game. ``mind`` says who plays at
the seats of machines. It names neither a file nor an address, which a link should not choose.
``lang`` is the language of the class.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from sabm_mesa.core.languages import LANGUAGES
from sabm_mesa.minds.specs import CLASSICAL
from sabm_mesa.models.declarations import load_class_game
from sabm_mesa.models.registry import scenario

WHOLE = {"people": (1, 1000), "groups": (1, 20), "rounds": (1, 1000), "machines": (0, 100)}
"""Settings that are whole numbers, with their least and largest value."""
SWITCHES = {"on": True, "off": False}
SWITCHED = ("results", "rank", "vote")
SECONDS = (1.0, 3600.0)
LONGEST, LONGEST_SPEC = 2000, 100
"""Characters of an address that are read, and of a mind in it."""


@dataclass(frozen=True)
class LinkedSettings:
    """The settings of a link.

    Attributes:
        game: the scenario; ``""`` for none.
        values: setting → value: those in `WHOLE`, ``seconds``, ``results``, ``rank``, ``vote``,
            ``mind`` and ``lang``.
        choices: parameter → value, where the scenario lets a host choose.
        problem: what could not be used, in one line; ``""`` when all could.
    """

    game: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def read_link(query: str | None, known: Collection[str]) -> LinkedSettings:
    """The settings in the query of an address. What cannot be used is left out, and named.

    Args:
        query: the part behind the question mark; None without one.
        known: the scenarios that can be played.
    """
    given = dict(parse_qsl((query or "")[:LONGEST].removeprefix("?")))
    if not given:
        return LinkedSettings()
    game = given.pop("game", "")
    if game not in known:
        return LinkedSettings(problem="The link names no game of this viewer: choose one below.")
    offered = load_class_game(scenario(game).class_game).choices
    values, choices, wrong = dict[str, Any](), dict[str, str](), []
    for name, text in given.items():
        if name in offered:
            if text in set(offered[name]()):
                choices[name] = text
                continue
        elif (value := _value(name, text)) is not None:
            values[name] = value
            continue
        wrong.append(name if name.isidentifier() and len(name) < 30 else "…")
    names = ", ".join(wrong)
    problem = f"The link has settings that cannot be used: {names}. Check the form below."
    return LinkedSettings(game, values, choices, problem if wrong else "")


def _value(name: str, text: str) -> int | float | bool | str | None:
    """The value of a setting; None when it is not a legal one."""
    if name == "lang":
        return text if text in LANGUAGES else None
    if name in SWITCHED:
        return SWITCHES.get(text)
    if name == "mind":
        return text if _is_plain(text) else None
    if name in WHOLE and text.isascii() and text.isdecimal() and len(text) < 6:
        low, high = WHOLE[name]
        return int(text) if low <= int(text) <= high else None
    if name == "seconds":
        try:
            seconds = float(text)
        except ValueError:
            return None
        return seconds if math.isfinite(seconds) and SECONDS[0] <= seconds <= SECONDS[1] else None
    return None


def _is_plain(spec: str) -> bool:
    """Whether a spec is one mind without a file, an address or a setting."""
    known = spec.partition(":")[0] in {CLASSICAL, "fixed", "local", "llm"}
    return known and len(spec) < LONGEST_SPEC and "://" not in spec and not set(spec) & set("?=,;")
