"""The page of a host: sets a game up, hands out the links to its seats, and watches it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import solara
import solara.lab

from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.llm import Connection
from sabm_mesa.llm.endpoints import endpoints_of_server
from sabm_mesa.minds.human import HUMAN, Seat
from sabm_mesa.minds.specs import CLASSICAL, named_in
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
from sabm_mesa.visualization.game_view import VIEWS, GameView
from sabm_mesa.visualization.html import choice, field, inside, problem, root_path
from sabm_mesa.visualization.labels import count, counting, error_line, in_words, name_of
from sabm_mesa.visualization.pages.board import board, wall_of
from sabm_mesa.visualization.pages.debrief import bundle
from sabm_mesa.visualization.pages.play_parts import (
    GAMES,
    AllLinks,
    GameCards,
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

ROUNDS, TIME_LIMIT_S, MORE_S = 4, 120.0, 30.0
ROUNDS_SIZE = "n_rounds"
MOST_GROUPS, MOST_USUAL = 20, 40
"""Groups of a class at most; and agents that may all be seats unless the host says otherwise."""
MOST_NAMED = 5
"""People whom the host reads by name in the line of those who are waited for."""
NOBODY = "nobody"
"""Stands for no mind at empty seats."""
ROW = {"flex-wrap": "wrap", "align-items": "center", "margin": "4px 0", "gap": "8px 16px"}
AtOnce = Callable[[Callable[[], object]], Callable[[], None]]


@solara.component
def Page() -> None:
    """The games of the browser that looks, and a form for a new one."""
    host = solara.get_session_id()
    use_poll(lambda: _state(host))
    closing, ask = solara.use_state("")
    _, redraw = solara.use_state(0)

    def at_once(action: Callable[[], object]) -> Callable[[], None]:
        """The action, after which the page is drawn again without waiting for the next look."""

        def act() -> None:
            action()
            redraw(lambda times: times + 1)

        return act

    own = _sessions(GAMES.of(host))
    with inside("main", "sabm-host") if own else column():
        Line("Play with people", tag="h1")
        if not own:
            Line(
                "People, language models and classical minds in one game. People join by a code, "
                "each in a browser of their own. Open this page by an address that the others can "
                "reach."
            )
        for session in own:
            _hosted(session, at_once, closing == session.code, ask)
        for session in _sessions(GAMES.of_others(host)):
            _elsewhere(host, session, at_once)
        # One game at a time is what a host looks after: the form for another one is folded.
        _NewGame(host, folded=any(each.status != "over" for each in own)).key("new")


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
    seed = given.get("rng")
    games = []
    for group in range(groups):
        own = {**given, "rng": seed + group if type(seed) is int else seed}
        game = Game(model, time_limit_s=time_limit_s, stand_in=stand_in, **own, minds=minds)
        view = VIEWS[game] = GameView(game)
        game.public = tuple(view.scenario_view.public_columns(game.model)) if public else ()
        game.ranked = ranked
        games.append(game)
        for spec in named_in(others) if group == 0 else ():  # also where no agent is left for it
            game.model.make_mind(game.model.population[0], spec)
    return _keep(host, ClassSession(games))


def take_up(host: str, path: Path, run: int) -> ClassSession:
    """Take a game up again that was cut off, with the others of its class.

    They are on the page of the host then.

    Args:
        host: the secret of the browser that may see its links.
        path: the recording.
        run: the number of the run.

    Raises:
        UsageError: as `ContinuedGame`, and for minds that this server does not use.
        RecordingError: as `ContinuedGame`.
    """
    check_path(path)
    (first,) = load_runs(path, [run])
    found = [each for each in load_runs(path) if each.command == first.command]
    left = [each for each in found if not each.finished and HUMAN in each.minds]
    recording = Recording(path) if len(left) > 1 and first in left else None
    games: list[ContinuedGame] = []
    try:
        for each in left if recording is not None else [first]:
            check_minds(each.minds)
            connection = replace(
                Connection.of_recorded(each.connection), endpoints=endpoints_of_server()
            )
            games.append(
                ContinuedGame(
                    each, connection, time_limit_s=TIME_LIMIT_S, recording=recording,
                    check=check_minds,
                )
            )  # fmt: skip
            VIEWS[games[-1]] = GameView(games[-1])
    except BaseException:
        if recording is not None:
            recording.close()
        raise
    return _keep(host, ClassSession(games, games[0].code, recording))


def _keep(host: str, session: ClassSession) -> ClassSession:
    for game in session.games:
        GAMES.add(host, game)
    return session


@solara.component
def _NewGame(host: str, *, folded: bool) -> None:
    known = find_all().models
    name, set_name = solara.use_state(min(known))
    unfolded = {} if folded else {"open": ""}
    with card(), solara.v.Html(tag="details", class_="sabm-details", attributes=unfolded):
        solara.v.Html(tag="summary", children=[solara.v.Html(tag="h2", children=["New game"])])
        cards = solara.use_memo(lambda: [_card(each) for each in known], [])
        GameCards(games=cards, chosen=name, event_choose=set_name)
        _Settings(host, name).key(name)


@solara.component
def _Settings(host: str, name: str) -> None:
    model = scenario(name)
    declared = load_class_game(model.class_game)
    default = solara.use_memo(lambda: _sizes(model, declared.parameters), [name])
    classes = solara.use_memo(lambda: list(agents_by_class(model, {})), [name])
    size_of_people = _size_of_people(model, default)
    own, set_own = solara.use_state(dict[str, Any]())
    usual = default.get(size_of_people, 1)
    people, set_people = solara.use_state(usual if usual <= MOST_USUAL else 1)
    groups, set_groups = solara.use_state(1)
    others, set_others = solara.use_state(CLASSICAL)
    stand_in, set_stand_in = solara.use_state(CLASSICAL)
    seats_of, set_seats_of = solara.use_state("")
    condition, set_condition = solara.use_state("baseline")
    seed, set_seed = solara.use_state("")
    limit, set_limit = solara.use_state(TIME_LIMIT_S)
    public, set_public = solara.use_state(True)
    ranked, set_ranked = solara.use_state(False)
    conditions = solara.use_memo(lambda: list(PromptBook(model.prompt_file).conditions), [name])
    # As many agents as there are seats, unless the host says otherwise.
    sizes = {
        n: own.get(n, max(v, people) if n == size_of_people else v) for n, v in default.items()
    }
    chosen = {n: own[n] for n in declared.choices if n in own}

    def open_new() -> str:
        """Open the games, off the page's thread; return the problem."""
        try:
            given = {
                **declared.parameters,
                **_of_a_run(model, sizes),
                **chosen,
                "condition": condition,
                "rng": parse_value(seed or "none"),
            }
            rest = parse_minds(others.strip())
            plays = stand_in.strip()
            open_session(
                host, model, given, rest, people, time_limit_s=limit, public=public, groups=groups,
                stand_in="" if plays == NOBODY else plays, ranked=ranked, seats_of=seats_of,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return error_line(error)
        return ""

    opening = solara.lab.use_task(open_new, dependencies=None)

    def resize(size: str) -> Callable[[Any], None]:
        return lambda value: set_own(lambda own: {**own, size: value})

    field("Seats for people", people, set_people, kind="whole")
    field("Groups", groups, set_groups, kind="whole")
    if ROUNDS_SIZE in sizes:
        label, rounds = _size_label(ROUNDS_SIZE), sizes[ROUNDS_SIZE]
        field(label, rounds, resize(ROUNDS_SIZE), kind="whole")
    for parameter, options in declared.choices.items():
        values, first = list(options()), parameters_of(model)[parameter].default
        label = parameter.replace("_", " ").capitalize()
        choice(label, values, own.get(parameter, first), resize(parameter))
    with solara.v.Html(tag="details", class_="sabm-details"):
        solara.v.Html(tag="summary", children=["More settings"])
        words = "Who plays for empty seats, and answers what is not asked of people"
        field(words, stand_in, set_stand_in)
        Line(
            "A mind as below, for each empty seat until somebody comes; nobody: an empty seat "
            "abstains, and people answer all questions."
        )
        if len(classes) > 1:
            choice("Seats are of the class", classes, seats_of or classes[0], set_seats_of)
        field("Who decides for the others", others, set_others)
        Line(
            "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL or llm:MODEL@NAME; "
            "several with their numbers, as in llm:a=3,classical=2; of classes of agents with the "
            "seats of people in them: Buyer/human=1,classical=2; Seller/llm:a"
        )
        for size, value in sizes.items():
            if size != ROUNDS_SIZE:
                field(_size_label(size), value, resize(size), kind="whole")
        choice("Condition", conditions, condition, set_condition)
        field("Seed (drawn when empty)", seed, set_seed)
        field("Seconds for an answer", limit, set_limit, kind="number")
        solara.Checkbox(
            label="People see the results of each round (language models are told what their "
            "prompts say, and no more)",
            value=public, on_value=set_public,
        )  # fmt: skip
        solara.Checkbox(label="People see their rank", value=ranked, on_value=set_ranked)
    with inside("div"):
        if opening.value and not opening.pending:
            problem(opening.value)
    known: dict[str, Any] = {_size_label(size): value for size, value in sizes.items()}
    known |= {"Seats for people": people, "Who decides for the others": others, "Seed": seed}
    known |= {"Scenario": name, "Results shown": public, "Groups": groups}
    known |= {"Who plays for empty seats": stand_in} | chosen
    with inside("div", data_settings=json.dumps(known | {"Seconds for an answer": limit})):
        solara.Button("Open the game", color="primary", on_click=opening, disabled=opening.pending)


# The parts below are functions, not components: Solara draws a component again only when it is
# given something else, and a game is the same game when it has gone on.


def _hosted(
    session: ClassSession, at_once: AtOnce, closing: bool, ask: Callable[[str], None]
) -> None:
    status, code, games = session.status, session.code, session.games
    with card().key(code):
        with solara.Row(style=ROW).key("head"):
            title = f"{games[0].model.title}, {len(games)} groups"
            Line(title if len(games) > 1 else games[0].model.title, tag="h2")
            if status != "over":
                solara.v.Html(tag="span", children=["Code "])
                solara.v.Html(tag="strong", class_="sabm-code", children=[code])
            _link("For the projector: code, QR and charts", f"/screen/{code}")
            _link("Read-only, for another computer", f"/wall/{wall_of(session).token}")
        with solara.Row(style=ROW).key("controls"):
            _controls(session, at_once)
            _progress(session)
        if status != "open" or len(games) > 1:
            board(session, _with_index(at_once, wall_of(session).choose))
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
    name = f"Group {number + 1}" if len(session.games) > 1 else "the game"
    if len(session.games) > 1:
        Line(f"Seats of {name}", tag="h3")
    _tiles(game, at_once)
    if game.status != "open":
        with solara.v.Html(tag="details", class_="sabm-details").key(f"in full {number}"):
            words = f"World, numbers, charts and conversation of {name}"
            solara.v.Html(tag="summary", children=[words])
            view = VIEWS[game]
            panels.Watched(view, view.version, details=True).key(f"{session.code} {number} game")


def _ended(session: ClassSession, at_once: AtOnce) -> None:
    """How the games ended, and what is left of them."""
    over = session.status == "over"
    for line in dict.fromkeys(game.problem for game in session.games if over):
        Line(line or "The game is over.")
    if over:
        game = session.games[min(wall_of(session).group, len(session.games) - 1)]
        with solara.v.Html(tag="details", class_="sabm-details").key("by round"):
            solara.v.Html(tag="summary", children=["Table of each round"])
            table("The game by round", *in_words(game.model, game.model_data()))
    paths = [game.model.recording_path for game in session.games]
    for path in dict.fromkeys(filter(None, paths)):
        Line(f"Recorded in {path}")
        if over:
            recording_link(path)
    if over:
        _take_home(session, at_once)


def _controls(session: ClassSession, at_once: AtOnce) -> None:
    """The buttons for the whole class."""
    playing = [game for game in session.games if game.status == "playing"]
    if session.status == "open":
        on_start = at_once(session.start)
        solara.Button("Start the game", color="primary", on_click=on_start).key("start")
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

    solara.Button("Go on" if paused else "Pause", on_click=at_once(pause)).key("pause")
    solara.Button(f"+{MORE_S:g} seconds", on_click=at_once(more)).key("more")
    solara.Button("End the game", on_click=at_once(end)).key("end")


def _closing(
    session: ClassSession, at_once: AtOnce, closing: bool, ask: Callable[[str], None]
) -> None:
    if not closing:
        closes = solara.Button("Close the game and its links", on_click=lambda: ask(session.code))
        closes.key("close")
        return

    def close_all() -> None:
        for game in session.games:
            GAMES.close(game)

    Line("Nobody can come back to a game that is closed. Close it?")
    solara.Button("Keep it", on_click=lambda: ask("")).key("keep")
    solara.Button("Yes, close it", color="primary", on_click=at_once(close_all)).key("yes")


def _take_home(session: ClassSession, at_once: AtOnce) -> None:
    """The results on the wall, and everything in one file."""
    with solara.Row(style=ROW).key("results"):
        slide_controls(session, _with_index(at_once, wall_of(session).show))
        with solara.FileDownload(lambda: bundle(session), f"{session.code}.zip"):
            solara.Button("Download all: data, recording, report", icon_name="mdi-download")


def _tiles(game: Game, at_once: AtOnce) -> None:
    by_token = {seat.token: seat for seat in game.seats.values()}

    def do(action: Callable[[Seat], None]) -> Callable[[str], None]:
        return lambda token: (
            at_once(lambda: action(by_token[token]))() if token in by_token else None
        )

    SeatTiles(
        seats=[_tile(game, seat) for seat in game.seats.values()],
        event_skip=do(Seat.skip), event_free=do(Seat.free),
    ).key(f"tiles {_key(game)}")  # fmt: skip


def _tile(game: Game, seat: Seat) -> dict[str, Any]:
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
        "taken": seat.taken,
    }  # fmt: skip


