"""The panels of a scenario's page. What a model says is handed on as text, never as markup.

Panels of a model are functions, not components: Solara draws a component again only when it is
given other arguments, and a model stays the same object while it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.visualization.game_view import GameView
from sabm_mesa.visualization.html import html, inside, picture, problem
from sabm_mesa.visualization.looks import Picture, Said
from sabm_mesa.visualization.pages.play_parts import table
from sabm_mesa.visualization.show import Show, Shown
from sabm_mesa.visualization.stage import Stage
from sabm_mesa.visualization.words import (
    counting,
    number,
    round_of,
    titles_of,
    who_decides,
    whole_in,
)

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

LATEST, ALL = "latest", "all"
MOST_SAID = 200
"""Messages on the page at once: the latest of what was chosen."""


def banner(stage: Stage) -> None:
    """Which minds decide: in the model on show, or before it is played in that of the controls.

    Args:
        stage: the page's model.
    """
    show = stage.show
    next_ = stage.dirty and show.status == "ready"
    text, kind = stage.upcoming() if next_ else who_decides(show.model)
    html("p", text, f"sabm-banner sabm-banner-{kind}", role="status")


def usage(model: SmartModel) -> None:
    """What the asks so far cost.

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
        shown: what is shown.
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
        shown: what is shown.
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
    """Which round the charts are of, and which one is still to be drawn.

    Args:
        model: the model.
        shown: what is shown.
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
def Talk(show: Show | GameView, by_round: Mapping[int, Sequence[Said]]) -> None:
    """Who said what to whom, by round.

    Args:
        show: the model on show, or the game.
        by_round: round → what was said in it, rounds of silence left out: it is drawn again when
            this changes.
    """
    chosen, choose = solara.use_state(LATEST)
    stable = solara.use_memo(lambda: choose, [])
    if not by_round:
        html("p", "Nobody has said anything yet.", "sabm-empty")
        return
    noun, first = counting(show.model)
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
    rounds = [round_of(show.model, each.round).capitalize() for each in shown[-MOST_SAID:]]
    _Messages(
        messages=[[when, *each[1:]] for when, each in zip(rounds, shown[-MOST_SAID:], strict=True)]
    )


@solara.component
def _RoundChoice(noun: str, chosen: str, choose: Callable[[str], None]) -> None:
    """Which round is shown."""
    solara.v.Combobox(
        label=f"{noun.capitalize()}: latest, all, or its number", items=[LATEST, ALL],
        v_model=chosen, on_v_model=lambda text: choose(str(text or LATEST).strip()),
    )  # fmt: skip


@solara.component_vue("messages.vue")
def _Messages(messages: list[list[Any]]) -> None: ...


def beside(show: Show) -> None:
    """The scenario's own table, if it has one.

    Args:
        show: the model on show.
    """
    found = show.shown.table
    if found is not None:
        with inside("div", "sabm-card sabm-wide"):
            table(*found)


def downloads(show: Show) -> None:
    """The data and the recording as files.

    Args:
        show: the model on show.
    """
    shown, model = show.shown, show.model
    if shown.model_data.empty:
        html("p", "There is nothing to download before the first round.", "sabm-empty")
        return
    _download(shown.model_csv, "model.csv")
    _download(shown.agents_csv, "agents.csv")
    path = model.recording_path
    if path is None:
        return
    if show.status in {"over", "failed"}:
        _download(path.read_bytes, "recording.sqlite")
    else:
        html("p", "The recording can be had when the run has ended.", "sabm-empty")


def _download(data: bytes | Callable[[], str | bytes], name: str) -> None:
    with solara.FileDownload(data, name):
        solara.Button(f"Download {name}", icon_name="mdi-download", text=True, small=True)
