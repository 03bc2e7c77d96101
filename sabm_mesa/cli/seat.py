"""Games with a person at one seat in the terminal, or with programs at seats over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.cli.app import say as show
from sabm_mesa.cli.progress import reporting_lost
from sabm_mesa.core.answers import InvalidAnswer, Text
from sabm_mesa.errors import MindSpecError, RunError
from sabm_mesa.minds.human import Input, Question, Seat, inputs_of, text_from
from sabm_mesa.models import registry
from sabm_mesa.runs.game import LEFT, Game, with_others

HOLDER = "terminal"

Say = Callable[[str], object]
Listen = Callable[[str], str]


def play(
    name: str,
    parameters: Mapping[str, Any],
    *,
    others: str | Mapping[str, Any] = "classical",
    time_limit_s: float | None = None,
    say: Say = show,
    listen: Listen = input,
) -> Game:
    """Let a person play in the terminal, as the first agent, or as the first one of a class.

    The minds of the other agents are one spec for all, spec → number, or class of agents → one of
    these. `listen` shows a prompt and returns the typed line; it raises EOFError at the end.

    Raises:
        UsageError: for a game that cannot be played.
        RunError: when the game fails, or the person leaves it.
    """
    model = registry.load(name)
    minds = with_others(model, parameters, others)
    game = Game(model, time_limit_s=time_limit_s, **{**parameters, "minds": minds})
    if len(game.seats) > 1:
        raise MindSpecError(
            "There is one seat in the terminal: for more people open a game in the viewer (sabm "
            "view)."
        )
    (seat,) = game.seats.values()
    seat.take(HOLDER)
    say(f"{model.title}. You play agent {seat.agent} of {len(game.model.population)}.")
    say("End the game with Ctrl-C.")
    with reporting_lost(_recording(game)):
        game.start()
        try:
            converse(game, seat, say, listen)
        except (EOFError, KeyboardInterrupt):
            game.stop()
            game.join()
            left = f"You left the game in round {game.model.round}.{_where(game)}"
            raise RunError(left) from None
        if game.problem:
            raise RunError(f"{game.problem}{_where(game)}")
    say("\n".join(["", "The game is over.", "", *_results(game, seat)]))
    return game


def serve(
    name: str,
    parameters: Mapping[str, Any],
    seats: int,
    host: str,
    port: int,
    *,
    others: str | Mapping[str, Any] = "classical",
    time_limit_s: float | None = None,
    say: Say = show,
) -> Game:
    """Let programs play over HTTP, as the first agents, and return the finished game."""
    from sabm_mesa.visualization.server import serve_seats

    model = registry.load(name)
    minds = with_others(model, parameters, others, seats)
    game = Game(model, time_limit_s=time_limit_s, **{**parameters, "minds": minds})

    def ready(addresses: Mapping[int, str]) -> None:
        for agent, address in addresses.items():
            say(f"agent {agent}: {address}")

    with reporting_lost(_recording(game)):
        serve_seats(game, host, port, ready=ready)
    say(f"The game is over.{_where(game)}")
    return game


def _recording(game: Game) -> Iterator[Path]:
    if (path := game.model.recording_path) is not None:
        yield path


def converse(game: Game, seat: Seat, say: Say, listen: Listen) -> None:
    """Show the questions at a seat and take the answers, until the game is over."""
    version, n_shown, scenario, left = -1, 0, "", False
    while True:
        version = seat.wait(version)
        for turn in seat.turns[n_shown:]:
            n_shown += 1
            if turn.answer is None:
                say("Time is up: you abstained.")
        if (question := seat.question) is not None:
            system, asked = question.text
            say(f"\n— Round {question.ask.key.round} —")
            if system != scenario:  # it rarely changes, and is long
                say(f"{system}\n")
                scenario = system
            say(asked)
            _answer(seat, question, say, listen)
        elif game.status == "playing" and not left and game.has_left(seat):
            say(f"\n{LEFT}")
            left = True
        elif game.status == "over":
            return


def _answer(seat: Seat, question: Question, say: Say, listen: Listen) -> None:
    """Ask until the answer is accepted, or the question is over."""
    spec = question.ask.spec
    inputs = inputs_of(spec)
    while seat.question is question:
        reasoning = listen("Your reasoning (may stay empty): ") if spec.reasoning else ""
        given: dict[str, str] = {}
        for input_ in inputs:
            if input_.is_asked(given):
                given[input_.path] = _value(seat, question, input_, len(inputs) == 1, say, listen)
        text = given[""] if len(inputs) == 1 and "" in given else text_from(spec, given)
        refused = seat.answer(HOLDER, question.number, text, reasoning)
        if not refused:
            return
        say(refused)


def _value(
    seat: Seat, question: Question, input_: Input, alone: bool, say: Say, listen: Listen
) -> str:
    """Ask for one value until it is legal; the seat checks a value that is the whole answer."""
    while True:
        typed = listen(f"{_prompt(input_)}: ")
        if alone or seat.question is not question or input_.kind == "list":
            return typed
        try:
            if input_.kind != "several":
                return input_.spec.as_text(input_.spec.read(typed).value)
            given = [part for part in typed.split(",") if part.strip()]
            return ", ".join(input_.spec.as_text(input_.spec.read(part).value) for part in given)
        except InvalidAnswer as problem:
            say(question.ask.book.reason(problem))


def _prompt(input_: Input) -> str:
    options = " / ".join(input_.options)
    if not options:
        spec = input_.spec
        is_list = input_.kind == "list"
        most = f", at most {spec.max_words}" if isinstance(spec, Text) and not is_list else ""
        return f"{input_.label}{most}"
    return options if input_.kind == "choice" and not input_.path else f"{input_.label}: {options}"


def _results(game: Game, seat: Seat) -> list[str]:
    return [
        "You:", _table(game.own_data(seat)), "",
        "All:", _table(game.model_data()), *([_where(game).strip()] if _where(game) else []),
    ]  # fmt: skip


def _table(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, na_rep="–", float_format=lambda value: f"{value:.4g}")


def _where(game: Game) -> str:
    path = game.model.recording_path
    return f" The answers are in {path}." if path else ""
