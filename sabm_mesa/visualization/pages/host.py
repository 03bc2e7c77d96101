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

from sabm_mesa.core.languages import (
    ENGLISH,
    LANGUAGES,
    Localized,
    Phrase,
    known,
    slug,
    table_of,
)
from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import MindSpecError, UsageError
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
    html,
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
    option_in_words,
    title_of,
)
from sabm_mesa.visualization.pages.board import board, wall_of
from sabm_mesa.visualization.pages.debrief import bundle
from sabm_mesa.visualization.pages.lesson_link import (
    LinkedSettings,
    language_of_page,
    read_link,
)
from sabm_mesa.visualization.pages.play_parts import (
    GAMES,
    AllLinks,
    GameCards,
    HostTexts,
    Line,
    SeatLink,
    SeatTiles,
    card,
    column,
    table,
)
from sabm_mesa.visualization.pages.screen import slide_controls
from sabm_mesa.visualization.panels import recording_link
from sabm_mesa.visualization.scenario_view import one_sentence

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
ROW = {"flex-wrap": "wrap", "align-items": "center", "margin": "4px 0", "gap": "8px 16px"}
AtOnce = Callable[[Callable[[], object]], Callable[[], None]]


@solara.component
def Page() -> None:
    """The games of this browser, and a form for a new one."""
    host = solara.get_session_id()
    use_poll(lambda: _state(host))
    closing, ask = solara.use_state("")
    query = solara.use_router().search
    words = HostTexts(language_of_page(query, accepted_languages()))
    solara.Title(f"{words('title')} · {NAME}")
    linked = solara.use_memo(lambda: read_link(query, find_all().models), [query])
    _, redraw = solara.use_state(0)

    def at_once(action: Callable[[], object]) -> Callable[[], None]:
        """An action that draws the page again at once."""

        def act() -> None:
            action()
            redraw(lambda times: times + 1)

        return act

    own = _sessions(GAMES.of(host))
    with inside("main", "sabm-host", lang=words.language) if own else column(words.language):
        Line(words("title"), tag="h1")
        if not own:
            Line(words("about"))
        for session in own:
            _hosted(session, words, at_once, closing == session.code, ask)
        for session in _sessions(GAMES.of_others(host)):
            _elsewhere(host, session, words, at_once)
        # A host looks after one game at a time, so the form for another one is folded.
        going_on = any(session.status != "over" for session in own)
        _NewGame(host, linked, words, folded=going_on and not linked.game).key("new")


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
        raise UsageError(Phrase("host.machines_one_mind"))


def _check_local(minds: Any, stand_in: str, people: int, machines: int, groups: int) -> None:
    """Refuse more seats of a model on this computer than it can play in a lesson.

    It may stand in at each seat of people, and answer there what is not asked of them.

    Raises:
        UsageError: when there are too many.
    """
    own = {minds: machines} if isinstance(minds, str) else minds
    n = _n_local(own) + (people if is_local(stand_in) else 0)
    if n * groups > MOST_LOCAL:
        in_groups = Phrase("host.count_groups", n=groups)
        raise UsageError(Phrase("host.too_many_local", most=MOST_LOCAL, n=n, groups=in_groups))


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
def _NewGame(host: str, linked: LinkedSettings, words: HostTexts, *, folded: bool) -> None:
    scenarios = find_all().models
    name, set_name = solara.use_state(linked.game or min(scenarios))
    unfolded = {} if folded else {"open": ""}
    with card(), solara.v.Html(tag="details", class_="sabm-details", attributes=unfolded):
        solara.v.Html(
            tag="summary", children=[solara.v.Html(tag="h2", children=[words("new_game")])]
        )
        cards = solara.use_memo(lambda: [_card(game, words) for game in scenarios], [words])
        if linked.problem:
            problem(words.of(linked.problem))
        if name == linked.game:  # the lesson is ready: all else is behind a line
            _Settings(host, name, linked, words).key(name)
            with unfolds(words("another_game")):
                GameCards(games=cards, chosen=name, label=words("scenario"), event_choose=set_name)
        else:
            GameCards(games=cards, chosen=name, label=words("scenario"), event_choose=set_name)
            _Settings(host, name, LinkedSettings(), words).key(name)


