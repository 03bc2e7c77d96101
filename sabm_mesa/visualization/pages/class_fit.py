"""How did a class think? Behavioural models fitted to its recording, by one click of the host.

The results are those of `sabm fit` and `sabm humans` without their resampling, in words and one
figure. They are on the wall, on each phone, and in the report.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any
from weakref import WeakKeyDictionary

from sabm_mesa.analysis.behaviour import TypesModel
from sabm_mesa.core.languages import Amount, Drawing, Phrase, known, slug, translated
from sabm_mesa.errors import ParameterError, RecordingError, SabmError
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.models.declarations import load_class_game
from sabm_mesa.runs.game import ClassSession
from sabm_mesa.studies import compare, humans
from sabm_mesa.studies.fit import FitOptions, FitStudy, Fitted, fit_recording, table_of_types
from sabm_mesa.studies.people import load_people
from sabm_mesa.visualization.connections import look_now
from sabm_mesa.visualization.pages.class_compare import (
    measure_in_words,
    measure_of,
    recording_of,
    verdict_in_words,
)
from sabm_mesa.visualization.pages.debrief import THOUGHT, Slide
from sabm_mesa.visualization.pages.play_parts import GAMES

TITLE = Phrase("thinking.title")
COMPUTING = Phrase("thinking.computing")
MOST_BARS = 6
WIDTH, LEFT, ROW = 440, 190, 34
QUICK = FitOptions(mind=HUMAN, bootstrap=0, confusion=0, absolute=0)
_STATE: WeakKeyDictionary[ClassSession, str] = WeakKeyDictionary()
_log = logging.getLogger(__name__)


def state_of_thinking(session: ClassSession) -> str:
    """The state in words; ``""`` before the click, and when there is a result.

    Args:
        session: the class.
    """
    return _STATE.get(session, "")


def think(session: ClassSession) -> None:
    """Compute how a class thought, on another thread. A second call changes nothing.

    Args:
        session: the class; its games are over.
    """
    if session in THOUGHT or _STATE.get(session) == COMPUTING:
        return
    _STATE[session] = COMPUTING
    threading.Thread(target=_think, args=(session,), name="sabm-thinking", daemon=True).start()


def _think(session: ClassSession) -> None:
    problem: str = ""
    try:
        THOUGHT[session] = how_they_thought(session)
    except SabmError as error:
        problem = Phrase("thinking.unknown", why=error.message)
    except Exception:  # noqa: BLE001 - any error becomes a line for the host
        _log.exception("The thinking of a class could not be computed.")
        problem = Phrase("thinking.unknown", why=Phrase("thinking.failed"))
    _STATE[session] = problem
    for _, seat in session.seats:
        seat.touch()
    look_now()


def how_they_thought(session: ClassSession) -> Slide:
    """The behavioural model that describes the people of a class best, with a figure.

    Args:
        session: the class; its games are over.

    Raises:
        ParameterError: when the scenario declares no behavioural models.
        RecordingError: without a recording, or without decisions of people.
    """
    path = session.games[0].model.recording_path
    if path is None:
        raise RecordingError("The game was not recorded.")
    study = fit_recording(path, QUICK)
    words, bars, axis = _types(study) or _models(study)
    words += [*_beside_people(session), *beside_another_game(session)]
    return Slide(TITLE, words, _bars(bars, axis))


def beside_another_game(session: ClassSession) -> list[str]:
    """The verdict of `sabm compare` on the groups of a class and those of its game before.

    Args:
        session: the class; its games are over.

    Returns:
        One line; none without another game of the same scenario that is over, and none when both
        classes have one group.
    """
    model = session.games[0].model
    others = (game.session for game in GAMES.beside(session.games[0]))
    before = next((other for other in others if other and _is_alike(session, other)), None)
    classes = [session] if before is None else [session, before]
    paths = [path for path in map(recording_of, classes) if path is not None]
    try:
        measure = measure_of(model, compare.read(paths)[0])
        compared = compare.compare(paths, measure, [compare.SOURCE])
    except SabmError:  # one game, one group in each, or nothing to compare
        return []
    here, there = (Amount(float(value)) for value in compared.cells["estimate"])
    line = Phrase(
        "thinking.before",
        measure=measure_in_words(model, measure),
        of=Phrase(f"thinking.of_{compared.of}"),
        here=here,
        there=there,
        verdict=verdict_in_words(compared),
    )
    return [line]


def _is_alike(session: ClassSession, other: ClassSession) -> bool:
    """Whether another class has played the same scenario to its end."""
    same = type(other.games[0].model) is type(session.games[0].model)
    return same and other is not session and other.status == "over"


def _types(study: FitStudy) -> tuple[list[str], list[tuple[str, float]], str] | None:
    """The shares of types of people under the best model with types; None without one."""
    fitted = study.pooled.fitted
    typed = [model for model in fitted if isinstance(model.fit.model, TypesModel)]
    if not typed:
        return None
    pooled = replace(study.pooled, fitted=[typed[0]])
    table = table_of_types(replace(study, groups=[pooled]))
    shares = table["type"].value_counts(normalize=True).sort_index()
    bars = [(_plain(str(name)), float(share)) for name, share in shares.items()]
    parts = [Phrase("thinking.share", share=f"{share:.0%}", name=name) for name, share in bars]
    words: list[str] = [Phrase("thinking.types", shares=parts, model=_name(typed[0]))]
    if typed[0] is not fitted[0]:
        words.append(Phrase("thinking.better", model=_name(fitted[0])))
    return words, bars, Phrase("thinking.people")


def _models(study: FitStudy) -> tuple[list[str], list[tuple[str, float]], str]:
    """How much better than chance each model predicts the decisions."""
    bars = [
        (_name(model), max(0.0, float(model.gained)))
        for model in study.pooled.fitted[:MOST_BARS]
        if model.gained == model.gained
    ]
    best = _name(study.pooled.selected)
    return [Phrase("thinking.best", rule=best)], bars, Phrase("thinking.chance")


def _beside_people(session: ClassSession) -> list[str]:
    """The verdict on the distribution of decisions and that of published people."""
    model = session.games[0].model
    declared, path = load_class_game(model.class_game).debrief, model.recording_path
    lines: list[str] = []
    for name in declared.people(model) if declared is not None and path is not None else ():
        try:
            people = load_people(name)
            played = humans.read_runs(path or "", people)
            seats = {
                (game.model.recorder.run, seat.agent)
                for game in session.games
                for seat in game.seats.values()
                if seat.was_taken
            }
            keys = zip(played.decisions["run"], played.decisions["agent"], strict=True)
            own = played.decisions[[key in seats for key in keys]]
            compared = humans.compare(people, replace(played, decisions=own))
        except ParameterError:
            continue  # these people played another variant
        verdict = compared.verdicts.get(humans.DISTRIBUTION, humans.NOT_JUDGED)
        who = known(f"people.{slug(name)}", people.described)
        words = known(f"verdicts.{slug(verdict)}", str(verdict))
        lines.append(Phrase("thinking.beside", people=who, verdict=words))
    return lines


def _name(fitted: Fitted) -> str:
    return _plain(fitted.fit.model.name)


def _plain(name: str) -> str:
    return known(f"thinking.rule_{slug(name)}", name.replace("_", " "))


def _bars(bars: Sequence[tuple[str, float]], axis: str) -> str:
    """Bars to the right, in the colours of the page; ``""`` without any."""
    return Drawing(lambda language: _bars_in(language, bars, axis)) if bars else ""


def _bars_in(language: str, named: Sequence[tuple[str, float]], title: str) -> str:
    axis = translated(title, language)
    bars = [(translated(name, language), share) for name, share in named]
    top = max(0.01, *(share for _, share in bars))
    parts: list[Any] = []
    for place, (name, share) in enumerate(bars):
        y, wide = 34 + ROW * place, (WIDTH - LEFT - 60) * share / top
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{wide:.1f}" height="22" fill="#0072b2"/>'
            f'<text x="{LEFT + wide + 6:.1f}" y="{y + 16}">{share:.0%}</text>'
        )
    height = 44 + ROW * len(bars)
    label = escape(f"{axis}: " + ", ".join(f"{name} {share:.0%}" for name, share in bars))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{label}" font-size="14" font-family="sans-serif" fill="currentColor">'
        f'<text x="{LEFT}" y="20">{escape(axis)}</text>{"".join(parts)}</svg>'
    )
