"""The panels of a scenario's page. The text of a model is never interpreted as markup.

Panels of a model are functions, not components: Solara redraws a component only when its arguments
change, and a model remains the same object while its state changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import solara

from sabm_mesa.core.phrases import ENGLISH, Text, table_of, translated
from sabm_mesa.core.scheduler import SIMULTANEOUS, taking_part
from sabm_mesa.visualization.access import NETWORK
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
from sabm_mesa.visualization.run_controller import RunController
from sabm_mesa.visualization.scenario_view import Said, Shown, rounds_done, subtitle_of
from sabm_mesa.visualization.viewer.chart import ChartWidget
from sabm_mesa.visualization.viewer.html import card, choice, html, inside, problem
from sabm_mesa.visualization.viewer.page_state import PageState
from sabm_mesa.visualization.viewer.story import Source, Story

if TYPE_CHECKING:
    import pandas as pd

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
"""Makes an action redraw the page at once."""
MOST_ROUNDS = 10**6
"""A run with this many planned rounds counts as open-ended."""
MOST_SAID = 200
"""Maximum number of displayed messages, the latest of the round."""
FEW_NUMBERS = 6
"""Numbers of a round that are shown at once; the others unfold."""
PICTURES = 3
"""Number of pictures on a page; the last place has a choice among the remaining charts."""
TALK, PLANS, INVALID = "talk", "plans", "invalid"
"""Kinds of ticks of the slider."""
TICK_WORDS = {TALK: "talk", PLANS: "plans", INVALID: "invalid answers"}
MOST_TICKS = 300
"""Maximum number of ticks of the slider."""
Tick = tuple[int, str, str]
"""Round, kind, and words."""


def transport(page_state: PageState, at_once: Act) -> None:
    """Play, pause, step, reset, the slider of the rounds, and the pace."""
    controller = page_state.controller
    model, shown, status = controller.model, controller.shown, controller.status
    noun, first = counting(model)
    invalid = shown.model_data["invalid"] if len(shown.model_data) else ()
    kinds = {
        TALK: sorted(controller.said()), PLANS: sorted(controller.planned),
        INVALID: [i for i, n in enumerate(invalid) if n > 0],
    }  # fmt: skip
    _Transport(
        live=status, opens=page_state.opens, opening=page_state.opening,
        stuck=not page_state.fresh
        and (status == "over" or (status == "failed" and not page_state.may_go_on)),
        busy=page_state.busy, played=shown.played, first=first,
        at=shown.played if page_state.at is None else page_state.at,
        noun=noun, before=round_of(model, -1).capitalize(), given=model.given_rounds,
        until=model.n_rounds - 1 + first if model.n_rounds < MOST_ROUNDS else None,
        ticks=ticks_of(kinds, range(shown.played + 1), lambda n: round_of(model, n)),
        paces=list(PACES), pace=list(PACES.values()).index(page_state.interval_s),
        pace_s=page_state.interval_s, event_press=at_once(page_state.press),
        event_go=at_once(page_state.go),
        event_choose=lambda i: page_state.pace(list(PACES.values())[i]),
    )  # fmt: skip


@solara.component_vue("transport.vue")
def _Transport(
    live: str,
    opens: bool,
    opening: bool,
    stuck: bool,
    busy: bool,
    played: int,
    first: int,
    at: int,
    noun: str,
    before: str,
    given: int,
    until: int | None,
    ticks: Sequence[Tick],
    paces: Sequence[str],
    pace: int,
    pace_s: float,
    event_press: Callable[[str], None],
    event_go: Callable[[int], None],
    event_choose: Callable[[int], None],
) -> None: ...


def ticks_of(
    kinds: Mapping[str, Sequence[int]], played: range, call: Callable[[int], str]
) -> list[Tick]:
    """The ticks of the slider."""
    ticks: list[Tick] = [
        (round_, kind, f"{TICK_WORDS[kind]} in {call(round_)}")
        for kind, rounds in kinds.items()
        for round_ in rounds
        if round_ in played
    ]
    step = -(-len(ticks) // MOST_TICKS) or 1
    return ticks[::step]


def status(page_state: PageState) -> None:
    """The lines on who decides, what is played, and what is wrong.

    A line that appears and disappears has a permanent container. Otherwise Solara would reuse the
    element of another line, and the page would briefly show both.
    """
    controller, busy = page_state.controller, page_state.busy
    next_ = page_state.dirty and controller.status == "ready"
    text, kind = page_state.upcoming() if next_ else who_decides(controller.model)
    html("p", text, f"sabm-banner sabm-banner-{kind}", role="status", title=text)
    words = "The model is being set up …" if busy else _progress(controller)
    html("p", words, "sabm-progress", role="status", aria_live="polite")
    sentence, kind = upcoming(page_state)
    html("p", sentence, f"sabm-next sabm-next-{kind}", role="status")
    failed = controller.status == "failed" and not busy
    with inside("div"):
        if controller.problem and not busy:
            problem(f"The run has stopped: {controller.problem}")
    with inside("div"):
        if failed:
            html("p", _way_on(page_state), "sabm-hint")
    with inside("div"):
        if page_state.problem:
            problem(page_state.problem)
    with inside("div"):
        if controller.shown.problem:
            problem(f"The charts could not be made: {controller.shown.problem}")
    with inside("div"):
        if page_state.kept_path and controller.ended:
            recording_link(page_state.kept_path)
    Guard(active=page_state.costs and controller.begun and not controller.ended, words=LEAVING)


def upcoming(page_state: PageState) -> tuple[str, str]:
    """Name the minds of the next model if the settings differ from those of the displayed one.

    Returns:
        The sentence, or ``""``; and whether the next model may cost money.
    """
    if not page_state.dirty or page_state.busy:
        return "", FREE
    button = "Play" if page_state.controller.status == "ready" else "Reset"
    sentence, kind = page_state.upcoming()
    return f"Parameters have changed: {button} makes a model with them. {sentence}", kind


def recording_link(path: Path) -> None:
    """A link to the pages of a recording, where these are served."""
    if NETWORK.web:
        href = f"/recording?{urlencode({'file': str(path)})}"
        html("a", "Read the recording", "sabm-link-words", href=href)


def expected_answers(model: SmartModel) -> int | None:
    """The number of answers that the current round needs; None if it is not known in advance."""
    n = 0
    for phase in model.phases:
        if not isinstance(phase.who, type | None) or phase.at_most > 1:
            return None
        if phase.when is None or phase.when(model):
            turns = 1 if phase.order == SIMULTANEOUS else phase.turns
            n += turns * len(taking_part(model, phase))
    return n if model.usage.asks <= n else None


def _progress(controller: RunController) -> str:
    model, status = controller.model, controller.status
    noun, _ = counting(model)
    of = model.n_rounds - model.given_rounds
    done = max(0, rounds_done(model) - model.given_rounds)
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
    if page_state.controller.in_code:
        return f"Correct the file, then continue with: sabm resume {page_state.kept_path}"
    return (
        "Play continues where the run stopped: no answered question is asked again. "
        f"Later, continue with: sabm resume {page_state.kept_path}"
    )


@solara.component_vue("guard.vue")
def Guard(active: bool, words: str) -> None:
    """While active, asks for confirmation before the page is left."""


def pictures(page_state: PageState, at_once: Act) -> None:
    """The world of the selected round, and two charts below it; a choice shows the other charts.

    Without a world, the table of the scenario is in its place, or else the first chart.
    """
    controller = page_state.controller
    round_ = controller.shown.played if page_state.at is None else page_state.at
    said = [
        [message.sender, message.text, message.to] for message in controller.said().get(round_, ())
    ]
    texts = table_of(ENGLISH, "world")
    with inside("div", "sabm-worlds"):
        for scene in controller.scenes(round_):
            stage, frame = translated([scene.stage(), scene.frame()], ENGLISH)
            _World(
                stage=stage, frame=frame, at=round_, pace=page_state.interval_s, said=said,
                texts=texts, chosen=page_state.agent, event_choose=at_once(page_state.choose),
            ).key(f"world-{scene.name}")  # fmt: skip
        if controller.shown.table is not None and not controller.scenario_view.has_world:
            with inside("div", "sabm-card"):
                table(*controller.shown.table)
    _charts(page_state, at_once)


def _charts(page_state: PageState, at_once: Act) -> None:
    controller, agent = page_state.controller, page_state.agent
    shown, model, view = controller.shown, controller.model, controller.scenario_view
    last = PICTURES - 1 - (view.has_world or bool(model.pictures) or shown.table is not None)
    charts, sharing = shown.charts[:last], shown.charts[last:]
    titles, place = [chart.title for chart in sharing], page_state.chart
    with inside("div", "sabm-charts", data_round=str(shown.played)):
        for i, drawn in enumerate([*charts, *sharing[place : place + 1]]):
            of = drawn if agent is None else drawn.with_own(agent, name_of(model, agent))
            ChartWidget.element(
                shown=of, subtitle=subtitle_of(model), at=page_state.at,
                titles=titles if i == last else [], place=place,
                go=at_once(page_state.go), choose=at_once(page_state.choose),
                show=at_once(page_state.show_chart),
            ).key(str(i))  # fmt: skip


@solara.component_vue("world.vue")
def _World(
    stage: dict[str, Any],
    frame: dict[str, Any],
    at: int,
    pace: float,
    said: list[Any],
    texts: dict[str, Text],
    chosen: int | None,
    event_choose: Callable[[int], None],
) -> None:
    """A scene on a canvas; marks move from their previous position, and speakers have bubbles."""


def talk(controller: RunController, at: int | None) -> None:
    """The messages of a round with their speakers and hearers; nothing while nobody has spoken.

    Args:
        controller: the controller of the displayed model.
        at: the round; None: the last one in which anything was said.
    """
    by_round: Mapping[int, Sequence[Said]] = controller.said()
    with inside("div", "sabm-talks"):
        if not by_round:
            return
        round_ = max(by_round) if at is None else at
        said, words = by_round.get(round_, ()), round_of(controller.model, round_)
        with card(f"Talk in {words}" if said else "Nobody spoke"):
            with inside("div"):
                if len(said) > MOST_SAID:
                    last = f"The last {MOST_SAID} of {len(said)} messages."
                    html("p", last, "sabm-empty")
            _Messages(messages=[[m.speaker, m.hearers, m.text] for m in said[-MOST_SAID:]])


@solara.component_vue("messages.vue")
def _Messages(messages: list[list[Any]]) -> None: ...


def numbers(model: SmartModel, shown: Shown, at: int | None = None) -> None:
    """The model data of a round; dashes before the first.

    Args:
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
    rows = [[titles[c], number(last.get(c)), c] for c in model.columns()]
    _Facts(facts=[[noun.capitalize(), now, "round"], *rows], few=FEW_NUMBERS)