@solara.component
def _Settings(host: str, name: str, linked: LinkedSettings, words: HostTexts) -> None:
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
    language, set_language = solara.use_state(LANGUAGES[link.get("lang", words.language)])
    public, set_public = solara.use_state(link.get("results", True))
    ranked, set_ranked = solara.use_state(link.get("rank", False))
    conditions = solara.use_memo(lambda: list(PromptBook(model.prompt_file).conditions), [name])
    # As many agents as there are seats, unless the host says otherwise.
    sizes = {
        n: own.get(n, _agents(v, people, machines) if n == size_of_people else v)
        for n, v in default.items()
    }
    chosen = {n: own[n] for n in declared.choices if n in own}

    # The keys are English labels in every language of the page.
    given: dict[str, Any] = {_size_label(size): value for size, value in sizes.items()}
    given |= {_label_of("scenario"): name, _label_of("people"): people, _label_of("groups"): groups}
    given |= {_label_of("machines"): machines, _label_of("others"): others}
    given |= {_label_of("seconds"): limit, _label_of("seed"): seed, _label_of("language"): language}
    given |= {_label_of("empty_seats"): stand_in, "results": public, "vote": voting} | chosen

    def open_new() -> list[str]:
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
            return _refusal(error, sizes)
        return []

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
        field(words("people"), people, set_people, kind="whole")
        field(words("groups"), groups, set_groups, kind="whole")
        field(words("machines"), machines, set_machines, kind="whole")
        solara.Checkbox(label=words("vote"), value=voting, on_value=set_voting)
        if ROUNDS_SIZE in sizes:
            label, rounds = words.of(_size_label(ROUNDS_SIZE)), sizes[ROUNDS_SIZE]
            field(label, rounds, resize(ROUNDS_SIZE), kind="whole")
        _choice_fields(model, own, resize, words)
        choice(words("language"), [*LANGUAGES.values()], language, set_language)
        with unfolds(words("more_settings")):
            hint = words("empty_seats_hint")
            field(words("empty_seats"), stand_in, set_stand_in, hint=hint)
            if len(classes) > 1:
                choice(words("class_of_seats"), classes, seats_of or classes[0], set_seats_of)
            field(words("others"), others, set_others, hint=words("others_hint"))
            _size_fields(sizes, resize, words)
            choice(
                words("condition"), conditions, condition, set_condition,
                words=_in_words("condition", words),
            )  # fmt: skip
            field(words("seed"), seed, set_seed, hint=words("seed_hint"))
            field(words("seconds"), limit, set_limit, kind="number")
            solara.Checkbox(label=words("results"), value=public, on_value=set_public)
            solara.Checkbox(label=words("rank"), value=ranked, on_value=set_ranked)

    def open_it() -> None:
        with inside("div"):
            if opening.value and not opening.pending:
                _problem_lines(opening.value, words)
        with inside("div", data_settings=json.dumps(given)):
            solara.Button(
                words("open"), color="primary", on_click=opening, disabled=opening.pending
            )

    if not linked.game:
        settings()
        open_it()
        return
    Line(_settings_in_words(model, given, chosen, words))
    open_it()
    with unfolds(words("check")):
        settings()


def _choice_fields(
    model: type[Any],
    given: Mapping[str, Any],
    change: Callable[[str], Callable[[Any], None]],
    words: HostTexts,
) -> None:
    """A field for each parameter for which the scenario lets a host choose."""
    declared = load_class_game(model.class_game)
    for parameter, options in declared.choices.items():
        first = declared.parameters.get(parameter, parameters_of(model)[parameter].default)
        chosen = given.get(parameter, first)
        choice(
            words.of(_choice_label(parameter)), list(options()), chosen, change(parameter),
            words=_in_words(parameter, words),
        )  # fmt: skip


