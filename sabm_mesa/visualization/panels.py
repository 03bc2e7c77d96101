"""The panels of a scenario's page. What a model says is handed on as text, never as markup.

Panels of a model are functions, not components: Solara draws a component again only when it is
given other arguments, and a model stays the same object while it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import solara

from sabm_mesa.core.scheduler import SIMULTANEOUS, taking_part
from sabm_mesa.visualization.game_view import GameView
from sabm_mesa.visualization.html import html, inside, picture, problem
from sabm_mesa.visualization.labels import (
    FREE,
    count,
    counting,
    number,
    round_of,
    titles_of,
    who_decides,
    whole_in,
)
from sabm_mesa.visualization.page_state import PageState
from sabm_mesa.visualization.pages.play_parts import table
from sabm_mesa.visualization.run_controller import RunController, Shown, rounds_done
from sabm_mesa.visualization.scenario_view import Picture, Said, subtitle_of

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
LATEST, ALL = "latest", "all"
MOST_SAID = 200
"""Messages on the page at once: the latest of the chosen ones."""


def run_card(page_state: PageState, at_once: Act) -> None:
    """The buttons, and how far the run has come.

    A line that comes and goes has a place of its own that stays: else Solara would make one line
    out of another, and for a moment the page would say both.

    Args:
        page_state: the page's model.
        at_once: makes an action draw the page again.
    """
    controller = page_state.controller
    transport(page_state, at_once)
    sentence, kind = upcoming(page_state)
    html("p", sentence, f"sabm-next sabm-next-{kind}", role="status")
    progress(page_state)
    with inside("div"):
        if controller.problem and not page_state.busy:
            problem(f"The run has stopped: {controller.problem}")
    with inside("div"):
        if controller.status == "failed" and not page_state.busy:
            html("p", _way_on(page_state), "sabm-hint rec-path")
    with inside("div"):
        if page_state.problem:
            problem(page_state.problem)
    with inside("div"):
        if page_state.kept_path and controller.ended:
            recording_link(page_state.kept_path)
    Guard(active=page_state.costs and controller.begun and not controller.ended, words=LEAVING)


def transport(page_state: PageState, at_once: Act) -> None:
    """Play, pause, step, reset, and the pace.

    Args:
        page_state: the page's model.
        at_once: makes an action draw the page again.
    """
    status = page_state.controller.status
    stuck = status == "over" or page_state.busy or (status == "failed" and not page_state.may_go_on)
    with inside("div", "sabm-transport"):
        if status == "playing":
            solara.Button(
                "Pause", icon_name="mdi-pause", color="primary",
                on_click=at_once(page_state.controller.pause),
            ).key("pause")  # fmt: skip
        else:
            solara.Button(
                "Play", icon_name="mdi-play", color="primary", on_click=at_once(page_state.play),
                disabled=stuck,
            ).key("play")  # fmt: skip
        solara.Button(
            "Step", icon_name="mdi-skip-next", on_click=at_once(page_state.step),
            disabled=stuck or status in {"playing", "pausing"},
        )  # fmt: skip
        solara.Button(
            "Reset",
            icon_name="mdi-restart",
            on_click=at_once(page_state.reset),
            disabled=page_state.busy,
        )
        pace = next(words for words, s in PACES.items() if s == page_state.interval_s)
        choose = at_once(lambda words: page_state.pace(PACES[words]))
        solara.Select("Pace", list(PACES), value=pace, on_value=choose)


def upcoming(page_state: PageState) -> tuple[str, str]:
    """Name the minds of the next model when the controls say something else than this one.

    Args:
        page_state: the page's model.

    Returns:
        The words, or ``""``; and whether it may cost money.
    """
    if not page_state.dirty or page_state.busy:
        return "", FREE
    button = "Play" if page_state.controller.status == "ready" else "Reset"
    sentence, kind = page_state.upcoming()
    return f"Parameters have changed: {button} makes a model with them. {sentence}", kind


def progress(page_state: PageState) -> None:
    """How far the run and the round under way have come, and where it is recorded.

    Args:
        page_state: the page's model.
    """
    controller = page_state.controller
    model, done = controller.model, rounds_done(controller.model)
    words = "The model is being set up …" if page_state.busy else _words(controller, done)
    html("p", words, "sabm-progress", role="status", aria_live="polite")
    label = {"aria-label": "Rounds played"}
    solara.v.ProgressLinear(
        value=100 if controller.status == "over" else 100 * done / model.n_rounds,
        color="primary", height=6, attributes=label,
        indeterminate=page_state.busy or (model.playing and model.in_flight > 0),
    )  # fmt: skip
    path = page_state.kept_path
    told = subtitle_of(model) + (f" · recorded in {path}" if path else "")
    next_ = page_state.busy or (page_state.dirty and controller.status == "ready")
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
        if not isinstance(phase.who, type | None) or phase.at_most > 1:
            return None
        if phase.when is None or phase.when(model):
            turns = 1 if phase.order == SIMULTANEOUS else phase.turns
            n += turns * len(taking_part(model, phase))
    return n if model.usage.asks <= n else None


def _words(controller: RunController, done: int) -> str:
    model, status = controller.model, controller.status
    noun, _ = counting(model)
    if status == "over" and done < model.n_rounds:
        words = f"The run has ended after {count(done, noun)}."
    elif status == "over" and done == 1:
        words = f"The run has ended: its {noun} is played."
    elif status == "over":
        words = f"The run has ended: all {count(done, noun)} are played."
    elif model.playing:
        expected = expected_answers(model)
        answered = count(model.usage.asks, "answer")
        if expected:
            answered = f"{model.usage.asks:,} of {count(expected, 'answer')}"
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


def _way_on(page_state: PageState) -> str:
    if not page_state.may_go_on:
        return "Reset makes a new model."
    return (
        "Play tries again and goes on where it stopped: nothing that was answered is asked again. "
        f"It can be done later too, with: sabm resume {page_state.kept_path}"
    )


@solara.component_vue("guard.vue")
def Guard(active: bool, words: str) -> None:
    """Asks before this page is left, while it is active."""


def banner(page_state: PageState) -> None:
    """The minds that decide: in the model on show, or before it is played in that of the controls.

    Args:
        page_state: the page's model.
    """
    controller = page_state.controller
    next_ = page_state.dirty and controller.status == "ready"
    text, kind = page_state.upcoming() if next_ else who_decides(controller.model)
    html("p", text, f"sabm-banner sabm-banner-{kind}", role="status")


def usage(model: SmartModel) -> None:
    """Show the cost of the asks so far.

    Args:
        model: the model.
    """
    spent = model.spent()
    cost = "unknown" if math.isnan(spent.cost_usd) else f"${spent.cost_usd:,.4f}"
    facts(
        {
            "Asks answered": f"{spent.asks:,}",
            "In flight": f"{model.in_flight:,}",
            "Invalid": f"{spent.invalid:,}",
            "Asked again": f"{spent.reasks:,}",
            "Sent again": f"{spent.retries:,}",
            "Tokens sent": f"{spent.prompt_tokens:,}",
            "Tokens received": f"{spent.completion_tokens:,}",
            "Cost": cost,
        }
    )


def latest(model: SmartModel, shown: Shown) -> None:
    """The model data of the round that was played last; dashes before the first.

    Args:
        model: the model.
        shown: the content to show.
    """
    data, titles = shown.model_data, titles_of(model)
    last = {} if data.empty else {name: data[name].iloc[-1] for name in data.columns}
    noun, first = counting(model)
    with inside("dl", "sabm-facts"):
        _fact(noun.capitalize(), number(last["round"] + first if last else None), "round")
        for name in model.columns():
            _fact(titles[name], number(last.get(name)), name)


def facts(named: Mapping[str, str]) -> None:
    """Names and values.

    Args:
        named: name → value.
    """
    with inside("dl", "sabm-facts"):
        for name, value in named.items():
            _fact(name, value, name)


def _fact(title: str, value: str, name: str) -> None:
    with inside("div"):
        html("dt", title)
        html("dd", value, data_name=name)


def charts(model: SmartModel, shown: Shown) -> None:
    """The charts, and the round after which they are drawn: painting takes longer than a round.

    Args:
        model: the model.
        shown: the content to show.
    """
    html("p", drawn(model, shown), "sabm-drawn")
    with inside("div"):
        if shown.problem:
            problem(f"The charts could not be drawn: {shown.problem}")
    with inside("div", "sabm-charts", data_round=str(shown.painted)):
        if not shown.pictures:
            html("p", "The charts appear with the first round.", "sabm-empty sabm-card sabm-blank")
        for each in shown.pictures:
            Chart(each).key(each.name)


def drawn(model: SmartModel, shown: Shown) -> str:
    """The round of the charts, and the one that is still to be drawn.

    Args:
        model: the model.
        shown: the content to show.
    """
    last = -1 if shown.model_data.empty else int(shown.model_data["round"].iloc[-1])
    told = [f"Drawn after {round_of(model, shown.painted)}."] if shown.painted >= 0 else []
    if shown.painted < last and not shown.problem:
        told.append(f"{round_of(model, last).capitalize()} is being drawn …")
    nothing = "" if shown.problem else "Nothing is played yet."
    return " ".join(told) or nothing


@solara.component
def Chart(shown: Picture) -> None:
    """One chart, with its download.

    Args:
        shown: the chart.
    """
    with inside("figure", "sabm-card sabm-chart"):
        with inside("div", "sabm-paper", tabindex="0"):
            picture(shown)
        _download(shown.png, f"{shown.name}.png")


@solara.component
def Talk(controller: RunController | GameView, by_round: Mapping[int, Sequence[Said]]) -> None:
    """Show the messages by round, with their speakers and hearers.

    Args:
        controller: the model on show, or the game.
        by_round: round → what was said in it, rounds of silence left out: it is drawn again when
            this changes.
    """
    chosen, choose = solara.use_state(LATEST)
    stable = solara.use_memo(lambda: choose, [])
    if not by_round:
        html("p", "Nobody has said anything yet.", "sabm-empty")
        return
    noun, first = counting(controller.model)
    _RoundChoice(noun, chosen, stable)
    shown: Sequence[Said]
    if chosen == ALL:
        shown = [each for messages in by_round.values() for each in messages]
    elif (round_ := whole_in(chosen)) is not None:
        shown = by_round.get(round_ - first, [])
    else:
        shown = by_round[max(by_round)]
    if len(shown) > MOST_SAID:
        html("p", f"The last {MOST_SAID} of {len(shown)} messages.", "sabm-empty")
    if not shown:
        html("p", f"Nothing was said in {noun} {chosen}.", "sabm-empty")
    rounds = [round_of(controller.model, each.round).capitalize() for each in shown[-MOST_SAID:]]
    _Messages(
        messages=[[when, *each[1:]] for when, each in zip(rounds, shown[-MOST_SAID:], strict=True)]
    )


@solara.component
def _RoundChoice(noun: str, chosen: str, choose: Callable[[str], None]) -> None:
    """The round that is shown."""
    solara.v.Combobox(
        label=f"{noun.capitalize()}: latest, all, or its number", items=[LATEST, ALL],
        v_model=chosen, on_v_model=lambda text: choose(str(text or LATEST).strip()),
    )  # fmt: skip


@solara.component_vue("messages.vue")
def _Messages(messages: list[list[Any]]) -> None: ...


def beside(controller: RunController) -> None:
    """The scenario's own table, if it has one.

    Args:
        controller: the model on show.
    """
    found = controller.shown.table
    if found is not None:
        with inside("div", "sabm-card sabm-wide"):
            table(*found)


def downloads(controller: RunController) -> None:
    """The data and the recording as files.

    Args:
        controller: the model on show.
    """
    shown, model = controller.shown, controller.model
    if shown.model_data.empty:
        html("p", "There is nothing to download before the first round.", "sabm-empty")
        return
    _download(shown.model_csv, "model.csv")
    _download(shown.agents_csv, "agents.csv")
    path = model.recording_path
    if path is None:
        return
    if controller.status in {"over", "failed"}:
        _download(path.read_bytes, "recording.sqlite")
    else:
        html("p", "The recording can be had when the run has ended.", "sabm-empty")


def _download(data: bytes | Callable[[], str | bytes], name: str) -> None:
    with solara.FileDownload(data, name):
        solara.Button(f"Download {name}", icon_name="mdi-download", text=True, small=True)