@solara.component_vue("facts.vue")
def _Facts(facts: list[list[str]], few: int) -> None:
    """Titles, values and names in one widget, since many widgets are slow to redraw."""


def agents(page_state: PageState, at_once: Act) -> None:
    """The choice of an agent whose story is shown."""
    model = page_state.controller.model
    minds = {agent.unique_id: agent.mind.spec for agent in model.population}
    choice(
        "Story of", list(minds), page_state.agent, at_once(page_state.choose),
        lambda agent: f"{name_of(model, agent)} · {minds[agent]}",
    )  # fmt: skip


def story(page_state: PageState, at_once: Act) -> None:
    """The story of the selected agent, if there is one."""
    controller, agent = page_state.controller, page_state.agent
    path, recorder = controller.model.recording_path, controller.model.recorder
    if agent is not None and path is not None:
        Story(
            source=Source(path, recorder.run, controller.model, recorder.flush), agent=agent,
            round_=page_state.looked_at, moment=page_state.state(), close=at_once(page_state.leave),
        ).key("story")  # fmt: skip


def table(caption: str, frame: pd.DataFrame) -> None:
    """The table of a scenario's page."""
    rows = [[number(value) for value in row] for row in frame.itertuples(index=False)]
    _Table(caption=caption, columns=[Titles()[str(name)] for name in frame.columns], rows=rows)


