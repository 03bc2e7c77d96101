"""The page for the wall of a class: how to join, how many have answered, and the charts.

It shows neither a key nor a link to a seat. Solara calls the annotation of `Page` with the part of
the path, so annotations are no texts here.
"""

from collections.abc import Callable

import solara

from sabm_mesa.runs.game import ClassSession
from sabm_mesa.visualization.access import listens_at, name_in_network, open_to_others
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.frame import Head
from sabm_mesa.visualization.game_view import VIEWS
from sabm_mesa.visualization.html import html, inside
from sabm_mesa.visualization.labels import count, counting
from sabm_mesa.visualization.pages.debrief import slides
from sabm_mesa.visualization.pages.play_parts import GAMES
from sabm_mesa.visualization.panels import Watched


@solara.component
def Page(code: str = "") -> None:
    """The wall of one class.

    Args:
        code: its code.
    """
    use_poll(lambda: _state(code))
    slide, show = solara.use_state(0)
    session = GAMES.session(code)
    Head("On the wall")
    with inside("main", "sabm-screen"):
        if session is None:
            html("h1", "No game here")
            html("p", "No game has this code: open the page from that of the host.")
            return
        game = session.games[0]
        html("h1", game.model.title)
        over = session.status == "over"
        if over and slide:
            _present(session, slide, show)
            return
        asked, answered = _counts(session)
        Wall(
            code=session.code, reachable=open_to_others(), machine=name_in_network(listens_at()),
            joinable=not over, asked=asked, answered=answered, words=_words(session),
        )  # fmt: skip
        with inside("div"):
            if over:
                solara.Button("Present the results", color="primary", on_click=lambda: show(1))
        for number, each in enumerate(session.games, 1):
            if each.status != "open":
                with inside("section"):
                    if len(session.games) > 1:
                        html("h2", f"Group {number}")
                    Watched(VIEWS[each], VIEWS[each].version, details=False).key(f"game {number}")


def _present(session: ClassSession, slide: int, show: Callable[[int], None]) -> None:
    known = slides(session)
    title, words, drawing = known[slide - 1]
    with inside("section", "sabm-slide", aria_label=f"Slide {slide} of {len(known)}"):
        html("h2", title)
        with inside("div"):
            for line in words:
                html("p", line)
        if drawing:
            solara.HTML(tag="div", unsafe_innerHTML=drawing, classes=["sabm-drawing"])
    SlideBar(at=slide, of=len(known), event_go=show)


def _counts(session: ClassSession) -> tuple[int, int]:
    """How many people are asked in this phase, and how many of them have answered."""
    taken = [seat for game, seat in session.seats if seat.taken and game.status == "playing"]
    return len(taken), sum(seat.question is None for seat in taken)


def _words(session: ClassSession) -> str:
    seats = [seat for _, seat in session.seats]
    joined = sum(seat.taken for seat in seats)
    if session.status == "open":
        return f"{joined} of {len(seats)} joined"
    if session.status == "over":
        return "The game is over"
    asked, answered = _counts(session)
    noun, first = counting(session.games[0].model)
    rounds = {min(len(g.model_data()), g.model.n_rounds - 1) + first for g in session.games}
    now = f"{noun.capitalize()} {', '.join(map(str, sorted(rounds)))}"
    paused = ", the clock is stopped" if session.games[0].paused else ""
    return (
        f"{now}: {answered} of {count(asked, 'person').replace('persons', 'people')} ready{paused}"
    )


def _state(code: str) -> object:
    session = GAMES.session(code)
    if session is None:
        return None
    views = [VIEWS[game].version for game in session.games]
    return session.status, views, _counts(session), _words(session)


@solara.component_vue("slide_bar.vue")
def SlideBar(at: int, of: int, event_go: Callable[[int], object]) -> None:
    """Buttons to the slides before and after, and the keys of a presenter.

    Args:
        at: the number of the slide, from 1.
        of: the number of slides.
        event_go: called with the number of a slide; 0 is the wall itself.
    """


@solara.component_vue("wall.vue")
def Wall(
    code: str,
    reachable: bool,
    machine: str,
    joinable: bool,
    asked: int,
    answered: int,
    words: str,
) -> None:
    """How to join, and how many have answered.

    Args:
        code: the code.
        reachable: whether others can reach the server.
        machine: the address of the machine in its network.
        joinable: whether one can join.
        asked: how many people are asked.
        answered: how many of them have answered.
        words: the state in words.
    """
