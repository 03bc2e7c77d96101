"""The page for the wall of a class: how to join, how many have answered, and the charts.

It shows neither a key nor a link to a seat. The host's browser shows it by the code of the class,
and any other one by a read-only link, which cannot change what is shown. Solara calls the
annotation of `Page` with the part of the path, so annotations are no texts here.
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
from sabm_mesa.visualization.pages.board import board, session_of_link, wall_of
from sabm_mesa.visualization.pages.debrief import slides
from sabm_mesa.visualization.pages.play_parts import GAMES
from sabm_mesa.visualization.panels import world


@solara.component
def Page(code: str = "") -> None:
    """The wall of one class, for its host.

    Args:
        code: its code.
    """
    use_poll(lambda: _state(GAMES.session(code)))
    _draw(GAMES.session(code), of_host=True)


@solara.component
def ReadOnlyPage(token: str = "") -> None:
    """The wall of one class for a browser that has the link alone; it follows the host.

    Args:
        token: the secret of the link.
    """
    use_poll(lambda: _state(session_of_link(token)))
    _draw(session_of_link(token), of_host=False)


def slide_controls(session: ClassSession, show: Callable[[int], object]) -> None:
    """The button that presents the results, or those to the next slides while it does.

    Args:
        session: the class; its games are over.
        show: called with the number of a slide; 0 is the wall itself.
    """
    slide = wall_of(session).slide
    if slide:
        SlideBar(at=slide, of=len(slides(session)), event_go=show)
    else:
        present = solara.Button(
            "Present the results", color="primary", on_click=lambda: show(1)
        )  # fmt: skip
        present.key("present")


def _draw(session: ClassSession | None, *, of_host: bool) -> None:
    Head("On the wall")
    with inside("main", "sabm-screen", tabindex="0"):  # it may scroll
        if session is None:
            html("h1", "No game here")
            html("p", "No game has this code: open the page from that of the host.")
            return
        slide = wall_of(session).slide if session.status == "over" else 0
        if slide:
            _present(session, slide)
        else:
            _now(session)
        if session.status == "over" and of_host:
            with inside("div", "sabm-screen-foot"):
                slide_controls(session, wall_of(session).show)


def _now(session: ClassSession) -> None:
    """How to join, how many are ready, and the board."""
    status = session.status
    asked, answered = _counts(session)
    html("h1", session.games[0].model.title)
    Wall(
        code=session.code, reachable=open_to_others(), machine=name_in_network(listens_at()),
        joinable=status != "over", asked=asked, answered=answered, words=_words(session),
        small=status != "open",
    )  # fmt: skip
    if status == "open":
        return
    view = VIEWS[session.games[min(wall_of(session).group, len(session.games) - 1)]]
    scenes = view.scenes(view.shown.played)
    with inside("div", "sabm-screen-board" + (" sabm-screen-world" if scenes else "")):
        if scenes:
            with inside("div"):
                world(view, view.shown.played)
        board(session)


def _present(session: ClassSession, slide: int) -> None:
    known = slides(session)
    title, words, drawing, *_ = known[min(slide, len(known)) - 1]
    named = {"aria-label": f"Slide {slide} of {len(known)}"}
    # A key: else it would be the element of the heading of the wall, which keeps its tag.
    with solara.v.Html(tag="section", class_="sabm-slide", attributes=named).key("slide"):
        html("h1", title)
        with inside("div"):
            for line in words:
                html("p", line)
        if drawing:
            solara.HTML(tag="div", unsafe_innerHTML=drawing, classes=["sabm-drawing"])


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


def _state(session: ClassSession | None) -> object:
    if session is None:
        return None
    views = [VIEWS[game].version for game in session.games]
    wall = wall_of(session)
    return session.status, views, _counts(session), _words(session), wall.group, wall.slide


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
    small: bool = False,
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
        small: whether it is one line, which leaves room for the board.
    """
