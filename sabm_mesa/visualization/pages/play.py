"""The page of one player: what it is asked, what it answered, and how the game ended.

Solara calls the annotation of `Page` with the part of the path, so annotations are no texts here.
"""

from typing import Any

import solara

from sabm_mesa.minds.human import Seat, Turn
from sabm_mesa.runs.game import LEFT, Game
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.labels import count, name_of, noun_of, round_of, titles_of
from sabm_mesa.visualization.pages.play_parts import (
    GAMES,
    Answer,
    Line,
    Prose,
    card,
    column,
    table,
)


@solara.component
def Page(token: str = "") -> None:
    """The page behind the link to a seat.

    Args:
        token: the token in the link.
    """
    use_poll(lambda: _state(token))
    found = GAMES.find(token)
    holder = solara.get_session_id()
    # Once and not at every drawing: the seat that a host frees is not to be taken back at once.
    solara.use_memo(lambda: found and found[1].take(holder), [token])
    with column():
        if found is None:
            Line("No game here", tag="h1")
            Line("This link leads to no game. The game may have been closed: ask its host.")
            return
        game, seat = found
        Line(game.model.title, tag="h1")
        if not seat.held_by(holder):
            Line(
                "This seat is taken by another browser. Ask the host for a link of your own."
                if seat.taken
                else "The host has freed this seat. Load the page again to take it."
            )
            return
        Line(_who(game, seat))
        with card():
            _results(game, seat) if game.status == "over" else _now(game, seat, holder)
        if game.public and game.status == "playing" and len(game.so_far()):
            with card():
                _so_far(game, seat)
        if seat.turns:
            with card():
                Line("What you were asked", tag="h2")
                for turn in reversed(seat.turns):
                    _done(game, turn)


# The parts below are functions, not components: Solara draws a component again only when it is
# given something else, and a game is the same game when it has gone on.


def _now(game: Game, seat: Seat, holder: str) -> None:
    question = seat.question
    with solara.v.Html(tag="div", attributes={"aria-live": "polite"}):
        if question is not None:
            system, asked = question.text
            Line(_round(question.ask.key.round, game), tag="h2")
            known = bool(seat.turns) and seat.turns[-1].text[0] == system
            with _folded(open_=not known):
                solara.v.Html(tag="summary", children=["Who you are, and the rules"])
                Prose(system)
            Prose(asked)
        elif game.status == "open":
            Line("You have your seat. The game begins when the host starts it.")
        elif game.status == "playing" and game.has_left(seat):
            Line(f"{_round(game.model.round, game)}: {LEFT}")
        elif game.status == "playing":
            if seat.turns and seat.turns[-1].answer is None:
                Line("Time was up: you abstained.")
            Line(f"{_round(game.model.round, game)}: others are deciding …")
            solara.ProgressLinear(True)
    if question is not None:
        Answer(seat, holder, question).key(f"question-{question.number}")


def _so_far(game: Game, seat: Seat) -> None:
    titles = titles_of(game.model)
    Line(f"After {round_of(game.model, len(game.so_far()) - 1)}", tag="h2")
    table("Your results so far", game.own_data(seat), titles)
    table("The game so far", game.so_far(), titles)


def _results(game: Game, seat: Seat) -> None:
    Line("The game is over", tag="h2")
    if game.problem:  # which may tell of the host's machine, so only the host is told
        Line("It ended before its time.")
    titles = titles_of(game.model)
    table("Your results by round", game.own_data(seat), titles)
    table("The game by round", game.model_data(), titles)


def _done(game: Game, turn: Turn) -> None:
    system, asked = turn.text
    answer = "(no answer in time)" if turn.answer is None else turn.answer
    with _folded():
        solara.v.Html(
            tag="summary",
            children=[f"{round_of(game.model, turn.ask.key.round).capitalize()}: {answer}"],
        )
        Prose(f"{system}\n\n{asked}")


def _who(game: Game, seat: Seat) -> str:
    name, n = name_of(game.model, seat.agent), len(game.model.population)
    noun = noun_of(game.model)
    if name.casefold() == f"{noun} {seat.agent}":
        return f"You play {name} of {n}."
    return f"You play {name}, one of {count(n, noun)}."


def _folded(*, open_: bool = False) -> Any:
    attributes = {"open": True} if open_ else {}
    return solara.v.Html(tag="details", style_="margin: 8px 0", attributes=attributes)


def _round(round_: int, game: Game) -> str:
    model = game.model
    shown = round_of(model, max(round_, 0)).capitalize()
    last = round_of(model, model.n_rounds - 1)
    return f"{shown} (the last is {last})" if model.n_rounds > 1 else shown


def _state(token: str) -> object:
    found = GAMES.find(token)
    return found and (found[1].version, found[0].status, found[0].model.round)