def _choice_label(parameter: str) -> str:
    return known(f"host.choice_{parameter}", parameter.replace("_", " ").capitalize())


def _in_words(parameter: str, words: HostTexts) -> Callable[[Any], str]:
    """Says a value of a parameter in the language of the page."""
    return lambda value: str(words.of(option_in_words(parameter, value)))


def _size_fields(
    sizes: Mapping[str, int], change: Callable[[str], Callable[[Any], None]], words: HostTexts
) -> None:
    """A field for each number of a scenario but that of its rounds."""
    for size, value in sizes.items():
        if size != ROUNDS_SIZE:
            field(words.of(_size_label(size)), value, change(size), kind="whole")


def _settings_in_words(
    model: type[Any], given: Mapping[str, Any], chosen: Mapping[str, Any], words: HostTexts
) -> str:
    """The settings of a link in a sentence, which the host reads before the game is opened."""
    groups = Phrase("host.count_groups", n=given[_label_of("groups")])
    parts = [words("settings_seats", n=given[_label_of("people")], groups=groups)]
    if rounds := given.get(_size_label(ROUNDS_SIZE)):
        parts.append(words.of(_count_rounds("round", rounds)))
    parts.append(words("settings_seconds", seconds=f"{given[_label_of('seconds')]:g}"))
    if n := given[_label_of("machines")]:
        mind = mind_in_words(str(given[_label_of("others")]))
        parts.append(words("settings_machines", n=n, mind=mind))
    parts += [
        words("setting", label=_choice_label(name), value=option_in_words(name, value))
        for name, value in chosen.items()
    ]
    parts += [words("settings_vote")] if given["vote"] else []
    return words("settings", title=title_of(model), parts=words("semicolon").join(parts))


def _check_numbers(model: type[Any], sizes: Mapping[str, int], given: Mapping[str, Any]) -> None:
    """Refuse numbers of the form that are too small or too large.

    Raises:
        UsageError: for the first of them.
    """
    limits: list[tuple[str, float | None, float | None]] = [
        (_label_of("people"), 1, None),
        (_label_of("groups"), 1, MOST_GROUPS),
        (_label_of("machines"), 0, None),
        (_label_of("seconds"), SHORTEST_S, None),
    ]
    for size in sizes:
        legal = parameters_of(model)[size].limits
        before = model.given_rounds if size == ROUNDS_SIZE else 0
        low, high = (None if end is None else end - before for end in (legal.low, legal.high))
        limits.append((_size_label(size), low, high))
    for label, low, high in limits:
        value = given[label]
        if low is not None and high is not None and not low <= value <= high:
            ends = {"low": f"{low:g}", "high": f"{high:g}"}
            raise UsageError(Phrase("host.between_numbers", label=label, **ends))
        if low is not None and value < low:
            raise UsageError(Phrase("host.from_number", label=label, low=f"{low:g}"))


def _refusal(error: Exception, sizes: Iterable[str]) -> list[str]:
    """The lines for an error: the setting that it is about, and the line of the error itself."""
    line = error_line(error)
    if isinstance(line, Localized):
        return [line]
    settings = {"minds": "others", "rng": "seed", "condition": "condition"}
    name = getattr(error, "parameter", "")
    if name == "rng":
        return [Phrase("host.bad_seed", label=_label_of("seed"))]
    label = _size_label(name) if name in sizes else ""
    if name in settings or isinstance(error, MindSpecError):
        label = _label_of(settings.get(name, "others"))
    lead = Phrase("host.unusable_setting", label=label) if label else Phrase("host.unusable")
    return [lead, line]


def _problem_lines(lines: Sequence[str], words: HostTexts) -> None:
    """The problem of the settings; before an English line one in the page's language."""
    *_, last = lines
    if len(lines) == 1 or words.language == ENGLISH:
        problem(words.of(last))
        return
    problem(words.of(lines[0]))
    html("p", last, "sabm-hint", lang=ENGLISH)


