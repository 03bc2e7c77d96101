"""The page of a host: sets a game up, hands out the links to its seats, and watches it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import solara
import solara.lab

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.llm import Connection
from sabm_mesa.llm.endpoints import endpoints_of_server
from sabm_mesa.minds.human import Seat
from sabm_mesa.models.registry import find_all, scenario
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.game import ContinuedGame, Game, check_seats, with_others
from sabm_mesa.visualization import panels
from sabm_mesa.visualization.access import (
    check_minds,
    check_path,
    listens_at,
    open_to_others,
)
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.game_view import GameView
from sabm_mesa.visualization.html import inside, problem
from sabm_mesa.visualization.labels import count, counting, error_line, name_of, titles_of
from sabm_mesa.visualization.pages.play_parts import (
    GAMES,
    AllLinks,
    Line,
    SeatLink,
    card,
    column,
    table,
)
from sabm_mesa.visualization.panels import recording_link
from sabm_mesa.visualization.server import name_of as address_name

ROUNDS, TIME_LIMIT_S = 4, 120.0
AtOnce = Callable[[Callable[[], object]], Callable[[], None]]
_VIEWS: WeakKeyDictionary[Game, GameView] = WeakKeyDictionary()


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

    with column():
        Line("Play with people", tag="h1")
        Line(
            "People, language models and classical minds in one game. Each person plays in a "
            "browser of their own, at a seat with a link of its own. Open this page by an address "
            "that the others can reach: the links begin with it."
        )
        for game in GAMES.of(host):
            _hosted(game, at_once, closing == _key(game), ask)
        for game in GAMES.of_others(host):
            _elsewhere(host, game, at_once)
        _NewGame(host).key("new")


def open_game(
    host: str,
    model: type[Any],
    parameters: Mapping[str, Any],
    others: str | Mapping[str, int],
    people: int,
    *,
    time_limit_s: float,
    public: bool,
) -> Game:
    """Open a new game; it is on the page of the host then.

    Args:
        host: the secret of the browser that may see its links.
        model: the model class.
        parameters: its parameters without the minds.
        others: the minds of the others: one spec for all, or a mapping → number.
        people: how many seats there are for people.
        time_limit_s: seconds until an unanswered question is given up.
        public: whether players see the results of each round.

    Raises:
        UsageError: for parameters or minds that cannot be used, or that this server does not use.
        LLMError: for a language model that cannot be set up.
    """
    check_minds(others)
    given = {**parameters, "connection": Connection(endpoints=endpoints_of_server())}
    check_seats(model, given, others, people)
    minds = with_others(model, given, others, people)
    game = Game(model, time_limit_s=time_limit_s, **given, minds=minds)
    view = GameView(game)
    game.public = tuple(view.scenario_view.public_columns(game.model)) if public else ()
    _VIEWS[game] = view
    GAMES.add(host, game)
    return game


def take_up(host: str, path: Path, run: int) -> None:
    """Take a game up again that was cut off; it is on the page of the host then.

    Args:
        host: the secret of the browser that may see its links.
        path: the recording.
        run: the number of the run.

    Raises:
        UsageError: as `ContinuedGame`, and for minds that this server does not use.
        RecordingError: as `ContinuedGame`.
    """
    check_path(path)
    (recorded,) = load_runs(path, [run])
    check_minds(recorded.minds)
    connection = replace(
        Connection.of_recorded(recorded.connection), endpoints=endpoints_of_server()
    )
    game = ContinuedGame(recorded, connection, time_limit_s=TIME_LIMIT_S)
    _VIEWS[game] = GameView(game)
    GAMES.add(host, game)


@solara.component
def _NewGame(host: str) -> None:
    known = list(find_all().models)
    name, set_name = solara.use_state(min(known))
    with card():
        Line("New game", tag="h2")
        solara.Select("Scenario", known, value=name, on_value=set_name)
        _Settings(host, name).key(name)


@solara.component
def _Settings(host: str, name: str) -> None:
    model = scenario(name)
    sizes, set_sizes = solara.use_state(_sizes(model))
    people, set_people = solara.use_state(1)
    others, set_others = solara.use_state("classical")
    condition, set_condition = solara.use_state("baseline")
    seed, set_seed = solara.use_state("")
    limit, set_limit = solara.use_state(TIME_LIMIT_S)
    public, set_public = solara.use_state(True)
    conditions = solara.use_memo(lambda: list(PromptBook(model.prompt_file).conditions), [name])

    def open_new() -> str:
        """Open the game, off the page's thread; return its problem."""
        try:
            parameters = {**sizes, "condition": condition, "rng": parse_value(seed or "none")}
            rest = parse_minds(others.strip())
            open_game(host, model, parameters, rest, people, time_limit_s=limit, public=public)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return error_line(error)
        return ""

    opening = solara.lab.use_task(open_new, dependencies=None)

    def resize(size: str) -> Callable[[int], None]:
        return lambda value: set_sizes(lambda sizes: {**sizes, size: value})

    solara.InputInt("Seats for people", value=people, on_value=set_people)
    solara.InputText("Who decides for the others", value=others, on_value=set_others)
    Line(
        "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL or llm:MODEL@NAME; "
        "several with their numbers, as in llm:a=3,classical=2; of classes of agents with the "
        "seats of people in them: Buyer/human=1,classical=2; Seller/llm:a"
    )
    for size, value in sizes.items():
        solara.InputInt(_size_label(size), value=value, on_value=resize(size))
    solara.Select("Condition", conditions, value=condition, on_value=set_condition)
    solara.InputText("Seed (drawn when empty)", value=seed, on_value=set_seed)
    solara.InputFloat("Seconds for an answer", value=limit, on_value=set_limit)
    solara.Checkbox(
        label="People see the results of each round (language models are told what their prompts "
        "say, and no more)",
        value=public, on_value=set_public,
    )  # fmt: skip
    with inside("div"):
        if opening.value and not opening.pending:
            problem(opening.value)
    known: dict[str, Any] = {_size_label(size): value for size, value in sizes.items()}
    known |= {"Seats for people": people, "Who decides for the others": others, "Seed": seed}
    known |= {"Scenario": name, "Results shown": public}
    with inside("div", data_settings=json.dumps(known | {"Seconds for an answer": limit})):
        solara.Button("Open the game", color="primary", on_click=opening, disabled=opening.pending)