def _links(session: ClassSession) -> None:
    """The links to single seats, for a class without a wall."""
    games = session.games

    def label(game: Game, seat: Seat) -> str:
        group = f"group {games.index(game) + 1}, " if len(games) > 1 else ""
        return f"{group}{_label(game, seat)}"

    with solara.v.Html(tag="details", class_="sabm-details").key("links"):
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
                words = f"Link to the seat of {label(game, seat)}"
                SeatLink(path=_path(seat), label=words).key(seat.token)


def _plays_empty(game: Game) -> str:
    if game.stand_in:
        return f"{game.stand_in} plays for an empty seat until somebody comes"
    return "an empty seat abstains"


def _link(words: str, path: str) -> None:
    attributes = {"href": f"{root_path()}{path}", "target": "_blank", "rel": "noopener"}
    solara.v.Html(tag="a", class_="sabm-link-words", children=[words], attributes=attributes)


def _progress(session: ClassSession) -> None:
    """How far the games are, and who is waited for."""
    games = session.games
    if session.status == "open":
        empty = sum(not seat.taken for _, seat in session.seats)
        left = f" Seats still empty: {empty}; {_plays_empty(games[0])}." if empty else ""
        Line(f"Nobody plays yet.{left}")
        return
    model = games[0].model
    done = [len(model.decided_rounds(game.model_data())) for game in games]
    n = count(model.n_rounds - model.given_rounds, counting(model)[0])
    from_to = f"{min(done)}" if min(done) == max(done) else f"{min(done)} to {max(done)}"
    answers = count(sum(game.model.spent().asks for game in games), "answer")
    words = f"{from_to} of {n} done, {answers}."
    asked = [
        _label(game, seat) if len(games) == 1 else f"{_label(game, seat)} of group {number}"
        for number, game in enumerate(games, 1)
        for seat in game.seats.values()
        if game.status == "playing" and seat.question
    ]
    if session.status == "playing":
        more = f" and {len(asked) - MOST_NAMED} more" if len(asked) > MOST_NAMED else ""
        names = ", ".join(asked[:MOST_NAMED])
        words += f" Waiting for {names}{more}." if asked else ""
    Line(words)