@solara.component_vue("table.vue")
def _Table(caption: str, columns: list[str], rows: list[list[str]]) -> None: ...


def usage(page_state: PageState) -> None:
    """The run in a line, and what its asks have cost so far."""
    controller, path = page_state.controller, page_state.kept_path
    model, spent = controller.model, controller.model.spent()
    line = subtitle_of(model) + (f" · recorded in {path}" if path else "")
    next_ = page_state.busy or (page_state.dirty and controller.status == "ready")
    html("p", "" if next_ else line, "sabm-hint", data_name="run")
    usd = spent.cost_usd
    cost = "unknown" if math.isnan(usd) else f"${usd:,.4f}" if usd else "none"
    values = {
        "Asks answered": f"{spent.asks:,}",
        "Cost": cost,
        "In flight": f"{model.in_flight:,}",
        "Invalid": f"{spent.invalid:,}",
        "Asked again": f"{spent.reasks:,}",
        "Sent again": f"{spent.retries:,}",
        "Tokens sent": f"{spent.prompt_tokens:,}",
        "Tokens received": f"{spent.completion_tokens:,}",
    }
    _Facts(facts=[[name, value, name] for name, value in values.items()], few=len(values))


def downloads(controller: RunController) -> None:
    """The data and the recording as files, once there are any."""
    path = controller.model.recording_path
    with inside("div", "sabm-files"):
        if controller.shown.model_data.empty:
            return
        _download(controller.model_csv, "model.csv")
        _download(controller.agents_csv, "agents.csv")
        if path is not None and controller.ended:
            _download(path.read_bytes, "recording.sqlite")


def _download(data: Callable[[], str | bytes], name: str) -> None:
    with solara.FileDownload(data, name).key(name):
        solara.Button(f"Download {name}", icon_name="mdi-download", text=True, small=True)
