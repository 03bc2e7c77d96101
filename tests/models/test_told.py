"""Every fact that a built-in rule reads is in a prompt, or the rule is `informed` of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sabm_mesa.core.facts import Facts
from sabm_mesa.models.games.model import FiniteGame
from sabm_mesa.models.registry import scenario
from sabm_mesa.testing.case import Case
from sabm_mesa.testing.checks import CHECKS

RUNS: dict[str, list[dict[str, Any]]] = {
    "kbc": [
        {"n_players": 4, "condition": "baseline"},
        {"n_players": 4, "condition": "cooperative", "personas": ["agreeable", "disagreeable"] * 2},
        {"n_players": 4, "condition": "uncooperative"},
    ],
    "bertrand": [
        {"n_rounds": 45, "communication": True, "condition": "baseline"},
        {"n_rounds": 25, "communication": True, "condition": "uncooperative"},
        {"n_rounds": 25, "communication": False, "condition": "cooperative"},
        {"n_rounds": 8, "communication": True, "personas": ["uncooperative", "cooperative"]},
    ],
    "evacuation": [
        {"n_people": 25, "width": 11, "height": 11, "n_rounds": 6, "condition": "baseline"},
        {"n_people": 25, "width": 11, "height": 11, "n_rounds": 6, "condition": "uncooperative"},
        {"n_people": 12, "width": 11, "height": 11, "n_rounds": 6, "communication": False},
    ],
    "beauty-contest": [
        {"n_players": 3, "n_rounds": 4, "elicitation": "full"},
        {"n_players": 3, "n_rounds": 4, "revealed": "mean", "integer": True},
        {"n_players": 3, "n_rounds": 4, "revealed": "target", "integer": True},
    ],
    "fishery": [
        {"n_agents": 3, "n_rounds": 4},
        {"n_agents": 3, "n_rounds": 4, "newcomer_month": 2, "condition": "universalization"},
        {"n_agents": 3, "n_rounds": 4, "communication": False},
    ],
    "pasture": [{"n_agents": 3, "n_rounds": 3}],
    "pollution": [{"n_agents": 3, "n_rounds": 3}],
    "cocktail-party": [{"n_agents": 4, "n_rounds": 4}],
    "sentence-making": [
        {"n_agents": 4, "interaction": "collective"},
        {"n_agents": 4, "interaction": "individual"},
    ],
    "public-goods": [{"n_players": 4, "n_rounds": 3, "multiplier": 1.6}],
    "games": [
        {"n_rounds": 3, "talk": True},
        {"game": "trust", "n_rounds": 2, "scale": 0.5},
        {"game": "centipede", "n_rounds": 3},
        {"game": "eleven_twenty", "n_rounds": 2},
    ],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"), [(name, given) for name, runs in RUNS.items() for given in runs]
)
def test_a_rule_reads_only_what_prompts_show(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    case = Case(scenario(name), {"rng": 3, **parameters}, tmp_path, 1)

    assert list(CHECKS["classical minds"](case)) == []


EACH = "[]"
"""The step of a path into all elements of a list."""
GAMES = {
    "stag_hunt": [("outcomes", EACH, "payoffs"), ("moves", EACH, "options", EACH, "label")],
    "centipede": [("outcomes", EACH, "payoffs"), ("moves", EACH, "player")],
    "travelers_dilemma": [("moves", EACH, "amounts", "high"), ("moves", EACH, "amounts", "step")],
}
"""Games of the library → paths in the fact ``game``."""


def changed(value: Any, path: tuple[str, ...]) -> Any:
    """The value with another one at the path."""
    if isinstance(value, list | tuple) and (not path or path[0] == EACH):
        return [changed(item, path[1:]) for item in value]
    if path:
        return {**value, path[0]: changed(value[path[0]], path[1:])}
    return f"{value} indeed" if isinstance(value, str) else value + 1


@pytest.mark.parametrize(
    ("game", "path"), [(g, path) for g, paths in GAMES.items() for path in paths]
)
def test_what_players_compute_with_is_in_the_rules_of_the_prompt(
    game: str, path: tuple[str, ...]
) -> None:
    model = FiniteGame(game=game, rng=1)
    model.begin_round()
    seen = Facts(model.players[0].facts())
    other = Facts({**vars(seen), "game": changed(seen["game"], path)})
    one, two = (model.book.render("rules", vars(facts)) for facts in (seen, other))

    assert one != two
