"""The card of a run: its buttons, how far it has come, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import solara

from sabm_mesa.scheduler import SIMULTANEOUS
from sabm_mesa.visualization.html import html, inside, problem
from sabm_mesa.visualization.looks import subtitle_of
from sabm_mesa.visualization.show import Show, rounds_done
from sabm_mesa.visualization.stage import Stage
from sabm_mesa.visualization.words import FREE, count, counting, round_of

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

PACES = {
    "as fast as it goes": 0.0,
    "a round in ½ s": 0.5,
    "a round in 1 s": 1.0,
    "a round in 3 s": 3.0,
}
LEAVING = (
    "A run whose answers may cost money is under way here, and stops when you leave this page. "
    "What was answered stays in its recording. Leave the page?"
)
Act = Callable[..., Callable[..., None]]


def run_card(stage: Stage, at_once: Act) -> None:
    """The buttons, and how far the run has come.

    What comes and goes has a place of its own that stays: else Solara would make one line out of
    another, and for a moment the page would say both.

    Args:
        stage: the page's model.
        at_once: makes an action draw the page again.
    """
    show = stage.show
    transport(stage, at_once)
    sentence, kind = upcoming(stage)
    html("p", sentence, f"sabm-next sabm-next-{kind}", role="status")
    progress(stage)
    with inside("div"):
        if show.problem and not stage.busy:
            problem(f"The run has stopped: {show.problem}")
    with inside("div"):
        if show.status == "failed" and not stage.busy:
            html("p", _way_on(stage), "sabm-hint rec-path")
    with inside("div"):
        if stage.problem:
            problem(stage.problem)
    with inside("div"):
        if stage.kept_path and show.ended:
            recording_link(stage.kept_path)
    Guard(active=stage.costs and show.begun and not show.ended, words=LEAVING)


def transport(stage: Stage, at_once: Act) -> None:
    """Play, pause, step, reset, and the pace.

    Args:
        stage: the page's model.
        at_once: makes an action draw the page again.
    """
    status = stage.show.status
    stuck = status == "over" or stage.busy or (status == "failed" and not stage.may_go_on)
    with inside("div", "sabm-transport"):
        if status == "playing":
            solara.Button(
                "Pause", icon_name="mdi-pause", color="primary", on_click=at_once(stage.show.pause)
            ).key("pause")  # fmt: skip
        else:
            solara.Button(
                "Play", icon_name="mdi-play", color="primary", on_click=at_once(stage.play),
                disabled=stuck,
            ).key("play")  # fmt: skip
        solara.Button(
            "Step", icon_name="mdi-skip-next", on_click=at_once(stage.step),
            disabled=stuck or status in {"playing", "pausing"},
        )  # fmt: skip
        solara.Button(
            "Reset", icon_name="mdi-restart", on_click=at_once(stage.reset), disabled=stage.busy
        )
        pace = next(words for words, s in PACES.items() if s == stage.interval_s)
        choose = at_once(lambda words: stage.pace(PACES[words]))
        solara.Select("Pace", list(PACES), value=pace, on_value=choose)


def upcoming(stage: Stage) -> tuple[str, str]:
    """Who will decide in the next model, when the controls say something else than this one.

    Args:
        stage: the page's model.

    Returns:
        The words, or ``""``; and whether it may cost money.
    """
    if not stage.dirty or stage.busy:
        return "", FREE
    button = "Play" if stage.show.status == "ready" else "Reset"
    sentence, kind = stage.upcoming()
    return f"Parameters have changed: {button} makes a model with them. {sentence}", kind


def progress(stage: Stage) -> None:
    """How far the run and the round under way have come, and where it is recorded.

    Args:
        stage: the page's model.
    """
    show = stage.show
    model, done = show.model, rounds_done(show.model)
    words = "The model is being set up …" if stage.busy else _words(show, done)
    html("p", words, "sabm-progress", role="status", aria_live="polite")
    label = {"aria-label": "Rounds played"}
    solara.v.ProgressLinear(
        value=100 if show.status == "over" else 100 * done / model.n_rounds,
        color="primary", height=6, attributes=label,
        indeterminate=stage.busy or (model.playing and model.in_flight > 0),
    )  # fmt: skip
    path = stage.kept_path
    told = subtitle_of(model) + (f" · recorded in {path}" if path else "")
    next_ = stage.busy or (stage.dirty and show.status == "ready")
    html("p", "" if next_ else told, "sabm-hint rec-path", data_name="run")


def recording_link(path: Path) -> None:
    """A link to the pages of a recording.

    Args:
        path: the recording.
    """
    with solara.Link(f"/recording?{urlencode({'file': str(path)})}"):
        html("span", "Read the recording", "sabm-link-words")


def expected_answers(model: SmartModel) -> int | None:
    """How many answers the round under way needs; None where only the round itself can tell.

    Args:
        model: the model, in a round.
    """
    n = 0
    for phase in model.phases:
        if phase.who is not None:
            return None
        if phase.when is None or phase.when(model):
            turns = 1 if phase.order == SIMULTANEOUS else phase.turns
            n += turns * len(model.population)
    return n if model.tally.asks <= n else None


def _words(show: Show, done: int) -> str:
    model, status = show.model, show.status
    noun, _ = counting(model)
    if status == "over" and done < model.n_rounds:
        words = f"The run has ended after {count(done, noun)}."
    elif status == "over" and done == 1:
        words = f"The run has ended: its {noun} is played."
    elif status == "over":
        words = f"The run has ended: all {count(done, noun)} are played."
    elif model.playing:
        expected = expected_answers(model)
        answered = count(model.tally.asks, "answer")
        if expected:
            answered = f"{model.tally.asks:,} of {count(expected, 'answer')}"
        now = round_of(model, model.round).capitalize()
        words = f"{now} is under way: {answered}, {model.in_flight:,} in flight."
    elif status == "ready":
        words = "Nothing is played yet. Press Play."
    else:
        are = f"{noun} is" if model.n_rounds == 1 else f"{noun}s are"
        words = f"{done:,} of {model.n_rounds:,} {are} played."
    if status == "pausing":
        words += (
            f" It pauses when this {noun} is done; Play takes that back, Reset stops it at once."
        )
    return words


def _way_on(stage: Stage) -> str:
    if not stage.may_go_on:
        return "Reset makes a new model."
    return (
        "Play tries again and goes on where it stopped: nothing that was answered is asked again. "
        f"It can be done later too, with: sabm resume {stage.kept_path}"
    )


@solara.component_vue("guard.vue")
def Guard(active: bool, words: str) -> None:
    """Asks before this page is left, while it is active."""