# The parts below are functions, not components: Solara draws a component again only when it is
# given something else, and a game is the same game when it has gone on.


def _hosted(game: Game, at_once: AtOnce, closing: bool, ask: Callable[[str], None]) -> None:
    model, status = game.model, game.status
    empty = sum(not seat.taken for seat in game.seats.values())
    with card().key(_key(game)):
        Line(_name(game), tag="h2")
        AllLinks(
            links=[[_label(game, seat), _path(seat)] for seat in game.seats.values()],
            open_=open_to_others(),
            machine=address_name(listens_at()),
        )
        for seat in game.seats.values():
            _seat_row(game, seat, at_once)
        if status == "open":
            Line(
                "Nobody plays yet."
                + (f" Seats still empty: {empty}; an empty seat abstains." if empty else "")
            )
            start = solara.Button("Start the game", color="primary", on_click=at_once(game.start))
            start.key("start")
        else:
            _progress(game)
        if status == "over":
            Line(game.problem or "The game is over.")
            table("The game by round", game.model_data(), titles_of(model))
        if model.recording_path:
            Line(f"Recorded in {model.recording_path}")
        if model.recording_path and status == "over":
            recording_link(model.recording_path)
        if status == "playing":
            solara.Button("End the game", on_click=at_once(game.stop)).key("end")
        elif closing:
            Line("Nobody can come back to a game that is closed. Close it?")
            solara.Button("Keep it", on_click=lambda: ask("")).key("keep")
            close = at_once(lambda: GAMES.close(game))
            solara.Button("Yes, close it", color="primary", on_click=close).key("yes")
        else:
            closes = solara.Button("Close the game and its links", on_click=lambda: ask(_key(game)))
            closes.key("close")
    if status != "open":
        _watched(_VIEWS[game], _key(game))


def _progress(game: Game) -> None:
    model, done = game.model, len(game.model_data())
    solara.ProgressLinear(100 * done / model.n_rounds, color="primary")
    answers = count(model.spent().asks, "answer")
    Line(f"{done} of {count(model.n_rounds, 'round')} done, {answers}")
    if game.status == "playing":
        asked = [name_of(model, seat.agent) for seat in game.seats.values() if seat.question]
        Line(f"Waiting for {', '.join(asked)}." if asked else "Nobody at a seat is asked just now.")


def _watched(view: GameView, key: str) -> None:
    with card().key(f"{key} latest"):
        Line(f"Latest {counting(view.model)[0]}", tag="h2")
        panels.latest(view.model, view.shown)
    with card().key(f"{key} talk"):
        Line("Conversation", tag="h2")
        panels.Talk(view, view.said())
    with solara.v.Html(tag="div").key(f"{key} charts"):
        panels.charts(view.model, view.shown)


def _elsewhere(host: str, game: Game, at_once: AtOnce) -> None:
    with card().key(f"{_key(game)} elsewhere"):
        Line(f"Opened in another browser: {_name(game)}", tag="h2")
        status = {"open": "Nobody plays yet.", "playing": "It is played.", "over": "It is over."}
        Line(status[game.status])
        solara.Button("Host it here too", on_click=at_once(lambda: GAMES.share(host, game)))


def _seat_row(game: Game, seat: Seat, at_once: AtOnce) -> None:
    style = {"flex-wrap": "wrap", "align-items": "center", "margin": "4px 0"}
    with solara.Row(style=style).key(f"row {seat.token}"):
        solara.Text(_label(game, seat))
        label = f"Link to the seat of {_label(game, seat)}"
        SeatLink(path=_path(seat), label=label).key(seat.token)
        solara.Text("deciding" if seat.question else "taken" if seat.taken else "free")
        if seat.taken:
            solara.Button("Free the seat", text=True, on_click=at_once(seat.free)).key("free")


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
    return f"{game.model.title}, {_minds(game)}, seed {game.model.entropy[0]}"


def _sizes(model: type[Any]) -> dict[str, int]:
    """The numbers of a scenario: of its rounds, and of its players, firms or people."""
    found = parameters_of(model)
    sizes = {n: p.default for n, p in found.items() if n.startswith("n_")}
    if None in sizes.values():  # they follow from other parameters
        made = model(recording=False)
        sizes = {n: getattr(made, n) if size is None else size for n, size in sizes.items()}
    return {**sizes, "n_rounds": min(ROUNDS, sizes["n_rounds"])}


def _minds(game: Game) -> str:
    return ", ".join(f"{n} × {spec}" for spec, n in game.model.minds_in_use().items())


def _state(host: str) -> object:
    others = [g.status for g in GAMES.of_others(host)]
    return others, [
        (
            (g.status, g.model.round, g.model.spent().asks, _VIEWS[g].version),
            (len(g.model.spoken), [s.version for s in g.seats.values()]),
        )
        for g in GAMES.of(host)
    ]