def _elsewhere(host: str, session: ClassSession, at_once: AtOnce) -> None:
    def share() -> None:
        for game in session.games:
            GAMES.share(host, game)

    with card().key(f"{session.code} elsewhere"):
        Line(f"Opened in another browser: {_name(session.games[0])}", tag="h2")
        status = {"open": "Nobody plays yet.", "playing": "It is played.", "over": "It is over."}
        Line(status[session.status])
        solara.Button("Host it here too", on_click=at_once(share))


def _sessions(games: Sequence[Game]) -> list[ClassSession]:
    """The classes that play some games, in their order."""
    return [each for each in dict.fromkeys(game.session for game in games) if each is not None]


def _card(name: str) -> dict[str, str]:
    """A scenario as it is offered to a host."""
    model = scenario(name)
    declared = load_class_game(model.class_game)
    size = "" if declared.people is None else "{}–{} people in a group".format(*declared.people)
    minutes = f"{declared.minutes} minutes" if declared.minutes else ""
    about = declared.rule or one_sentence(model)
    words = ", ".join(filter(None, [size, minutes]))
    return {"name": name, "title": model.title, "about": about, "size": words}


def _size_of_people(model: type[Any], sizes: Mapping[str, int]) -> str:
    """The parameter that is the number of those among whom people sit, ``""`` for none."""
    if model.score is not None and model.score.size in sizes:
        return str(model.score.size)
    return next((size for size in sizes if size != ROUNDS_SIZE), "")


