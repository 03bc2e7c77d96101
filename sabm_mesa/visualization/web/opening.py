"""Games for a class: opened with the settings of a host, or continued from a recording."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sabm_mesa.core.parameters import check_int
from sabm_mesa.core.phrases import ENGLISH
from sabm_mesa.errors import UsageError
from sabm_mesa.llm import Connection
from sabm_mesa.llm.endpoints import endpoints_of_server
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import is_local, named_in
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.runs.game import (
    ClassSession,
    ContinuedGame,
    Game,
    agents_by_class,
    with_others,
)
from sabm_mesa.visualization.access import check_minds, check_path
from sabm_mesa.visualization.game_view import VIEWS, GameView
from sabm_mesa.visualization.labels import count
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.wall import wall_of

TIME_LIMIT_S = 120.0
"""Default time limit of an answer in seconds."""
MOST_GROUPS = 20
"""The most groups of a class."""
MOST_LOCAL = 4
"""The most seats of a model on this computer, in all groups of a class together."""


def open_session(
    host: str,
    model: type[Any],
    parameters: Mapping[str, Any],
    others: str | Mapping[str, int],
    people: int,
    *,
    time_limit_s: float,
    public: bool,
    groups: int = 1,
    stand_in: str = "",
    ranked: bool = False,
    seats_of: str = "",
    voting: bool = False,
    machines: int = 0,
    language: str = ENGLISH,
) -> ClassSession:
    """Open new games for a class; they are on the page of the host then.

    Args:
        host: the secret of the browser that may see its links.
        model: the model class.
        parameters: its parameters without the minds. With a seed, later groups have the next ones.
        others: the minds of the others: one spec for all, or a mapping → number.
        people: how many seats there are for people in a group.
        time_limit_s: seconds until an unanswered question is given up.
        public: whether players see the results of each round.
        groups: the number of games that are played side by side.
        stand_in: the mind that plays for empty seats; ``""`` for none.
        ranked: whether players see their rank.
        seats_of: the class of the agents at which people sit; the first one when empty.
        voting: whether people say at the end who they take for a machine.
        machines: how many of the others in each group sit among the people, in a drawn order; 0:
            the people are the first agents.
        language: the language of the wall and the results.

    Raises:
        UsageError: for parameters or minds that cannot be used, or that this server does not use.
        LLMError: for a language model that cannot be set up.
    """
    check_int("the number of groups", groups, 1, MOST_GROUPS)
    check_minds(others)
    if stand_in:
        check_minds(stand_in)
    given = {**parameters, "connection": Connection(endpoints=endpoints_of_server())}
    minds = with_others(model, given, others, people, seats_of)
    if machines:
        _check_machines(model, others)
    _check_local(others if machines else minds, stand_in, people, machines, groups)
    seed = given.get("rng")
    games = []
    for group in range(groups):
        own = {**given, "rng": seed + group if type(seed) is int else seed}
        sits = _hidden(str(others), people, machines) if machines else minds
        game = Game(model, time_limit_s=time_limit_s, stand_in=stand_in, **own, minds=sits)
        view = VIEWS[game] = GameView(game)
        game.public = tuple(view.scenario_view.public_columns(game.model)) if public else ()
        game.results, game.ranked, game.voting = public, ranked, voting
        games.append(game)
        for spec in named_in(others) if group == 0 else ():  # also where no agent is left for it
            game.model.make_mind(game.model.population[0], spec)
    session = _keep(host, ClassSession(games))
    wall_of(session).language = language
    return session


def _check_machines(model: type[Any], others: Any) -> None:
    """Refuse machines among the people where several minds or classes of agents play.

    Raises:
        UsageError: for several minds or classes of agents.
    """
    if not isinstance(others, str) or len(agents_by_class(model, {})) > 1:
        raise UsageError("Machines among the people need one mind, and agents of one class.")


def _check_local(minds: Any, stand_in: str, people: int, machines: int, groups: int) -> None:
    """Refuse more seats of a model on this computer than it can play in a lesson.

    It may stand in at each seat of people, and answer there what is not asked of them.

    Raises:
        UsageError: when there are too many.
    """
    own = {minds: machines} if isinstance(minds, str) else minds
    n = _n_local(own) + (people if is_local(stand_in) else 0)
    if n * groups > MOST_LOCAL:
        raise UsageError(
            f"A model on this computer plays at most {MOST_LOCAL} seats in all, with those that "
            f"may stay empty (got {n} in each of {count(groups, 'group')}): take fewer, or a model "
            "of a provider."
        )


def _n_local(minds: Mapping[str, Any]) -> int:
    """How many agents of a group have a model on this computer, by minds → number, or by class."""
    return sum(
        _n_local(n) if isinstance(n, Mapping) else n if is_local(spec) else 0
        for spec, n in minds.items()
    )


def _hidden(other: str, people: int, machines: int) -> list[str]:
    """The minds of a group, with its machines at random seats."""
    minds = [HUMAN] * people + [other] * machines
    secrets.SystemRandom().shuffle(minds)
    return minds


def take_up(host: str, path: Path, run: int, language: str = ENGLISH) -> ClassSession:
    """Continue an interrupted game, with the other games of its class.

    They are on the page of the host then.

    Args:
        host: the secret of the browser that may see its links.
        language: the language of the wall and the results.

    Raises:
        UsageError: as `ContinuedGame`, and for minds that this server does not use.
        RecordingError: as `ContinuedGame`.
    """
    check_path(path)
    (first,) = load_runs(path, [run])
    left = [
        played
        for played in load_runs(path)
        if played.command == first.command and not played.finished and HUMAN in played.minds
    ]
    together = len(left) > 1 and run in [played.run for played in left]
    recording = Recording(path) if together else None
    games: list[ContinuedGame] = []
    try:
        for played in left if recording is not None else [first]:
            check_minds(played.minds)
            connection = replace(
                Connection.of_recorded(played.connection), endpoints=endpoints_of_server()
            )
            games.append(
                ContinuedGame(
                    played, connection, time_limit_s=TIME_LIMIT_S, recording=recording,
                    check=check_minds,
                )
            )  # fmt: skip
            VIEWS[games[-1]] = GameView(games[-1])
    except BaseException:
        if recording is not None:
            recording.close()
        raise
    session = _keep(host, ClassSession(games, games[0].code, recording))
    wall_of(session).language = language
    return session


def _keep(host: str, session: ClassSession) -> ClassSession:
    for game in session.games:
        GAMES.add(host, game)
    return session
