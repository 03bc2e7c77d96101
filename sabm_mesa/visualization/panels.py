"""The panels of a scenario's page. The text of a model is never interpreted as markup.

Panels of a model are functions, not components: Solara redraws a component only when its arguments
change, and a model remains the same object while its state changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pandas as pd
import solara

from sabm_mesa.core.languages import ENGLISH
from sabm_mesa.core.scheduler import SIMULTANEOUS, taking_part
from sabm_mesa.visualization import chart
from sabm_mesa.visualization.figures import Figures
from sabm_mesa.visualization.game_view import GameView
from sabm_mesa.visualization.html import card, choice, html, inside, problem
from sabm_mesa.visualization.labels import (
    FREE,
    Titles,
    count,
    counting,
    name_of,
    number,
    round_of,
    titles_of,
    who_decides,
)
from sabm_mesa.visualization.page_state import PageState
from sabm_mesa.visualization.pages.play_parts import table
from sabm_mesa.visualization.records.parts import table as data_table
from sabm_mesa.visualization.run_controller import PACE_S, RunController, Shown, rounds_done
from sabm_mesa.visualization.scenario_view import Said, subtitle_of
from sabm_mesa.visualization.stage import INVALID, PLANS, TALK, Timeline, ticks_of, worlds
from sabm_mesa.visualization.story import Source, Story

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
MOST_ROUNDS = 10**6
"""A run with this many planned rounds counts as open-ended."""
MOST_AGENTS = 100
"""Maximum number of rows of the table of agents."""
MOST_SAID = 200
"""Maximum number of displayed messages, the latest of the selected ones."""


def run_card(page_state: PageState, at_once: Act) -> None:
    """The buttons, and the progress of the run.

    A line that appears and disappears has a permanent container. Otherwise Solara would reuse the
    element of another line, and the page would briefly show both.

    Args:
        page_state: the page's model.
        at_once: makes an action redraw the page.
    """
    controller = page_state.controller
    status, busy = controller.status, page_state.busy
    stuck = status == "over" or busy or (status == "failed" and not page_state.may_go_on)
    Transport(status, stuck, busy, page_state.interval_s, page_state, at_once)
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


@solara.component
def Transport(
    status: str,
    stuck: bool,
    busy: bool,
    interval_s: float,
    page_state: PageState,
    at_once: Act,
) -> None:
    """Play, pause, step, reset, and the pace.

    Args:
        status: the status of the run.
        stuck: whether the run cannot continue.
        busy: whether the next model is being made.
        interval_s: the pace.
        page_state: the page's model.
        at_once: makes an action redraw the page.
    """
    with inside("div", "sabm-transport"):
        if status == "playing":
            solara.Button(
                "Pause", icon_name="mdi-pause", color="primary",
                on_click=page_state.pause,
            ).key("pause")  # fmt: skip
        else:
            solara.Button(
                "Play", icon_name="mdi-play", color="primary", on_click=page_state.play,
                disabled=stuck,
            ).key("play")  # fmt: skip
        solara.Button(
            "Step", icon_name="mdi-skip-next", on_click=page_state.step,
            disabled=stuck or status in {"playing", "pausing"},
        )  # fmt: skip
        solara.Button(
            "Reset",
            icon_name="mdi-restart",
            on_click=at_once(page_state.reset),
            disabled=busy,
        )
        pace = next(words for words, s in PACES.items() if s == interval_s)
        choose = at_once(lambda words: page_state.pace(PACES[words]))
        choice("Pace", list(PACES), pace, choose)


def upcoming(page_state: PageState) -> tuple[str, str]:
    """Name the minds of the next model if the settings differ from those of the displayed one.

    Args:
        page_state: the page's model.

    Returns:
        The sentence, or ``""``; and whether the next model may cost money.
    """
    if not page_state.dirty or page_state.busy:
        return "", FREE
    button = "Play" if page_state.controller.status == "ready" else "Reset"
    sentence, kind = page_state.upcoming()
    return f"Parameters have changed: {button} makes a model with them. {sentence}", kind


def progress(page_state: PageState) -> None:
    """The progress of the run and the current round, and the path of the recording.

    Args:
        page_state: the page's model.
    """
    controller = page_state.controller
    model = controller.model
    of = model.n_rounds - model.given_rounds
    done = max(0, rounds_done(model) - model.given_rounds)
    words = "The model is being set up …" if page_state.busy else _words(controller, done, of)
    html("p", words, "sabm-progress", role="status", aria_live="polite")
    label = {"aria-label": "Rounds played"}
    solara.v.ProgressLinear(
        value=100 if controller.status == "over" else 100 * done / of,
        color="primary", height=6, attributes=label,
        indeterminate=page_state.busy or (model.playing and model.in_flight > 0),
    )  # fmt: skip
    path = page_state.kept_path
    line = subtitle_of(model) + (f" · recorded in {path}" if path else "")
    next_ = page_state.busy or (page_state.dirty and controller.status == "ready")
    html("p", "" if next_ else line, "sabm-hint rec-path", data_name="run")


def recording_link(path: Path, words: str = "Read the recording") -> None:
    """A link to the pages of a recording.

    Args:
        path: the recording.
        words: the text of the link.
    """
    with solara.Link(f"/recording?{urlencode({'file': str(path)})}"):
        html("span", words, "sabm-link-words")


def expected_answers(model: SmartModel) -> int | None:
    """The number of answers that the current round needs; None if it is not known in advance.

    Args:
        model: the model, during a round.
    """
    n = 0
    for phase in model.phases:
        if not isinstance(phase.who, type | None) or phase.at_most > 1:
            return None
        if phase.when is None or phase.when(model):
            turns = 1 if phase.order == SIMULTANEOUS else phase.turns
            n += turns * len(taking_part(model, phase))
    return n if model.usage.asks <= n else None


def _words(controller: RunController, done: int, of: int) -> str:
    model, status = controller.model, controller.status
    noun, _ = counting(model)
    if status == "over" and done < of:
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
        are = f"{noun} is" if of == 1 else f"{noun}s are"
        words = f"{done:,} of {of:,} {are} played."
    if status == "pausing":
        words += (
            f" It pauses when this {noun} is done; Play takes that back, Reset stops it at once."
        )
    return words


def _way_on(page_state: PageState) -> str:
    if not page_state.may_go_on:
        return "Reset makes a new model."
    return (
        "Play continues where the run stopped: no answered question is asked again. "
        f"Later, continue with: sabm resume {page_state.kept_path}"
    )


@solara.component_vue("guard.vue")
def Guard(active: bool, words: str) -> None:
    """While active, asks for confirmation before the page is left."""


def banner(page_state: PageState) -> None:
    """The minds of the displayed model; before it is played, those of the current settings.

    Args:
        page_state: the page's model.
    """
    controller = page_state.controller
    next_ = page_state.dirty and controller.status == "ready"
    text, kind = page_state.upcoming() if next_ else who_decides(controller.model)
    html("p", text, f"sabm-banner sabm-banner-{kind}", role="status")


def usage(model: SmartModel) -> None:
    """Show the cost of the asks so far."""
    spent = model.spent()
    usd = spent.cost_usd
    cost = "unknown" if math.isnan(usd) else f"${usd:,.4f}" if usd else "none"
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


def stage(page_state: PageState, at_once: Act) -> None:
    """The world of the selected round, and the timeline.

    Args:
        page_state: the page's model.
        at_once: makes an action redraw the page.
    """
    controller = page_state.controller
    round_ = controller.shown.played if page_state.at is None else page_state.at
    pace = page_state.interval_s
    with inside("div", "sabm-worlds"):
        world(controller, round_, pace, page_state.agent, at_once(page_state.choose))
    clock(
        controller, round_, pace, at_once(page_state.go), planned=controller.planned,
        event_run=page_state.turn,
        live="over" if controller.status == "failed" else controller.status,
    )  # fmt: skip


def world(
    controller: RunController | GameView,
    round_: int,
    pace: float = PACE_S,
    chosen: int | None = None,
    event_choose: Callable[[int], None] | None = None,
    language: str = ENGLISH,
) -> None:
    """The world after a round, with speech bubbles.

    Args:
        controller: the controller of the displayed model, or the view of the game.
        round_: the round; −1 for the start.
        pace: seconds between two rounds.
        chosen: the agent that is looked at.
        event_choose: called with the agent that was clicked.
        language: the language of its texts.
    """
    said = [
        [message.sender, message.text, message.to] for message in controller.said().get(round_, ())
    ]
    worlds(controller.scenes(round_), round_, pace, said, chosen, event_choose, language)


def clock(
    controller: RunController | GameView,
    round_: int,
    pace: float,
    event_go: Callable[[int], None],
    *,
    planned: Collection[int] = (),
    live: str = "over",
    event_run: Callable[..., None] | None = None,
) -> None:
    """The timeline.

    Args:
        controller: the controller of the displayed model, or the view of the game.
        round_: the selected round.
        pace: seconds between two rounds.
        event_go: called with the round to show.
        planned: the rounds with plans.
        live: the status of a run that may go on.
        event_run: called when the run itself is to go on, or to pause.
    """
    shown, model = controller.shown, controller.model
    noun, first = counting(model)
    played = range(shown.played + 1)
    invalid = shown.model_data["invalid"] if len(shown.model_data) else ()
    kinds = {
        TALK: sorted(controller.said()), PLANS: sorted(planned),
        INVALID: [i for i, n in enumerate(invalid) if n > 0],
    }  # fmt: skip
    with inside("div", "sabm-card sabm-clock"):
        ticks = ticks_of(kinds, {n: n for n in played}, lambda n: round_of(model, n))
        Timeline(
            rounds=[n + first for n in played], at=round_, noun=noun,
            before=round_of(model, -1).capitalize(),
            until=model.n_rounds - 1 + first if model.n_rounds < MOST_ROUNDS else None,
            ticks=ticks, given=model.given_rounds, live=live, pace=pace,
            event_go=event_go, event_run=event_run,
        ).key("timeline")  # fmt: skip


@solara.component
def Watched(view: GameView, version: int) -> None:
    """A game as it goes: its world, the timeline, its numbers, its talk and its charts.

    A separate component, since several games have charts of the same name and separate timelines.

    Args:
        view: how the game is watched.
        version: that of the view; all is drawn again with each.
    """
    del version
    chosen, go = solara.use_state(-1)
    shown = view.shown
    at = chosen if 0 <= chosen < shown.played else None
    round_ = shown.played if at is None else at
    with inside("div", "sabm-watched"):
        with inside("div", "sabm-worlds"):
            world(view, round_)
        clock(view, round_, PACE_S, go)
        with inside("div"):
            with card(f"This {counting(view.model)[0]}"):
                latest(view.model, shown, round_)
            with card("Conversation"):
                Talk(view, view.said(), at)
        with inside("div"):
            if shown.problem:
                problem(f"The charts could not be made: {shown.problem}")
        chart.charts(shown.charts, subtitle=subtitle_of(view.model), at=at, played=shown.played)


def latest(model: SmartModel, shown: Shown, at: int | None = None) -> None:
    """The model data of a round; dashes before the first.

    Args:
        model: the model.
        shown: the content to show.
        at: the round; None: the one that was played last.
    """
    data, titles = shown.model_data, titles_of(model)
    place = -1 if at is None or at >= len(data) else at
    last = {} if data.empty else {name: data[name].iloc[place] for name in data.columns}
    now, (noun, first) = "–", counting(model)
    if last:
        given = last["round"] < model.given_rounds
        now = round_of(model, last["round"]) if given else number(last["round"] + first)
    rows = [[noun.capitalize(), now, "round"]]
    Facts(facts=rows + [[titles[c], number(last.get(c)), c] for c in model.columns()])


def facts(named: Mapping[str, str]) -> None:
    """Names and values.

    Args:
        named: name → value.
    """
    Facts(facts=[[name, value, name] for name, value in named.items()])


@solara.component_vue("facts.vue")
def Facts(facts: list[list[str]]) -> None:
    """Titles, values and names in one widget, since many widgets are slow to redraw."""


def charts(page_state: PageState, at_once: Act) -> None:
    """The charts, which the browser paints.

    Args:
        page_state: the page's model.
        at_once: makes an action redraw the page.
    """
    shown, model, agent = page_state.controller.shown, page_state.controller.model, page_state.agent
    with inside("div"):
        if shown.problem:
            problem(f"The charts could not be made: {shown.problem}")
    drawn = shown.charts
    if agent is not None:
        drawn = tuple(plotted.with_own(agent, name_of(model, agent)) for plotted in drawn)
    chart.charts(
        drawn, subtitle=subtitle_of(model), at=page_state.at, played=shown.played,
        event_go=at_once(page_state.go), event_choose=at_once(page_state.choose),
    )  # fmt: skip


def agents(page_state: PageState, at_once: Act) -> None:
    """The table of agents after the selected round; a click opens an agent's story.

    Args:
        page_state: the page's model.
        at_once: makes an action redraw the page.
    """
    shown, model = page_state.controller.shown, page_state.controller.model
    round_ = shown.played if page_state.at is None else min(page_state.at, shown.played)
    data = shown.agent_data
    if round_ < 0 or data.empty:
        people, when = _at_start(model), "at the start"
    else:
        people = data[data["round"] == round_].drop(columns=["run", "round"], errors="ignore")
        before = round_ < model.given_rounds
        when = round_of(model, round_) if before else f"after {round_of(model, round_)}"
    caption = f"{count(len(people), 'agent')} {when}; choose one for its story."
    if len(people) > MOST_AGENTS:
        caption += f" The first {MOST_AGENTS} are shown."
    data_table(
        caption, people[:MOST_AGENTS], list(people.columns).index("agent"),
        "" if page_state.agent is None else str(page_state.agent), at_once(page_state.choose),
    )  # fmt: skip


def _at_start(model: SmartModel) -> pd.DataFrame:
    """The agents before the first round, with their minds and personas."""
    rows = [
        {
            "agent": agent.unique_id, "name": name_of(model, agent.unique_id),
            "mind": agent.mind.spec, "persona": agent.persona,
        }
        for agent in model.population
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["agent", "name", "mind", "persona"])


def story(page_state: PageState, at_once: Act) -> None:
    """The story of the selected agent, if there is one.

    Args:
        page_state: the page's model.
        at_once: makes an action redraw the page.
    """
    controller, agent = page_state.controller, page_state.agent
    path, recorder = controller.model.recording_path, controller.model.recorder
    if agent is not None and path is not None:
        Story(
            source=Source(path, recorder.run, controller.model, recorder.flush), agent=agent,
            round_=page_state.looked_at, moment=page_state.state(), close=at_once(page_state.leave),
        ).key("story")  # fmt: skip


@solara.component
def Talk(
    controller: RunController | GameView,
    by_round: Mapping[int, Sequence[Said]],
    at: int | None = None,
) -> None:
    """Show the messages of a round, or of all, with their speakers and hearers.

    Args:
        controller: the model on show, or the game.
        by_round: round → what was said in it, rounds of silence left out: it is drawn again when
            this changes.
        at: the round; None: the last one in which anything was said.
    """
    all_, set_all = solara.use_state(False)
    if not by_round:
        html("p", "Nobody has said anything yet.", "sabm-empty")
        return
    model = controller.model
    noun, _ = counting(model)
    solara.Checkbox(label=f"All {noun}s", value=all_, on_value=set_all)
    round_ = max(by_round) if at is None else at
    shown = list(by_round.get(round_, ()))
    if all_:
        shown = [message for messages in by_round.values() for message in messages]
    with inside("div"):
        if len(shown) > MOST_SAID:
            last = f"The last {MOST_SAID} of {len(shown)} messages."
            html("p", last, "sabm-empty")
        if not shown:
            html("p", f"Nothing was said in {round_of(model, round_)}.", "sabm-empty")
    _Messages(
        messages=[
            [
                round_of(model, message.round).capitalize(), message.speaker, message.hearers,
                message.text,
            ]
            for message in shown[-MOST_SAID:]
        ]
    )  # fmt: skip


@solara.component_vue("messages.vue")
def _Messages(messages: list[list[Any]]) -> None: ...


def beside(controller: RunController) -> None:
    """The table of the scenario's page, if it has one.

    Args:
        controller: the controller of the displayed model.
    """
    content = controller.shown.table
    if content is not None:
        with inside("div", "sabm-card sabm-wide"):
            caption, frame = content
            rows = [[number(value) for value in row] for row in frame.itertuples(index=False)]
            table(caption, [Titles()[str(column)] for column in frame.columns], rows)


def figures(controller: RunController) -> None:
    """The figures of ``sabm run``, shown while the run is paused, since drawing takes long.

    Args:
        controller: the controller of the displayed model.
    """
    with inside("div"):
        if controller.begun and controller.status not in {"playing", "pausing"}:
            view, model = controller.scenario_view, controller.model
            Figures(lambda: view.figures(model), (id(controller), controller.shown.played))


def downloads(controller: RunController) -> None:
    """The data and the recording as files.

    Args:
        controller: the controller of the displayed model.
    """
    shown, model = controller.shown, controller.model
    if shown.model_data.empty:
        html("p", "There is nothing to download before the first round.", "sabm-empty")
        return
    Download(controller.model_csv, "model.csv")
    Download(controller.agents_csv, "agents.csv")
    path = model.recording_path
    if path is None:
        return
    if controller.status in {"over", "failed"}:
        Download(path.read_bytes, "recording.sqlite")
    else:
        html("p", "The recording is available when the run has ended.", "sabm-empty")


@solara.component
def Download(data: Callable[[], str | bytes], name: str) -> None:
    """A download button for a file.

    Args:
        data: returns its content.
        name: its name.
    """
    with solara.FileDownload(data, name):
        solara.Button(f"Download {name}", icon_name="mdi-download", text=True, small=True)
