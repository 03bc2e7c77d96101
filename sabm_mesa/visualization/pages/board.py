"""The groups of a class on one screen: a tile with a small chart for each, and one large chart.

The page of the host and the wall show the same board. The host selects the highlighted group and
the slide; the wall follows.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd
import solara

from sabm_mesa.core.languages import ENGLISH, Phrase, table_of, translated
from sabm_mesa.models.declarations import load_class_game
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.visualization.connections import look_now
from sabm_mesa.visualization.game_view import VIEWS
from sabm_mesa.visualization.labels import counting, round_noun, titles_of
from sabm_mesa.visualization.pages.play_parts import GAMES
from sabm_mesa.visualization.run_controller import Shown

Point = tuple[int, float | None]


@dataclass
class Wall:
    """The shared state of the wall of a class; every projector shows the same.

    Attributes:
        token: the secret of its read-only link.
        group: the index of the highlighted group.
        slide: the number of the current slide, from 1; 0: none.
        language: the language of the class; the address of a wall may set another.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    group: int = 0
    slide: int = 0
    language: str = ENGLISH

    def choose(self, group: int) -> None:
        """Highlight a group.

        Args:
            group: its index.
        """
        self.group = group
        look_now()

    def speak(self, language: str) -> None:
        """Set the language of the wall.

        Args:
            language: its code.
        """
        self.language = language
        look_now()

    def show(self, slide: int) -> None:
        """Show a slide.

        Args:
            slide: its number, from 1; 0: none.
        """
        self.slide = slide
        look_now()


_WALLS: WeakKeyDictionary[ClassSession, Wall] = WeakKeyDictionary()
_POINTS: WeakKeyDictionary[Game, tuple[Shown, list[Point]]] = WeakKeyDictionary()


def wall_of(session: ClassSession) -> Wall:
    """The wall of a class."""
    return _WALLS.setdefault(session, Wall())


def session_of_link(token: str) -> ClassSession | None:
    """The class of a read-only link; None if there is none or it was closed.

    Args:
        token: the secret of the link.
    """
    for session, wall in list(_WALLS.items()):
        same = secrets.compare_digest(wall.token.encode(), token.encode())
        if same and GAMES.session(session.code) is session:
            return session
    return None


def board(
    session: ClassSession, language: str, choose: Callable[[int], object] | None = None
) -> None:
    """Draw the board of a class.

    Args:
        session: the class.
        language: its language.
        choose: called with the index of a chosen group; None: the board is read-only.
    """
    model = session.games[0].model
    groups = [group_of(game, number) for number, game in enumerate(session.games, 1)]
    shown = {"label": _label(model), "noun": round_noun(model), "groups": groups}
    _Board(
        **translated(shown, language), last=_last(model), language=language,
        texts=table_of(language, "wall"),
        chosen=wall_of(session).group, picks=choose is not None, event_choose=choose,
    )  # fmt: skip


def group_of(game: Game, number: int) -> dict[str, Any]:
    """The data of a group's tile.

    Args:
        game: the game.
        number: the number of the group, from 1.

    Returns:
        The ``name`` of the group, its ``state``, the state in ``words``, and its ``points``.
    """
    seats = list(game.seats.values())
    taken = [seat for seat in seats if seat.taken]
    ready = [seat for seat in taken if seat.question is None]
    away = sum(seat.away for seat in taken)
    if game.status == "open":
        state, words = "open", Phrase("wall.joined", joined=len(taken), of=len(seats))
    elif game.status == "over":
        state, words = "over", Phrase("wall.stopped" if game.problem else "wall.over")
    else:
        state = "ready" if len(ready) == len(taken) else "waiting"
        words = Phrase("wall.ready", ready=len(ready), of=len(taken))
        words = words if taken else Phrase("wall.nobody_joined")
    if away and game.status != "over":
        words = Phrase("wall.away", what=words, away=away)
    name = Phrase("slides.group", number=number)
    return {"name": name, "state": state, "words": words, "points": points_of(game)}


def points_of(game: Game) -> list[Point]:
    """The course of a group: the mean decision of its agents by round so far.

    If the scenario declares no decision for this, the first model column is used.

    Args:
        game: the game.

    Returns:
        Displayed round numbers, and values; None: no value.
    """
    shown = VIEWS[game].shown
    known = _POINTS.get(game)
    if known is not None and known[0] is shown:
        return known[1]
    declared = load_class_game(game.model.class_game).debrief
    frame = shown.agent_data if declared else shown.model_data
    points: list[Point] = []
    if len(frame):
        column = declared.column if declared else next(iter(game.model.columns()))
        data = game.model.decided_rounds(frame)
        values = pd.to_numeric(data[column], errors="coerce").groupby(data["round"]).mean()
        first = counting(game.model)[1]
        points = [
            (int(str(round_)) + first, None if pd.isna(v) else float(v))
            for round_, v in values.items()
        ]
    _POINTS[game] = shown, points
    return points


def _label(model: Any) -> str:
    """The title of the large chart.

    The values of theory are on the slides alone: here they would be a hint to those who decide.
    """
    declared = load_class_game(model.class_game).debrief
    if declared is None:
        return titles_of(model).localized(next(iter(model.columns())))
    return Phrase("wall.mean", label=declared.label)


def _last(model: Any) -> int:
    return int(model.n_rounds - model.given_rounds)


@solara.component_vue("board.vue")
def _Board(
    groups: list[dict[str, Any]],
    label: str,
    noun: str,
    last: int,
    language: str,
    texts: dict[str, Any],
    chosen: int,
    picks: bool,
    event_choose: Callable[[int], object] | None = None,
) -> None:
    """Tiles of groups and the chart of all of them.

    Args:
        groups: name, state, words and points of each.
        label: what the points are.
        noun: the word for a round.
        last: the number of the last round.
        language: the language of the numbers.
        texts: the other texts, with placeholders.
        chosen: the index of the highlighted group.
        picks: whether tiles can be chosen.
        event_choose: called with the index of a chosen group.
    """