# The parts below are functions, not components: Solara draws a component again only when it is
# given something else, and a game is the same game when it has gone on.


def _hosted(
    session: ClassSession,
    words: HostTexts,
    at_once: AtOnce,
    closing: bool,
    ask: Callable[[str], None],
) -> None:
    status, code, games = session.status, session.code, session.games
    with card().key(code):
        with solara.Row(style=ROW).key(f"{code} head"):
            title = words.of(title_of(games[0].model))
            n = len(games)
            Line(words("groups_title", title=title, n=n) if n > 1 else title, tag="h2")
            if status != "over":
                solara.v.Html(tag="span", children=[f"{words('code')} "])
                solara.v.Html(tag="strong", class_="sabm-code", children=[code])
            _link(words("projector"), f"/screen/{code}")
            _link(words("read_only"), f"/wall/{wall_of(session).token}")
        with solara.Row(style=ROW).key(f"{code} controls"):
            _controls(session, words, at_once)
            Line(progress(session, words))
        if status != "open" or len(games) > 1:
            board(session, words.language, _with_index(at_once, wall_of(session).choose))
        _chosen(session, words, at_once)
        _ended(session, words, at_once)
        if status != "playing":
            _closing(session, words, at_once, closing, ask)
        _links(session, words)


def _with_index(at_once: AtOnce, action: Callable[[int], object]) -> Callable[[int], None]:
    """An action with an index, after which the page is drawn again at once."""
    return lambda index: at_once(lambda: action(index))()


def _chosen(session: ClassSession, words: HostTexts, at_once: AtOnce) -> None:
    """The seats of the chosen group, and its game in full below a line that unfolds."""
    number = min(wall_of(session).group, len(session.games) - 1)
    game = session.games[number]
    group = Phrase("slides.group", number=number + 1)
    full = words("full_game")
    if len(session.games) > 1:
        full = words("full_group", group=group)
        Line(words("seats_of", group=group), tag="h3")
    _tiles(game, words, at_once)
    if game.status != "open":
        with solara.v.Html(tag="details", class_="sabm-details").key(
            f"{session.code} {number} full"
        ):
            solara.v.Html(tag="summary", children=[full])
            view = VIEWS[game]
            watched = panels.Watched(view, view.version, details=True, language=words.language)
            watched.key(f"{session.code} {number} game")


def _ended(session: ClassSession, words: HostTexts, at_once: AtOnce) -> None:
    """How the games ended, their tables and their recording."""
    over = session.status == "over"
    for line in dict.fromkeys(game.problem for game in session.games if over):
        Line(words.of(line) or words("over"))
    if over:
        game = session.games[min(wall_of(session).group, len(session.games) - 1)]
        with solara.v.Html(tag="details", class_="sabm-details").key(f"{session.code} by-round"):
            solara.v.Html(tag="summary", children=[words("by_round")])
            caption = words.of(Phrase("seat.game_by_round"))
            table(caption, *words.of(in_words(game.model, game.model_data())))
    paths = [game.model.recording_path for game in session.games]
    for path in dict.fromkeys(filter(None, paths)):
        Line(words("recorded", path=path))
        if over:
            recording_link(path, words("read"))
    if over:
        _take_home(session, words, at_once)


