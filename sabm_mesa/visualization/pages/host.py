"""The page of a host: sets a game up, hands out the links to its seats, and watches it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import solara
import solara.lab

from sabm_mesa.core.languages import ENGLISH, LANGUAGES, language_for
from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import UsageError
from sabm_mesa.llm import Connection
from sabm_mesa.llm.endpoints import endpoints_of_server
from sabm_mesa.minds.human import HUMAN, Seat
from sabm_mesa.minds.specs import CLASSICAL, is_local, named_in
from sabm_mesa.models.declarations import load_class_game
from sabm_mesa.models.registry import find_all, scenario
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.runs.game import (
    ClassSession,
    ContinuedGame,
    Game,
    agents_by_class,
    check_seats,
    with_others,
)
from sabm_mesa.visualization import panels
from sabm_mesa.visualization.access import (
    check_minds,
    check_path,
    listens_at,
    name_in_network,
    open_to_others,
)
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.frame import NAME, accepted_languages
from sabm_mesa.visualization.game_view import VIEWS, GameView
from sabm_mesa.visualization.html import (
    choice,
    field,
    inside,
    problem,
    root_path,
    unfolds,
)
from sabm_mesa.visualization.labels import (
    count,
    counting,
    error_line,
    in_words,
    mind_in_words,
    name_of,
)
from sabm_mesa.visualization.pages.board import board, wall_of
from sabm_mesa.visualization.pages.debrief import bundle
from sabm_mesa.visualization.pages.lesson_link import (
    LinkedSettings,
    read_link,
)
from sabm_mesa.visualization.pages.play_parts import (
    GAMES,
    AllLinks,
    GameCards,
    Line,
    SeatLink,
    SeatTiles,
    card,
    table,
)
from sabm_mesa.visualization.pages.screen import slide_controls
from sabm_mesa.visualization.panels import recording_link
from sabm_mesa.visualization.scenario_view import one_sentence

TITLE = "Play with people"
ABOUT = (
    "People, language models and classical minds in one game. People join by a code, each in a "
    "browser of their own. Open this page by an address that the others can reach."
)
MACHINES = "Machines among the people in each group"
OTHERS, EMPTY_SEATS = "Who decides for the others", "Who plays for empty seats"
LANGUAGE, SECONDS = "Language of the wall and the results", "Seconds for an answer"
OTHERS_HINT = (
    "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL or llm:MODEL@NAME; several "
    "with their numbers, as in llm:a=3,classical=2; of classes of agents with the seats of people "
    "in them: Buyer/human=1,classical=2; Seller/llm:a"
)
EMPTY_SEATS_HINT = (
    "It answers what is not asked of people, too: a mind as below, for each empty seat until "
    "somebody comes; nobody: an empty seat abstains, and people answer all questions."
)
ROUNDS, TIME_LIMIT_S, MORE_S, SHORTEST_S = 4, 120.0, 30.0, 0.001
ROUNDS_SIZE = "n_rounds"
MOST_GROUPS, MOST_USUAL = 20, 40
"""The most groups of a class, and the most agents that are all seats by default."""
MOST_NAMED = 5
"""The most people that the line of missing answers names."""
MOST_LOCAL = 4
"""The most seats of a model on this computer, in all groups of a class together."""
NOBODY = "nobody"
"""Stands for no mind at empty seats."""
COLUMN = "display: grid; gap: 12px; max-width: 760px; margin: 0 auto; padding: 16px"
ROW = {"flex-wrap": "wrap", "align-items": "center", "margin": "4px 0", "gap": "8px 16px"}
AtOnce = Callable[[Callable[[], object]], Callable[[], None]]


@solara.component
def Page() -> None:
    """The games of this browser, and a form for a new one."""
    host = solara.get_session_id()
    use_poll(lambda: _state(host))
    closing, ask = solara.use_state("")
    query = solara.use_router().search
    solara.Title(f"{TITLE} · {NAME}")
    linked = solara.use_memo(lambda: read_link(query, find_all().models), [query])
    _, redraw = solara.use_state(0)

    def at_once(action: Callable[[], object]) -> Callable[[], None]:
        """An action that draws the page again at once."""

        def act() -> None:
            action()
            redraw(lambda times: times + 1)

        return act

    own = _sessions(GAMES.of(host))
    with inside("main", "sabm-host") if own else solara.v.Html(tag="main", style_=COLUMN):
        Line(TITLE, tag="h1")
        if not own:
            Line(ABOUT)
        for session in own:
            _hosted(session, at_once, closing == session.code, ask)
        others = _sessions(GAMES.of_others(host))
        over = [session for session in others if session.status == "over"]
        for session in others:
            if session not in over:
                _elsewhere(host, session, at_once)
        if over:
            with card().key("over"), unfolds(f"{count(len(over), 'game')} of other browsers, over"):
                for session in over:
                    _elsewhere(host, session, at_once)
        # A host looks after one game at a time, so the form for another one is folded.
        going_on = any(session.status != "over" for session in own)
        _NewGame(host, linked, folded=going_on and not linked.game).key("new")


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
    if not seats_of:
        check_seats(model, given, others, people)
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
    wall_of(session).speak(language)
    return session


def _code_of(name: str) -> str:
    """The code of a language by its name."""
    return next(code for code, known in LANGUAGES.items() if known == name)


def _agents(usual: int, people: int, machines: int) -> int:
    """The number of agents: that of the seats at least; with machines among the people exactly."""
    return people + machines if machines else max(usual, people)


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
        path: the recording.
        run: the number of the run.
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
    wall_of(session).speak(language)
    return session


def _keep(host: str, session: ClassSession) -> ClassSession:
    for game in session.games:
        GAMES.add(host, game)
    return session


@solara.component
def _NewGame(host: str, linked: LinkedSettings, *, folded: bool) -> None:
    scenarios = find_all().models
    name, set_name = solara.use_state(linked.game or min(scenarios))
    unfolded = {} if folded else {"open": ""}
    with card(), solara.v.Html(tag="details", class_="sabm-details", attributes=unfolded):
        solara.v.Html(tag="summary", children=[solara.v.Html(tag="h2", children=["New game"])])
        cards = solara.use_memo(lambda: [_card(game) for game in scenarios], [])
        if linked.problem:
            problem(linked.problem)
        if not linked.game:
            _lessons(scenarios)
        if name == linked.game:  # the lesson is ready: all else is behind a line
            _Settings(host, name, linked).key(name)
            with unfolds("Another game"):
                GameCards(games=cards, chosen=name, label="Scenario", event_choose=set_name)
        else:
            GameCards(games=cards, chosen=name, label="Scenario", event_choose=set_name)
            _Settings(host, name, LinkedSettings()).key(name)


def _lessons(scenarios: Iterable[str]) -> None:
    """A link to the settings of each lesson."""
    with inside("nav", "sabm-lessons", aria_label="Lessons"):
        for name in scenarios:
            if lesson := load_class_game(scenario(name).class_game).lesson:
                words = f"Lesson: {scenario(name).title}"
                href = {"href": f"{root_path()}/host?game={name}&{lesson}"}
                solara.v.Html(tag="a", children=[words], attributes=href).key(f"lesson {name}")


@solara.component
def _Settings(host: str, name: str, linked: LinkedSettings) -> None:
    model = scenario(name)
    declared = load_class_game(model.class_game)
    default = solara.use_memo(lambda: _sizes(model, declared.parameters), [name])
    classes = solara.use_memo(lambda: list(agents_by_class(model, {})), [name])
    size_of_people = _size_of_people(model, default)
    link = linked.values
    rounds_of_link = {ROUNDS_SIZE: link["rounds"]} if "rounds" in link else {}
    own, set_own = solara.use_state({**rounds_of_link, **linked.choices})
    usual = default.get(size_of_people, 1)
    people, set_people = solara.use_state(link.get("people", usual if usual <= MOST_USUAL else 1))
    groups, set_groups = solara.use_state(link.get("groups", 1))
    machines, set_machines = solara.use_state(link.get("machines", 0))
    voting, set_voting = solara.use_state(link.get("vote", False))
    others, set_others = solara.use_state(link.get("mind", CLASSICAL))
    stand_in, set_stand_in = solara.use_state(CLASSICAL)
    seats_of, set_seats_of = solara.use_state("")
    condition, set_condition = solara.use_state("baseline")
    seed, set_seed = solara.use_state("")
    limit, set_limit = solara.use_state(link.get("seconds", TIME_LIMIT_S))
    of_class = link.get("lang", language_for(None, accepted_languages()))
    language, set_language = solara.use_state(LANGUAGES[of_class])
    public, set_public = solara.use_state(link.get("results", True))
    ranked, set_ranked = solara.use_state(link.get("rank", False))
    conditions = solara.use_memo(lambda: list(PromptBook(model.prompt_file).conditions), [name])
    # As many agents as there are seats, unless the host says otherwise.
    sizes = {
        n: own.get(n, _agents(v, people, machines) if n == size_of_people else v)
        for n, v in default.items()
    }
    chosen = {n: own[n] for n in declared.choices if n in own}

    given: dict[str, Any] = {_size_label(size): value for size, value in sizes.items()}
    given |= {"Scenario": name, "Seats for people": people, "Groups": groups}
    given |= {MACHINES: machines, OTHERS: others, EMPTY_SEATS: stand_in, LANGUAGE: language}
    given |= {SECONDS: limit, "Seed": seed, "results": public, "vote": voting} | chosen

    def open_new() -> str:
        """Open the games, off the page's thread; return what is wrong with the settings."""
        try:
            _check_numbers(model, sizes, given)
            parameters = {
                **declared.parameters,
                **_of_a_run(model, sizes),
                **chosen,
                "condition": condition,
                "rng": parse_value(seed or "none"),
            }
            rest = parse_minds(others.strip())
            plays = stand_in.strip()
            open_session(
                host, model, parameters, rest, people, time_limit_s=limit, public=public,
                groups=groups, stand_in="" if plays == NOBODY else plays, ranked=ranked,
                seats_of=seats_of, voting=voting, machines=machines, language=_code_of(language),
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - any error becomes lines of the page
            return _refusal(error)
        return ""

    opening = solara.lab.use_task(open_new, dependencies=None)
    router = solara.use_router()
    solara.use_effect(  # the link is used: the form is folded below its game, also after a reload
        lambda: (
            router.push("/host") if linked.game and opening.finished and not opening.value else None
        ),
        [opening.finished, opening.value],
    )

    def resize(size: str) -> Callable[[Any], None]:
        return lambda value: set_own(lambda own: {**own, size: value})

    def settings() -> None:
        field("Seats for people", people, set_people, kind="whole")
        field("Groups", groups, set_groups, kind="whole")
        field(MACHINES, machines, set_machines, kind="whole")
        vote = "People vote at the end: who was the machine?"
        solara.Checkbox(label=vote, value=voting, on_value=set_voting)
        if ROUNDS_SIZE in sizes:
            label, rounds = _size_label(ROUNDS_SIZE), sizes[ROUNDS_SIZE]
            field(label, rounds, resize(ROUNDS_SIZE), kind="whole")
        _choice_fields(model, own, resize)
        choice(LANGUAGE, [*LANGUAGES.values()], language, set_language)
        with unfolds("More settings"):
            field(EMPTY_SEATS, stand_in, set_stand_in, hint=EMPTY_SEATS_HINT)
            if len(classes) > 1:
                choice("Seats are of the class", classes, seats_of or classes[0], set_seats_of)
            field(OTHERS, others, set_others, hint=OTHERS_HINT)
            _size_fields(sizes, resize)
            choice("Condition", conditions, condition, set_condition, words=_in_words)
            field("Seed", seed, set_seed, hint="Drawn when empty.")
            field(SECONDS, limit, set_limit, kind="number")
            see = "People see the results of each round (language models see only their prompts)"
            solara.Checkbox(label=see, value=public, on_value=set_public)
            solara.Checkbox(label="People see their rank", value=ranked, on_value=set_ranked)

    def open_it() -> None:
        with inside("div"):
            if opening.value and not opening.pending:
                problem(opening.value)
        with inside("div", data_settings=json.dumps(given)):
            solara.Button(
                "Open the game", color="primary", on_click=opening, disabled=opening.pending
            )

    if not linked.game:
        settings()
        open_it()
        return
    Line(_settings_in_words(model, given, chosen))
    open_it()
    with unfolds("Check or change the settings"):
        settings()


def _choice_fields(
    model: type[Any], given: Mapping[str, Any], change: Callable[[str], Callable[[Any], None]]
) -> None:
    """A field for each parameter for which the scenario lets a host choose."""
    declared = load_class_game(model.class_game)
    for parameter, options in declared.choices.items():
        first = declared.parameters.get(parameter, parameters_of(model)[parameter].default)
        chosen = given.get(parameter, first)
        choice(
            _label_of(parameter), list(options()), chosen, change(parameter), words=_in_words
        )  # fmt: skip


def _label_of(parameter: str) -> str:
    return _in_words(parameter).capitalize()


def _in_words(value: object) -> str:
    return str(value).replace("_", " ")


def _size_fields(sizes: Mapping[str, int], change: Callable[[str], Callable[[Any], None]]) -> None:
    """A field for each number of a scenario but that of its rounds."""
    for size, value in sizes.items():
        if size != ROUNDS_SIZE:
            field(_size_label(size), value, change(size), kind="whole")


def _settings_in_words(
    model: type[Any], given: Mapping[str, Any], chosen: Mapping[str, Any]
) -> str:
    """The settings of a link in a sentence, which the host reads before the game is opened."""
    groups = count(given["Groups"], "group")
    seats = count(given["Seats for people"], "seat")
    parts = [f"{seats} for people in each of {groups}"]
    if rounds := given.get(_size_label(ROUNDS_SIZE)):
        parts.append(count(rounds, "round"))
    parts.append(f"{given[SECONDS]:g} seconds for an answer")
    if n := given[MACHINES]:
        mind = mind_in_words(str(given[OTHERS]))
        parts.append(f"{count(n, 'machine')} in each group: {mind}")
    parts += [f"{_label_of(name)}: {_in_words(value)}" for name, value in chosen.items()]
    parts += ["a vote at the end"] if given["vote"] else []
    return f"{model.title}: {'; '.join(parts)}."


def _check_numbers(model: type[Any], sizes: Mapping[str, int], given: Mapping[str, Any]) -> None:
    """Refuse numbers of the form that are too small or too large.

    Raises:
        UsageError: for the first of them.
    """
    limits: list[tuple[str, float | None, float | None]] = [
        ("Seats for people", 1, None),
        ("Groups", 1, MOST_GROUPS),
        (MACHINES, 0, None),
        (SECONDS, SHORTEST_S, None),
    ]
    for size in sizes:
        legal = parameters_of(model)[size].limits
        before = model.given_rounds if size == ROUNDS_SIZE else 0
        low, high = (None if end is None else end - before for end in (legal.low, legal.high))
        limits.append((_size_label(size), low, high))
    for label, low, high in limits:
        value = given[label]
        if low is not None and high is not None and not low <= value <= high:
            raise UsageError(f"{label}: give a number from {low:g} to {high:g}.")
        if low is not None and value < low:
            raise UsageError(f"{label}: give a number of {low:g} or more.")


def _refusal(error: Exception) -> str:
    if getattr(error, "parameter", "") == "rng":
        return "Seed: give a whole number of 0 or more, or nothing."
    return error_line(error)


# The parts below are functions, not components: Solara draws a component again only when it is
# given something else, and a game is the same game when it has gone on.


def _hosted(
    session: ClassSession, at_once: AtOnce, closing: bool, ask: Callable[[str], None]
) -> None:
    status, code, games = session.status, session.code, session.games
    with card().key(code):
        with solara.Row(style=ROW).key(f"{code} head"):
            title, n = games[0].model.title, len(games)
            Line(f"{title}, {n} groups" if n > 1 else title, tag="h2")
            if status != "over":
                solara.v.Html(tag="span", children=["Code "])
                solara.v.Html(tag="strong", class_="sabm-code", children=[code])
            _link("For the projector: code, QR and charts", f"/screen/{code}")
            _link("Read-only, for another computer", f"/wall/{wall_of(session).token}")
        with solara.Row(style=ROW).key(f"{code} controls"):
            _controls(session, at_once)
            Line(progress(session))
        if status != "open" or len(games) > 1:
            board(session, ENGLISH, _with_index(at_once, wall_of(session).choose))
        _chosen(session, at_once)
        _ended(session, at_once)
        if status != "playing":
            _closing(session, at_once, closing, ask)
        _links(session)


def _with_index(at_once: AtOnce, action: Callable[[int], object]) -> Callable[[int], None]:
    """An action with an index, after which the page is drawn again at once."""
    return lambda index: at_once(lambda: action(index))()


def _chosen(session: ClassSession, at_once: AtOnce) -> None:
    """The seats of the chosen group, and its game in full below a line that unfolds."""
    number = min(wall_of(session).group, len(session.games) - 1)
    game = session.games[number]
    of = "the game"
    if len(session.games) > 1:
        of = f"Group {number + 1}"
        Line(f"Seats of {of}", tag="h3")
    _tiles(game, at_once)
    if game.status != "open":
        with solara.v.Html(tag="details", class_="sabm-details").key(
            f"{session.code} {number} full"
        ):
            summary = f"World, numbers, charts and conversation of {of}"
            solara.v.Html(tag="summary", children=[summary])
            view = VIEWS[game]
            panels.Watched(view, view.version).key(f"{session.code} {number} game")


def _ended(session: ClassSession, at_once: AtOnce) -> None:
    """How the games ended, their tables and their recording."""
    over = session.status == "over"
    for line in dict.fromkeys(game.problem for game in session.games if over):
        Line(line or "The game is over.")
    if over:
        game = session.games[min(wall_of(session).group, len(session.games) - 1)]
        with solara.v.Html(tag="details", class_="sabm-details").key(f"{session.code} by-round"):
            solara.v.Html(tag="summary", children=["Table of each round"])
            table("The game by round", *in_words(game.model, game.model_data()))
    paths = [game.model.recording_path for game in session.games]
    for path in dict.fromkeys(filter(None, paths)):
        Line(f"Recorded in {path}")
        if over:
            recording_link(path, "Read the recording")
    if over:
        _take_home(session, at_once)


def _controls(session: ClassSession, at_once: AtOnce) -> None:
    """The buttons for the whole class."""
    playing = [game for game in session.games if game.status == "playing"]
    if session.status == "open":
        on_start = at_once(session.start)
        solara.Button("Start the game", color="primary", on_click=on_start).key(
            f"{session.code} start"
        )
    if not playing:
        return
    paused = playing[0].paused

    def pause() -> None:
        for game in playing:
            game.pause(paused=not paused)

    def more() -> None:
        for game in playing:
            for seat in game.seats.values():
                seat.add_time(MORE_S)

    def end() -> None:
        for game in playing:
            game.stop()

    solara.Button("Go on" if paused else "Pause", on_click=at_once(pause)).key(
        f"{session.code} pause"
    )
    solara.Button(f"+{MORE_S:g} seconds", on_click=at_once(more)).key(f"{session.code} more")
    solara.Button("End the game", on_click=at_once(end)).key(f"{session.code} end")


def _closing(
    session: ClassSession, at_once: AtOnce, closing: bool, ask: Callable[[str], None]
) -> None:
    if not closing:
        closes = solara.Button("Close the game and its links", on_click=lambda: ask(session.code))
        closes.key(f"{session.code} close")
        return

    def close_all() -> None:
        for game in session.games:
            GAMES.close(game)

    Line("Nobody can come back to a game that is closed. Close it?")
    solara.Button("Keep it", on_click=lambda: ask("")).key(f"{session.code} keep")
    solara.Button("Yes, close it", color="primary", on_click=at_once(close_all)).key(
        f"{session.code} yes"
    )


def _take_home(session: ClassSession, at_once: AtOnce) -> None:
    """The results on the wall, and everything in one file."""
    with solara.Row(style=ROW).key(f"{session.code} results"):
        slide_controls(session, ENGLISH, _with_index(at_once, wall_of(session).show))
        with solara.FileDownload(
            lambda: bundle(session, wall_of(session).language), f"{session.code}.zip"
        ):
            solara.Button("Download all: data, recording, report", icon_name="mdi-download")


def _tiles(game: Game, at_once: AtOnce) -> None:
    by_token = {seat.token: seat for seat in game.seats.values()}

    def do(action: Callable[[Seat], None]) -> Callable[[str], None]:
        return lambda token: (
            at_once(lambda: action(by_token[token]))() if token in by_token else None
        )

    SeatTiles(
        seats=[tile_of(game, seat) for seat in game.seats.values()],
        event_skip=do(Seat.skip), event_free=do(Seat.free),
    ).key(f"tiles {_key(game)}")  # fmt: skip


def tile_of(game: Game, seat: Seat) -> dict[str, Any]:
    """A seat as the host sees it.

    Args:
        game: its game.
        seat: the seat.
    """
    question = seat.question
    if not seat.taken:
        state = "free"
    elif game.status == "playing" and game.has_left(seat):
        state = "out"
    elif seat.away:
        state = "away"
    elif question is not None:
        state = "thinking"
    else:
        state = "answered" if game.status == "playing" and seat.turns else "joined"
    since = None if question is None or state != "thinking" else round(question.open_s)
    return {
        "name": _label(game, seat), "token": seat.token, "state": state, "since": since,
        "asked": question is not None, "taken": seat.taken,
    }  # fmt: skip


def _links(session: ClassSession) -> None:
    """The links to single seats, for a class without a wall."""
    games = session.games

    def label(game: Game, seat: Seat) -> str:
        name = _label(game, seat)
        if len(games) > 1:
            return f"group {games.index(game) + 1}, {name}"
        return name

    with solara.v.Html(tag="details", class_="sabm-details").key(f"{session.code} links"):
        solara.v.Html(tag="summary", children=["A link for each seat"])
        Line(_minds_and_seed(games[0]))
        AllLinks(
            links=[[label(game, seat), _path(seat)] for game, seat in session.seats],
            open_=open_to_others(),
            machine=name_in_network(listens_at()),
        )
        for game, seat in session.seats:
            with solara.Row(style=ROW).key(f"row {seat.token}"):
                solara.Text(label(game, seat))
                to = f"Link to the seat of {label(game, seat)}"
                SeatLink(path=_path(seat), label=to).key(seat.token)


def _link(words: str, path: str) -> None:
    attributes = {"href": f"{root_path()}{path}", "target": "_blank", "rel": "noopener"}
    solara.v.Html(tag="a", class_="sabm-link-words", children=[words], attributes=attributes)


def progress(session: ClassSession) -> str:
    """How far the games are, and who is waited for.

    Args:
        session: the class.
    """
    games = session.games
    if session.status == "open":
        if not (empty := sum(not seat.taken for _, seat in session.seats)):
            return "Nobody plays yet."
        plays = "; an empty seat abstains"
        if stand_in := games[0].stand_in:
            plays = f". Who plays until somebody comes: {mind_in_words(stand_in)}"
        return f"Nobody plays yet. Seats still empty: {empty}{plays}."
    model = games[0].model
    done = [len(model.decided_rounds(game.model_data())) for game in games]
    low, high = min(done), max(done)
    played = str(low) if low == high else f"{low} to {high}"
    rounds = count(model.n_rounds - model.given_rounds, counting(model)[0])
    answers = count(sum(game.model.spent().asks for game in games), "answer")
    line = f"{played} of {rounds} done, {answers}."
    asked = [
        _label(game, seat) if len(games) == 1 else f"{_label(game, seat)} of group {number}"
        for number, game in enumerate(games, 1)
        for seat in game.seats.values()
        if game.status == "playing" and seat.question
    ]
    if session.status != "playing":
        return line
    if not asked:
        slow = any(game.plays_language_model for game in games if game.status == "playing")
        return f"{line} A language model plays too, and takes its time." if slow else line
    more = len(asked) - MOST_NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"{line} Waiting for {', '.join(asked[:MOST_NAMED])}{others}."


def _elsewhere(host: str, session: ClassSession, at_once: AtOnce) -> None:
    def share() -> None:
        for game in session.games:
            GAMES.share(host, game)

    first = session.games[0]
    game = f"{first.model.title}, {_minds_and_seed(first)}"
    status = {"open": "Nobody plays yet.", "playing": "It is played.", "over": "The game is over."}
    with card().key(f"{session.code} elsewhere"):
        Line(f"Opened in another browser: {game}", tag="h2")
        Line(status[session.status])
        solara.Button("Host it here too", on_click=at_once(share))


def _sessions(games: Sequence[Game]) -> list[ClassSession]:
    """The classes that play some games, in their order."""
    sessions = dict.fromkeys(game.session for game in games)
    return [session for session in sessions if session is not None]


def _card(name: str) -> dict[str, str]:
    """A scenario as it is offered to a host."""
    model = scenario(name)
    declared = load_class_game(model.class_game)
    parts = []
    if declared.people is not None:
        low, high = declared.people
        parts.append(f"{low}–{high} people in a group")
    if declared.minutes:
        parts.append(f"{declared.minutes} minutes")
    about = declared.rule or one_sentence(model)
    return {"name": name, "title": model.title, "about": about, "size": ", ".join(parts)}


def _size_of_people(model: type[Any], sizes: Mapping[str, int]) -> str:
    """The parameter with the number of agents among which people sit; ``""`` for none."""
    if model.score is not None and model.score.size in sizes:
        return str(model.score.size)
    return next((size for size in sizes if size != ROUNDS_SIZE), "")


def _key(game: Game) -> str:
    """The key of a game's widgets, so that no button of one game becomes that of another."""
    return next(iter(game.seats.values())).token


def _size_label(size: str) -> str:
    return f"Number of {size.removeprefix('n_')}"


def _label(game: Game, seat: Seat) -> str:
    return name_of(game.model, seat.agent)


def _path(seat: Seat) -> str:
    return f"/play/{seat.token}"


def _minds_and_seed(game: Game) -> str:
    minds = game.model.minds_in_use().items()
    parts = [f"{n} × {mind_in_words(spec)}" for spec, n in minds]
    return f"{', '.join(parts)}, seed {game.model.entropy[0]}"


def _sizes(model: type[Any], usual: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of a scenario: of its rounds, and of its players, firms or people.

    Args:
        model: the model class.
        usual: the parameters of its class game.
    """
    parameters = parameters_of(model).items()
    sizes = {name: known.default for name, known in parameters if name.startswith("n_")}
    if None in sizes.values():  # they follow from other parameters
        made = model(recording=False)
        sizes = {n: getattr(made, n) if size is None else size for n, size in sizes.items()}
    sizes["n_rounds"] = min(ROUNDS, sizes["n_rounds"])
    return {name: usual.get(name, size) for name, size in sizes.items()}


def _of_a_run(model: type[Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of a run; its rounds include the given ones, which people do not count."""
    rounds = sizes.get(ROUNDS_SIZE)
    if type(rounds) is not int:
        return dict(sizes)
    return {**sizes, ROUNDS_SIZE: rounds + model.given_rounds}


def _state(host: str) -> object:
    others = [g.status for g in GAMES.of_others(host)]
    return others, [
        (
            (g.status, g.model.round, g.model.spent().asks, VIEWS[g].version),
            (g.session and (wall_of(g.session).group, wall_of(g.session).slide)),
            (len(g.model.spoken), [(s.version, s.away) for s in g.seats.values()]),
        )
        for g in GAMES.of(host)
    ]
