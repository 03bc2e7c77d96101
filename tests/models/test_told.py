"""Every fact that a mind reads is in the prompt of that question.

Classical minds decide over a few seeded rounds. Their facts note each one that is read, inside of
nested values too. Then each of these values is changed, and the prompt must change with it. Facts
that a mind reads without being told are declared by the mind (`informed`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass, replace
from datetime import date, timedelta
from functools import cache, partial
from typing import Any

import pytest

from sabm_mesa import SmartModel
from sabm_mesa.core.asks import Ask, Facts
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.minds.base import ClassicalMind, Mind
from sabm_mesa.models.commons.model import CommonsGovernance
from sabm_mesa.models.games.model import FiniteGame
from sabm_mesa.models.public_goods.model import PublicGoods
from sabm_mesa.models.registry import scenario

Path = tuple[str, ...]
EACH = "[]"
"""The step of a path into all elements of a tuple."""
LOOKS = 4
"""Asks of a question in which a read field is changed at most."""

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
        {"game": {"title": "Sale", "auction": "second", "values": {"from": 0, "to": 3}}},
    ],
}  # fmt: skip


# Facts that note what is read.


def noting(value: Any, path: Path, reads: set[Path]) -> Any:
    """The same value, noting the path of each field that is read from it or from its parts."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        if any(map(_has_fields, value)):
            return tuple(noting(each, (*path, EACH), reads) for each in value)
        return value
    return _noted(value, path, reads) if _has_fields(value) else value


def _noted(value: Any, path: Path, reads: set[Path]) -> Any:
    names = _names(value)
    cls = type(value)

    def read(self: Any, name: str) -> Any:
        if name not in names:
            return object.__getattribute__(self, name)
        reads.add((*path, name))
        return noting(_part(value, name), (*path, name), reads)

    def read_all(self: Any) -> Iterator[Any]:
        return iter([read(self, name) for name in names])

    if isinstance(value, dict):
        return type("Noted", (dict,), {"__getitem__": read})(value)
    if is_dataclass(value) or isinstance(value, Facts):
        changed = {"__getattribute__": read, "__getitem__": read, "__slots__": ()}
        kind = type(cls.__name__, (cls,), changed)
        made = object.__new__(kind)
        for name in names:
            object.__setattr__(made, name, getattr(value, name))
        return made
    named = type(cls.__name__, (cls,), {"__getattribute__": read, "__iter__": read_all})
    return named(*value)


def _has_fields(value: Any) -> bool:
    if isinstance(value, Facts | dict):
        return True
    return (is_dataclass(value) and not isinstance(value, type)) or hasattr(value, "_fields")


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, Facts | dict):
        return tuple(value)
    return tuple(f.name for f in fields(value)) if is_dataclass(value) else value._fields


def _part(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, Facts | dict) else getattr(value, name)


# Changes of one field.


