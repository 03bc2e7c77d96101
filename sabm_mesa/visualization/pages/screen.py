"""The page for the wall of a class: how to join, how many have answered, and the charts.

It shows neither a key nor a link to a seat. The host's browser shows it by the code of the class,
and any other one by a read-only link, which cannot change what is shown. Solara calls the
annotation of `Page` with the part of the path, so annotations are no texts here.
"""

import time
from collections.abc import Callable
from urllib.parse import parse_qsl

import solara

from sabm_mesa.core.languages import (
    Phrase,
    Text,
    known,
    language_for,
    slug,
    table_of,
    translated,
)
from sabm_mesa.runs.game import ClassSession
from sabm_mesa.visualization.access import listens_at, name_in_network, open_to_others
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.frame import Head, accepted_languages
from sabm_mesa.visualization.game_view import VIEWS
from sabm_mesa.visualization.html import html, inside
from sabm_mesa.visualization.labels import counting, name_of, title_of
from sabm_mesa.visualization.pages.board import board, points_of, session_of_link, wall_of
from sabm_mesa.visualization.pages.debrief import slides
from sabm_mesa.visualization.pages.play_parts import GAMES
from sabm_mesa.visualization.panels import world
from sabm_mesa.visualization.scenario_view import rule_of


@solara.component
def Page(code: str = "") -> None:
    """The wall of one class, for its host.

    Args:
        code: its code.
    """
    use_poll(lambda: _state(GAMES.session(code)))
    _draw(GAMES.session(code), _asked(), of_host=True)


@solara.component
def ReadOnlyPage(token: str = "") -> None:
    """The wall of one class for a browser with the read-only link; it follows the host.

    Args:
        token: the secret of the link.
    """
    use_poll(lambda: _state(session_of_link(token)))
    _draw(session_of_link(token), _asked(), of_host=False)


def _asked() -> str:
    """The language that the address asks for; ``""`` without one."""
    query = dict(parse_qsl((solara.use_router().search or "").removeprefix("?")))
    return language_for(query["lang"]) if query.get("lang") else ""


def slide_controls(session: ClassSession, language: str, show: Callable[[int], object]) -> None:
    """The button that presents the results, or those to the next slides while it does.

    Args:
        session: the class; its games are over.
        language: the language of the buttons.
        show: called with the number of a slide; 0 is the wall itself.
    """
    slide, texts = wall_of(session).slide, table_of(language, "wall")
    if slide:
        SlideBar(at=slide, of=len(slides(session)), texts=texts, event_go=show)
    else:
        present = solara.Button(str(texts["present"]), color="primary", on_click=lambda: show(1))
        present.key(f"{session.code} present")


def _draw(session: ClassSession | None, asked: str, *, of_host: bool) -> None:
    of_browser = language_for(None, accepted_languages())
    language = asked or (of_browser if session is None else wall_of(session).language)
    texts = table_of(language, "wall")
    Head(str(texts["title"]))
    with inside("main", "sabm-screen", tabindex="0", lang=language):  # it may scroll
        if session is None:
            html("h1", str(texts["no_game"]))
            html("p", str(texts["no_game_why"]))
            return
        slide = wall_of(session).slide if session.status == "over" else 0
        if slide:
            _present(session, slide, language)
        else:
            _now(session, language)
        if session.status == "over" and of_host:
            with inside("div", "sabm-screen-foot"):
                slide_controls(session, language, wall_of(session).show)


def _now(session: ClassSession, language: str) -> None:
    """How to join, how many are ready, and the board."""
    status, model = session.status, session.games[0].model
    asked, answered = _counts(session)
    taken = [seat.agent for _, seat in session.seats if seat.taken]
    html("h1", translated(title_of(model), language))
    Wall(
        code=session.code, reachable=open_to_others(), machine=name_in_network(listens_at()),
        joinable=status != "over", asked=asked, answered=answered,
        words=translated(_words(session), language), small=status != "open",
        steps=translated([Phrase("wall.open"), Phrase("wall.seat"), rule_of(model)], language),
        names=translated([name_of(model, agent) for agent in taken], language)
        if len(session.games) == 1 else [],
        left=_left(session),
        texts=table_of(language, "wall"),
    )  # fmt: skip
    if status == "open":
        return
    decided = any(map(points_of, session.games))
    view = VIEWS[session.games[min(wall_of(session).group, len(session.games) - 1)]]
    scenes = view.scenes(view.shown.played)
    both = scenes and decided
    with inside("div", "sabm-screen-board" + (" sabm-screen-world" if both else "")):
        if scenes:
            with inside("div"):
                world(view, view.shown.played, language=language)
        if decided or len(session.games) > 1:
            board(session, language)
        elif not scenes:
            html("p", translated(rule_of(model), language), "sabm-wall-rule")


def _present(session: ClassSession, slide: int, language: str) -> None:
    shown = slides(session, wall_of(session).group)
    title, words, drawing, *_ = translated(shown[min(slide, len(shown)) - 1], language)
    label = Phrase("wall.slide", slide=slide, of=len(shown)).in_(language)
    named = {"aria-label": label}
    # Without a key Solara would reuse the element of the wall's heading, with its tag.
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


def _left(session: ClassSession) -> float | None:
    """The seconds until the last open question is given up; None while no clock runs."""
    asked = [seat.question for game, seat in session.seats if seat.taken and not game.paused]
    left = [question.remaining_s for question in asked if question is not None]
    return max((seconds for seconds in left if seconds is not None), default=None)


def _words(session: ClassSession) -> str:
    seats = [seat for _, seat in session.seats]
    joined = sum(seat.taken for seat in seats)
    if session.status == "open":
        return Phrase("wall.joined", joined=joined, of=len(seats))
    if session.status == "over":
        return Phrase("seat.over")
    asked, answered = _counts(session)
    noun, first = counting(session.games[0].model)
    rounds = sorted({min(len(g.model_data()), g.model.n_rounds - 1) + first for g in session.games})
    numbers = ", ".join(map(str, rounds))
    now = known(f"rounds.{slug(noun)}", f"{noun} {numbers}", n=numbers).capitalize()
    paused = session.games[0].paused
    key = "wall.people_ready_paused" if paused else "wall.people_ready"
    return Phrase(key, round=now, ready=answered, n=asked)


def _state(session: ClassSession | None) -> object:
    if session is None:
        return None
    views = [VIEWS[game].version for game in session.games]
    wall, left = wall_of(session), _left(session)
    end = None if left is None else round(time.monotonic() + left)
    return session.status, views, _counts(session), _words(session), end, wall.group, wall.slide


@solara.component_vue("slide_bar.vue")
def SlideBar(at: int, of: int, texts: dict[str, Text], event_go: Callable[[int], object]) -> None:
    """Buttons to the slides before and after, and the keys of a presenter.

    Args:
        at: the number of the slide, from 1.
        of: the number of slides.
        texts: the texts of the wall.
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
    steps: list[str],
    names: list[str],
    left: float | None,
    texts: dict[str, Text],
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
        steps: how to join, and the rule.
        names: the players who have joined.
        left: seconds until the clock of the questions has run down; None: no clock runs.
        texts: the texts of the wall.
        small: whether it is one line, which leaves room for the board.
    """
