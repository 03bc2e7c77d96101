"""The panels of a scenario's page. What a model says is handed on as text, never as markup.

Panels of a model are functions, not components: Solara draws a component again only when it is
given other arguments, and a model stays the same object while it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.visualization.html import html, inside, picture, problem
from sabm_mesa.visualization.looks import Picture, noun_of
from sabm_mesa.visualization.pages.play_parts import table
from sabm_mesa.visualization.show import Show, Shown

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

LATEST, ALL = "latest", "all"
MOST_SAID = 200
"""Messages on the page at once: the latest of what was chosen."""


def banner(model: SmartModel) -> None:
    """Which minds decide.

    Args:
        model: the model.
    """
    text, kind = who_decides(model)
    html("p", text, f"sabm-banner sabm-banner-{kind}", role="status")


def who_decides(model: SmartModel) -> tuple[str, str]:
    """Which minds decide, in a sentence, and whether answers cost money.

    Args:
        model: the model.

    Returns:
        The sentence, and ``"paid"`` or ``"free"``.
    """
    minds = model.minds_in_use()
    paid = any(agent.mind.paid for agent in model.population)
    noun = noun_of(model)
    if len(minds) == 1:
        spec, n = next(iter(minds.items()))
        if spec.startswith("classical"):
            return f"Classical behavioural rules decide ({spec}): no language model.", "free"
        sentence = f"{_who(spec)} decides for {_count(n, noun)}"
    else:
        parts = [f"{_who(spec)} for {n}" for spec, n in minds.items()]
        sentence = f"Different minds decide for the {_count(sum(minds.values()), noun)}: "
        sentence += "; ".join(parts)
    end = ": answers may cost money." if paid else ": no language model."
    return sentence + end, "paid" if paid else "free"


def progress(show: Show) -> None:
    """How far the run and the round under way have come.

    Args:
        show: the model on show.
    """
    model, status = show.model, show.status
    done = model.round + (not model.playing)
    if status == "over" and done < model.n_rounds:
        words = f"The run has ended after {done} rounds."
    elif status == "over":
        words = f"The run has ended: all {done} rounds are played."
    elif model.playing:
        answered = _count(model.tally.asks, "answer")
        words = f"Round {model.round} is under way: {answered}, {model.in_flight} in flight."
    elif status == "ready":
        words = "Nothing is played yet. Press Play."
    else:
        words = f"{done} of {model.n_rounds} rounds are played."
    if status == "pausing":
        words += " It pauses when this round is done; Reset stops it at once."
    html("p", words, "sabm-progress", role="status", aria_live="polite")
    label = {"aria-label": "Rounds played"}
    solara.v.ProgressLinear(
        value=100 * done / model.n_rounds, color="primary", height=6, attributes=label,
        indeterminate=model.playing and model.in_flight > 0,
    )  # fmt: skip
    if show.problem:
        problem(f"The run has stopped: {show.problem}")


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
            "Tokens sent": f"{spent.prompt_tokens:,}",
            "Tokens received": f"{spent.completion_tokens:,}",
            "Cost": cost,
        }
    )


def latest(model: SmartModel, shown: Shown) -> None:
    """The model data of the round that was played last.

    Args:
        model: the model.
        shown: what is shown.
    """
    if shown.model_data.empty:
        html("p", "The numbers of the round appear when a round is played.", "sabm-empty")
        return
    data = shown.model_data
    facts({name: number(data[name].iloc[-1]) for name in ("round", *model.columns())})


def facts(named: Mapping[str, str]) -> None:
    """Names and values.

    Args:
        named: name → value.
    """
    with inside("dl", "sabm-facts"):
        for name, value in named.items():
            with inside("div"):
                html("dt", name)
                html("dd", value, data_name=name)


def charts(shown: Shown) -> None:
    """The charts.

    Args:
        shown: what is shown.
    """
    with inside("div", "sabm-charts", data_round=str(shown.painted)):
        if not shown.pictures:
            html("p", "The charts appear with the first round.", "sabm-empty sabm-card")
        for each in shown.pictures:
            Chart(each).key(each.name)


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
def Talk(show: Show, said: int) -> None:
    """Who said what to whom, by round.

    Args:
        show: the model on show.
        said: how many messages there are: it is drawn again when there are more.
    """
    chosen, choose = solara.use_state(LATEST)
    stable = solara.use_memo(lambda: choose, [])
    by_round = show.said()
    if not said or not by_round:
        html("p", "Nobody has said anything yet.", "sabm-empty")
        return
    _RoundChoice(chosen, stable)
    if chosen == ALL:
        shown = [each for messages in by_round.values() for each in messages]
    elif chosen.isdecimal():
        shown = by_round.get(int(chosen), [])
    else:
        shown = by_round[max(by_round)]
    if len(shown) > MOST_SAID:
        html("p", f"The last {MOST_SAID} of {len(shown)} messages.", "sabm-empty")
    if not shown:
        html("p", f"Nothing was said in round {chosen}.", "sabm-empty")
    _Messages(messages=[list(each) for each in shown[-MOST_SAID:]])


@solara.component
def _RoundChoice(chosen: str, choose: Callable[[str], None]) -> None:
    """Which round is shown."""
    solara.v.Combobox(
        label="Round: latest, all, or its number", items=[LATEST, ALL], v_model=chosen,
        on_v_model=lambda text: choose(str(text or LATEST).strip()),
    )  # fmt: skip


@solara.component_vue("messages.vue")
def _Messages(messages: list[list[Any]]) -> None: ...


def beside(show: Show) -> None:
    """The scenario's own table, if it has one.

    Args:
        show: the model on show.
    """
    found = show.look.table(show.shown.model_data)
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


def number(value: Any) -> str:
    """A number as it is shown, or a dash for none."""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.6g}"
    return "–" if value is None else str(value)


def _who(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    names = {"llm": "Language model", "fixed": "The fixed answer", "classical": "Classical rule"}
    return f"{names[kind]} {rest}".strip() if kind in names else spec


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
