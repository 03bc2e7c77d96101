"""The page of a host: sets a game up, hands out the links to its seats, and watches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import solara

from sabm_mesa.errors import SabmError
from sabm_mesa.game import Game, with_others
from sabm_mesa.parameters import parameters_of
from sabm_mesa.prompts import PromptBook
from sabm_mesa.registry import SCENARIOS, scenario
from sabm_mesa.seats import Seat
from sabm_mesa.visualization.pages.play_parts import (
    GAMES,
    Line,
    SeatLink,
    card,
    column,
    table,
    use_poll,
)
from sabm_mesa.written import parse_minds, parse_value

ROUNDS, TIME_LIMIT_S = 4, 120.0


@solara.component
def Page() -> None:
    """The games of the browser that looks, and a form for a new one."""
    host = solara.get_session_id()
    use_poll(lambda: _state(host))
    with column():
        Line("Play with people", tag="h1")
        Line(
            "People, language models and classical minds in one game. Each person plays in a "
            "browser of their own, at a seat with a link of its own. Open this page by an address "
            "that the others can reach: the links begin with it."
        )
        for game in GAMES.of(host):
            _hosted(game)
        _NewGame(host).key("new")


@solara.component
def _NewGame(host: str) -> None:
    name, set_name = solara.use_state(min(SCENARIOS))
    with card():
        Line("New game", tag="h2")
        solara.Select("Scenario", list(SCENARIOS), value=name, on_value=set_name)
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
    problem, set_problem = solara.use_state("")
    conditions = solara.use_memo(lambda: list(PromptBook(model.prompt_file).conditions), [name])

    def open_game() -> None:
        try:
            parameters = {**sizes, "condition": condition, "rng": parse_value(seed or "none")}
            minds = with_others(model, parameters, parse_minds(others.strip()), people)
            GAMES.add(host, Game(model, time_limit_s=limit, **parameters, minds=minds))
        except SabmError as error:
            set_problem(str(error))
        else:
            set_problem("")

    def resize(size: str) -> Callable[[int], None]:
        return lambda value: set_sizes(lambda sizes: {**sizes, size: value})

    solara.InputInt("Seats for people", value=people, on_value=set_people)
    solara.InputText("Who decides for the others", value=others, on_value=set_others)
    Line(
        "classical, classical:NAME, fixed:VALUE, llm:MODEL or llm:MODEL@URL; several with their "
        "numbers, as in llm:a=3,classical=2"
    )
    for size, value in sizes.items():
        label = size.removeprefix("n_").capitalize()
        solara.InputInt(f"Number of {label.lower()}", value=value, on_value=resize(size))
    solara.Select("Condition", conditions, value=condition, on_value=set_condition)
    solara.InputText("Seed (drawn when empty)", value=seed, on_value=set_seed)
    solara.InputFloat("Seconds for an answer", value=limit, on_value=set_limit)
    if problem:
        solara.v.Html(tag="p", attributes={"role": "alert"}, children=[problem])
    solara.Button("Open the game", color="primary", on_click=open_game)


# The parts below are functions, not components: Solara draws a component again only when it is
# given something else, and a game is the same game when it has gone on.


def _hosted(game: Game) -> None:
    model, status = game.model, game.status
    empty = sum(not seat.taken for seat in game.seats.values())
    with card():
        Line(f"{model.title}, {_minds(game)}, seed {model.entropy[0]}", tag="h2")
        for seat in game.seats.values():
            _seat_row(seat)
        if status == "open":
            Line(
                "Nobody plays yet."
                + (f" Seats still empty: {empty}; an empty seat abstains." if empty else "")
            )
            solara.Button("Start the game", color="primary", on_click=game.start)
        else:
            done = model.round + (not model.playing)
            solara.ProgressLinear(100 * done / model.n_rounds, color="primary")
            asks = model.spent()
            Line(f"{done} of {model.n_rounds} rounds done, {asks.asks} answers")
        if status == "over":
            Line(game.problem or "The game is over.")
            table("The game by round", game.model_data())
        if model.recording_path:
            Line(f"Recorded in {model.recording_path}")
        if status == "playing":
            solara.Button("End the game", on_click=game.stop)
        else:
            solara.Button("Close the game and its links", on_click=lambda: GAMES.close(game))


def _seat_row(seat: Seat) -> None:
    with solara.Row(style={"flex-wrap": "wrap", "align-items": "center", "margin": "4px 0"}):
        solara.Text(f"Agent {seat.agent}")
        label = f"Link to the seat of agent {seat.agent}"
        SeatLink(path=f"/play/{seat.token}", label=label).key(seat.token)
        solara.Text("deciding" if seat.question else "taken" if seat.taken else "free")
        if seat.taken:
            solara.Button("Free the seat", text=True, on_click=seat.free)


def _sizes(model: type[Any]) -> dict[str, int]:
    """The numbers of a scenario: of its rounds, and of its players, firms or people."""
    found = parameters_of(model)
    sizes = {n: p.default for n, p in found.items() if n.startswith("n_")}
    return {**sizes, "n_rounds": min(ROUNDS, sizes["n_rounds"])}


def _minds(game: Game) -> str:
    return ", ".join(f"{count} × {spec}" for spec, count in game.model.minds_in_use().items())


def _state(host: str) -> object:
    return [
        (g.status, g.model.round, g.model.spent().asks, [s.version for s in g.seats.values()])
        for g in GAMES.of(host)
    ]