def _key(game: Game) -> str:
    """Return the key of a game's widgets: no button of one may become that of another."""
    return next(iter(game.seats.values())).token


def _size_label(size: str) -> str:
    return f"Number of {size.removeprefix('n_')}"


def _label(game: Game, seat: Seat) -> str:
    return name_of(game.model, seat.agent)


def _path(seat: Seat) -> str:
    return f"/play/{seat.token}"


def _name(game: Game) -> str:
    return f"{game.model.title}, {_minds_and_seed(game)}"


def _minds_and_seed(game: Game) -> str:
    return f"{_minds(game)}, seed {game.model.entropy[0]}"


def _sizes(model: type[Any], usual: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of a scenario: of its rounds, and of its players, firms or people.

    Args:
        model: the model class.
        usual: the parameters of its class game.
    """
    found = parameters_of(model)
    sizes = {n: p.default for n, p in found.items() if n.startswith("n_")}
    if None in sizes.values():  # they follow from other parameters
        made = model(recording=False)
        sizes = {n: getattr(made, n) if size is None else size for n, size in sizes.items()}
    sizes["n_rounds"] = min(ROUNDS, sizes["n_rounds"])
    return {name: usual.get(name, size) for name, size in sizes.items()}


def _of_a_run(model: type[Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of a run: people count the rounds that they decide."""
    rounds = sizes.get(ROUNDS_SIZE)
    if type(rounds) is not int:
        return dict(sizes)
    return {**sizes, ROUNDS_SIZE: rounds + model.given_rounds}


def _minds(game: Game) -> str:
    return ", ".join(f"{n} × {spec}" for spec, n in game.model.minds_in_use().items())


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