def put(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """The value with another one at the path."""
    if not path:
        return change(value)
    step, rest = path[0], path[1:]
    if step == EACH:
        return tuple(put(each, rest, change) for each in value)
    inner = put(_part(value, step), rest, change)
    if isinstance(value, Facts):
        return Facts({**vars(value), step: inner})
    if isinstance(value, dict):
        return {**value, step: inner}
    if hasattr(value, "_fields"):
        return value._replace(**{step: inner})
    changed = copy(value)
    object.__setattr__(changed, step, inner)
    return changed


def at(value: Any, path: Path) -> Iterator[Any]:
    """The values at a path."""
    if not path:
        yield value
    elif path[0] == EACH:
        for each in value:
            yield from at(each, path[1:])
    else:
        yield from at(_part(value, path[0]), path[1:])


def moved(value: Any, by: int) -> Any:
    """Another value of the same type."""
    if value is None or (isinstance(value, float) and value != value):
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + by
    if isinstance(value, str):
        return f"{value} indeed {by}"
    if isinstance(value, date):
        return value + timedelta(by)
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        if all(isinstance(each, int | float) for each in value):
            return type(value)(each + by for each in value)
        if all(isinstance(each, str) for each in value):
            return (*value, f"Another {by}")
        return value[by:] if by > 0 else value[:by]
    raise TypeError(f"no change is known for {value!r}")


def with_value(seen: Any, path: Path, value: Any) -> Any:
    """The facts with a given value at a path."""
    return put(seen, path, lambda _: value)


def shifted(seen: Any, path: Path, by: int) -> Any:
    """The facts with another value at a path."""
    return put(seen, path, partial(moved, by=by))


def limit_of(seen: Facts, by: int) -> Facts:
    """Another agreed limit, as all remember it."""
    limit = seen.agreed_limit
    memories = tuple(
        replace(each, text=each.text.replace(f" {limit} ", f" {limit + by} "))
        if each.own and "agreed" in each.text
        else each
        for each in seen.memories
    )
    return Facts({**vars(seen), "agreed_limit": limit + by, "memories": memories})


def others_of(seen: Facts, by: int) -> Facts:
    """Other contributions of the others in past games, with the pot that follows."""
    games = tuple(
        {**game, "others_mean": game["others_mean"] + by, "pot": game["pot"] + by}
        for game in seen.games
        if game["others_mean"] is not None
    )
    return with_value(seen, ("games",), games)


def path_of(seen: Facts, by: int) -> Facts:
    """Other choices in this game, with their names."""
    options = [f"{option} indeed {by}" for option in seen.options]
    return Facts({**vars(seen), "path": [c + by for c in seen.path], "options": options})


def paths_of(seen: Facts, by: int) -> Facts:
    """Other choices in past games, with their names."""
    plays = [
        {**play, "options": [f"{option} indeed {by}" for option in play["options"]]}
        for play in seen.plays
    ]
    return with_value(seen, ("plays",), plays)


def firm_of(known: Facts, by: int) -> Facts:
    """The other firm, with its name."""
    del by
    other = 3 - known.firm
    return Facts({**vars(known), "firm": other, "name": known.names[other - 1]})


DECLARED: dict[tuple[type, Path], Callable[..., Any]] = {
    (CommonsGovernance, ("agreed_limit",)): limit_of,
    (FiniteGame, ("path",)): path_of,
    (FiniteGame, ("plays", EACH, "path")): paths_of,
    (Facts, ("firm",)): firm_of,
    (PublicGoods, ("games", EACH, "others_mean")): others_of,
}
"""Changes as a scenario would make them: of facts that stand in two places, and of names."""


# Minds that are watched.


class Watched(Mind):
    """A mind whose reads are checked against the prompt of each question."""

    def __init__(self, mind: Mind, model: SmartModel, notes: Notes) -> None:
        self.mind, self.model, self.notes = mind, model, notes
        self.spec, self.instant, self.paid = mind.spec, mind.instant, mind.paid
        self.informed = mind.informed

    async def answer(self, ask: Ask) -> Any:
        reads: set[Path] = set()
        watched = copy(ask)
        watched.facts = noting(ask.facts, (), reads)
        answer = await self.mind.answer(watched)
        self.notes.phases.add(ask.key.phase)
        for path in sorted(reads):
            self._check(ask, path)
        return answer

    def _check(self, ask: Ask, path: Path) -> None:
        root, question = path[0], (ask.name, path)
        if self.notes.looks[question] >= LOOKS or root in self.notes.untold[ask.name]:
            return
        changed = list(self._changes(ask, path))
        if not changed:
            return
        self.notes.looks[question] += 1
        if rendered(ask, ask.facts, ask.book) in changed:
            self.notes.untold[ask.name].add(root if root in self.informed else ".".join(path))

    def _changes(self, ask: Ask, path: Path) -> Iterator[tuple[str, str]]:
        """The prompt after each change; nothing where there is no value to be changed."""
        seen = ask.facts
        if path == ("condition",):
            for other in sorted({*ask.book.conditions} - {seen.condition}):
                book = book_of(type(self.model), other)
                yield rendered(ask, with_value(seen, path, other), book)
            return
        if path == ("persona",):
            other = next(each for each in ask.book.personas if each not in {seen.persona, "none"})
            yield rendered(ask, with_value(seen, path, other), ask.book)
            return
        values = [value for value in at(seen, path) if value is not None and value != ()]
        if not values or any(map(_has_fields, values)):
            return  # the parts of the value are read, too
        owners = (type(seen), *type(self.model).__mro__)
        changes = [DECLARED[owner, path] for owner in owners if (owner, path) in DECLARED]
        change = changes[0] if changes else partial(shifted, path=path)
        possible = 0
        for by in (1, -1):
            with suppress(LookupError, ValueError):
                yield rendered(ask, change(seen, by=by), ask.book)
                possible += 1
        assert possible, f"no change of {path} can be shown: declare one"


class Notes:
    """The prompts and reads of one mind in the runs of a scenario."""

    def __init__(self) -> None:
        self.phases: set[str] = set()
        self.looks: dict[tuple[str, Path], int] = defaultdict(int)
        self.untold: dict[str, set[str]] = defaultdict(set)


def rendered(ask: Ask, seen: Any, book: PromptBook) -> tuple[str, str]:
    """The scenario text and the question for other facts."""
    values = {**book.shown(vars(seen)), "form": book.form(ask.spec, ask.answer_format)}
    return book.render("scenario", values), book.render(ask.name, values)


@cache
def book_of(model: type[SmartModel], condition: str) -> PromptBook:
    """The prompts of a run in another condition."""
    return PromptBook(model.prompt_file, condition)


def minds() -> list[tuple[str, str]]:
    return [
        (name, "classical" if mind == "default" else f"classical:{mind}")
        for name in RUNS
        for mind in scenario(name).classical_minds
    ]


def watch(name: str, mind: str) -> tuple[Notes, tuple[str, ...]]:
    """Play the runs of a scenario with one mind, and note its reads."""
    notes, informed = Notes(), ()
    for parameters in RUNS[name]:
        model = scenario(name)(minds=mind, rng=3, recording=False, **parameters)
        for agent in model.population:
            assert isinstance(agent.mind, ClassicalMind)
            informed = agent.mind.informed
            agent.mind = Watched(agent.mind, model, notes)
        model.run_model()
    return notes, informed


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mind"), minds())
def test_a_mind_reads_what_it_is_told_or_declares_what_it_knows_besides(name, mind) -> None:
    notes, informed = watch(name, mind)

    assert notes.phases >= {phase.name for phase in scenario(name).phases} - {"understand"}
    untold = {path for paths in notes.untold.values() for path in paths}
    assert untold == set(informed), dict(notes.untold)


GAMES = {
    "stag_hunt": [("outcomes", EACH, "payoffs"), ("moves", EACH, "options", EACH, "label")],
    "centipede": [("outcomes", EACH, "payoffs"), ("moves", EACH, "player")],
    "travelers_dilemma": [("moves", EACH, "amounts", "high"), ("moves", EACH, "amounts", "step")],
    "first_price_auction": [("auction", "least"), ("auction", "largest")],
}
"""Games of the library → paths in the fact ``game``."""


@pytest.mark.parametrize(
    ("game", "path"), [(g, path) for g, paths in GAMES.items() for path in paths]
)
def test_what_players_compute_with_is_in_the_rules_of_the_prompt(game: str, path: Path) -> None:
    model = FiniteGame(game=game, rng=1)
    model.begin_round()
    seen = Facts(model.players[0].facts())
    told = [
        model.book.render("rules", vars(shown))
        for shown in (seen, put(seen, ("game", *path), lambda value: moved(value, 1)))
    ]

    assert told[0] != told[1]