def _controls(session: ClassSession, words: HostTexts, at_once: AtOnce) -> None:
    """The buttons for the whole class."""
    playing = [game for game in session.games if game.status == "playing"]
    if session.status == "open":
        on_start = at_once(session.start)
        solara.Button(words("start"), color="primary", on_click=on_start).key(
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

    solara.Button(words("go_on" if paused else "pause"), on_click=at_once(pause)).key(
        f"{session.code} pause"
    )
    solara.Button(words("more", seconds=f"{MORE_S:g}"), on_click=at_once(more)).key(
        f"{session.code} more"
    )
    solara.Button(words("end"), on_click=at_once(end)).key(f"{session.code} end")


def _closing(
    session: ClassSession,
    words: HostTexts,
    at_once: AtOnce,
    closing: bool,
    ask: Callable[[str], None],
) -> None:
    if not closing:
        closes = solara.Button(words("close"), on_click=lambda: ask(session.code))
        closes.key(f"{session.code} close")
        return

    def close_all() -> None:
        for game in session.games:
            GAMES.close(game)

    Line(words("close_sure"))
    solara.Button(words("keep"), on_click=lambda: ask("")).key(f"{session.code} keep")
    solara.Button(words("close_yes"), color="primary", on_click=at_once(close_all)).key(
        f"{session.code} yes"
    )


def _take_home(session: ClassSession, words: HostTexts, at_once: AtOnce) -> None:
    """The results on the wall, and everything in one file."""
    with solara.Row(style=ROW).key(f"{session.code} results"):
        slide_controls(session, words.language, _with_index(at_once, wall_of(session).show))
        with solara.FileDownload(
            lambda: bundle(session, wall_of(session).language), f"{session.code}.zip"
        ):
            solara.Button(words("download"), icon_name="mdi-download")


def _tiles(game: Game, words: HostTexts, at_once: AtOnce) -> None:
    by_token = {seat.token: seat for seat in game.seats.values()}

    def do(action: Callable[[Seat], None]) -> Callable[[str], None]:
        return lambda token: (
            at_once(lambda: action(by_token[token]))() if token in by_token else None
        )

    SeatTiles(
        seats=[tile_of(game, seat, words) for seat in game.seats.values()],
        texts=table_of(words.language, "tiles"),
        event_skip=do(Seat.skip), event_free=do(Seat.free),
    ).key(f"tiles {_key(game)}")  # fmt: skip


def tile_of(game: Game, seat: Seat, words: HostTexts) -> dict[str, Any]:
    """A seat as the host sees it.

    Args:
        game: its game.
        seat: the seat.
        words: the texts of the page.
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
        "name": words.of(_label(game, seat)), "token": seat.token, "state": state, "since": since,
        "asked": question is not None, "taken": seat.taken,
    }  # fmt: skip


def _links(session: ClassSession, words: HostTexts) -> None:
    """The links to single seats, for a class without a wall."""
    games = session.games

    def label(game: Game, seat: Seat) -> str:
        name = _label(game, seat)
        if len(games) > 1:
            return words("in_group", number=games.index(game) + 1, name=name)
        return str(words.of(name))

    texts = table_of(words.language, "links")

    with solara.v.Html(tag="details", class_="sabm-details").key(f"{session.code} links"):
        solara.v.Html(tag="summary", children=[words("links")])
        Line(words.of(_minds_and_seed(games[0])))
        AllLinks(
            links=[[label(game, seat), _path(seat)] for game, seat in session.seats],
            open_=open_to_others(),
            machine=name_in_network(listens_at()),
            texts=texts,
        )
        for game, seat in session.seats:
            with solara.Row(style=ROW).key(f"row {seat.token}"):
                solara.Text(label(game, seat))
                to = words("link_to", name=label(game, seat))
                SeatLink(path=_path(seat), label=to, texts=texts).key(seat.token)


def _link(words: str, path: str) -> None:
    attributes = {"href": f"{root_path()}{path}", "target": "_blank", "rel": "noopener"}
    solara.v.Html(tag="a", class_="sabm-link-words", children=[words], attributes=attributes)


def progress(session: ClassSession, words: HostTexts) -> str:
    """How far the games are, and who is waited for.

    Args:
        session: the class.
        words: the texts of the page.
    """
    games = session.games
    if session.status == "open":
        empty, stand_in = sum(not seat.taken for _, seat in session.seats), games[0].stand_in
        key = "empty" if stand_in else "empty_abstains"
        left = words(key, n=empty, mind=mind_in_words(stand_in))
        return " ".join([words("nobody_plays"), *([left] if empty else [])])
    model = games[0].model
    done = [len(model.decided_rounds(game.model_data())) for game in games]
    low, high = min(done), max(done)
    line = words(
        "done",
        done=low if low == high else Phrase("host.from_to", low=low, high=high),
        rounds=_count_rounds(counting(model)[0], model.n_rounds - model.given_rounds),
        answers=Phrase("host.answers", n=sum(game.model.spent().asks for game in games)),
    )
    asked = [
        _label(game, seat)
        if len(games) == 1
        else Phrase("host.of_group", name=_label(game, seat), number=number)
        for number, game in enumerate(games, 1)
        for seat in game.seats.values()
        if game.status == "playing" and seat.question
    ]
    if session.status != "playing":
        return line
    if not asked:
        slow = any(game.plays_language_model for game in games if game.status == "playing")
        return f"{line} {words.of(Phrase('seat.model_plays'))}" if slow else line
    more = len(asked) - MOST_NAMED
    key = "waiting_more" if more > 0 else "waiting"
    return f"{line} {words(key, names=asked[:MOST_NAMED], n=more)}"


def _elsewhere(host: str, session: ClassSession, words: HostTexts, at_once: AtOnce) -> None:
    def share() -> None:
        for game in session.games:
            GAMES.share(host, game)

    first = session.games[0]
    name = Phrase("host.game", title=title_of(first.model), minds=_minds_and_seed(first))
    with card().key(f"{session.code} elsewhere"):
        Line(words("elsewhere", game=name), tag="h2")
        status = {"open": "nobody_plays", "playing": "played", "over": "over"}
        Line(words(status[session.status]))
        solara.Button(words("host_here"), on_click=at_once(share))


def _sessions(games: Sequence[Game]) -> list[ClassSession]:
    """The classes that play some games, in their order."""
    sessions = dict.fromkeys(game.session for game in games)
    return [session for session in sessions if session is not None]


def _card(name: str, words: HostTexts) -> dict[str, str]:
    """A scenario as it is offered to a host."""
    model = scenario(name)
    declared = load_class_game(model.class_game)
    parts = []
    if declared.people is not None:
        low, high = declared.people
        parts.append(Phrase("host.people_in_group", low=low, high=high))
    if declared.minutes:
        parts.append(Phrase("host.minutes", n=declared.minutes))
    about = declared.rule or one_sentence(model)
    size = Phrase("number.these", these=parts)
    return dict(words.of({"name": name, "title": title_of(model), "about": about, "size": size}))


def _size_of_people(model: type[Any], sizes: Mapping[str, int]) -> str:
    """The parameter with the number of agents among which people sit; ``""`` for none."""
    if model.score is not None and model.score.size in sizes:
        return str(model.score.size)
    return next((size for size in sizes if size != ROUNDS_SIZE), "")


def _key(game: Game) -> str:
    """The key of a game's widgets, so that no button of one game becomes that of another."""
    return next(iter(game.seats.values())).token


def _size_label(size: str) -> str:
    noun = size.removeprefix("n_")
    return known(f"host.number_of_{slug(noun)}", f"Number of {noun}")


def _label_of(setting: str) -> str:
    return Phrase(f"host.{setting}")


def _count_rounds(noun: str, n: int) -> str:
    return known(f"rounds.count_{slug(noun)}", count(n, noun), n=n)


def _label(game: Game, seat: Seat) -> str:
    return name_of(game.model, seat.agent)


def _path(seat: Seat) -> str:
    return f"/play/{seat.token}"


def _minds_and_seed(game: Game) -> str:
    minds = game.model.minds_in_use().items()
    parts = [Phrase("minds.times", n=n, mind=mind_in_words(spec)) for spec, n in minds]
    seed = game.model.entropy[0]
    return Phrase("host.minds", minds=Phrase("number.these", these=parts), seed=seed)


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
