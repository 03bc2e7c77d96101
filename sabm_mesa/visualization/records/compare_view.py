"""Two runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import solara

from sabm_mesa.analysis.tests import Of
from sabm_mesa.errors import SabmError
from sabm_mesa.studies import compare as settings
from sabm_mesa.visualization import chart
from sabm_mesa.visualization.html import card, choice, field, html, inside, problem
from sabm_mesa.visualization.labels import count
from sabm_mesa.visualization.records import charts, comparing, rounds
from sabm_mesa.visualization.records.parts import Diff, Said, table, use_read, waiting
from sabm_mesa.visualization.records.reading_view import MOST, AskList, Reader, called_rounds
from sabm_mesa.visualization.records.store import (
    Listed,
    RunData,
    find_run,
    name_of,
    run_data,
    runs_of,
    stamp,
)
from sabm_mesa.visualization.stage import Timeline

THIS, OTHER = "this run", "other run"
ALL, USUAL = "all that was varied", "median, or share of 0 and 1"


@solara.component
def Compare(run: RunData, recordings: Sequence[Listed]) -> None:
    """A run next to another; for a fork, the parent is selected first if it is available."""
    parent = run.recorded.parent
    first = solara.use_memo(lambda: _first(run, recordings), [run, recordings])
    nothing: tuple[str, int] | None = None
    picked, set_chosen = solara.use_state(nothing)
    chosen = picked or first  # keep the selection when the list arrives later
    path, number = chosen
    names = {str(run.recorded.path): "this recording"}
    names |= {
        str(recording.path): recording.name
        for recording in recordings
        if recording.path != run.recorded.path
    }
    runs, wrong, busy = use_read(lambda: runs_of(Path(path)), [path, stamp(Path(path))])
    numbers = [] if runs is None else [int(n) for n in runs["run"]]
    with card("Compare with"):
        if parent:
            at_hand = find_run(recordings, parent) is not None
            html("p", "This run is a fork. " + (
                "Its parent is chosen." if at_hand and first == chosen else
                "Its parent is available." if at_hand else
                "Its parent is in none of the listed recordings."))  # fmt: skip
        with inside("div", "rec-bar"):
            label = names.get(path, path)
            by_name = {name: known for known, name in names.items()} | {label: path}
            choice("Recording", list(by_name), label, lambda name: set_chosen((by_name[name], 0)))
            field("Or the path of a recording", path, lambda typed: set_chosen((typed.strip(), 0)))
            if runs is not None and numbers:
                labels = {int(row["run"]): name_of(row) for row in runs.to_dict("records")}
                by_label = {label: n for n, label in labels.items()}
                choice(
                    "Run", list(by_label), labels[number if number in numbers else numbers[0]],
                    lambda chosen: set_chosen((path, by_label[chosen])),
                )  # fmt: skip
        if wrong:
            problem(wrong)
        elif busy:
            waiting("Reading the recording …")
    Settings(run.recorded.path).key("settings")
    if numbers and not wrong:
        shown = number if number in numbers else numbers[0]
        Sides(run, path, shown).key(f"{path}/{shown}")


@solara.component
def Settings(path: Path) -> None:
    """A comparison of the settings of a recording in a measure, as by ``sabm compare``.

    Args:
        path: the recording.
    """
    picked, pick = solara.use_state("")
    chosen, choose = solara.use_state(ALL)
    statistic, set_statistic = solara.use_state(USUAL)
    read, _, _ = use_read(lambda: _measures_of(path), [path, stamp(path)])
    measures, factors = read or ([], [])
    measure = picked if picked in measures else next(iter(measures), "")
    by = {ALL: (), **{" and ".join(names): names for names in _choices(factors)}}
    chosen = chosen if chosen in by else ALL
    compared, wrong, busy = use_read(
        lambda: _compared(path, measure, by[chosen], statistic) if factors and measure else None,
        [path, measure, chosen, statistic, stamp(path)],
    )
    if not factors or not measure:
        return
    with card("Compare the settings of this recording"):
        with inside("div", "rec-bar"):
            choice("Measure", measures, measure, pick)
            choice("By", list(by), chosen, choose)
            choice("Statistic", [USUAL, *get_args(Of)], statistic, set_statistic)
        if wrong:
            html("p", wrong, "sabm-empty")
        elif busy or compared is None:
            waiting("Comparing …")
        else:
            html(
                "p",
                f"The {compared.of} of {measure} over runs, with its 95 % interval. Verdicts "
                "follow p_holm, the p-value corrected for all comparisons.",
                "sabm-hint",
            )
            table("Settings", compared.cells.round(4))
            names = [
                "comparison", "of", "than", "n", "n_than", "estimate", "low", "high", "p",
                "p_holm", "effect", "verdict",
            ]  # fmt: skip
            shown = compared.table[names].round(4)
            for name in ("p", "p_holm"):
                shown[name] = [_p_value(value) for value in compared.table[name]]
            table("Comparisons", shown)
            effects = "; ".join(dict.fromkeys(compared.table["effect_name"]))
            html("p", f"Effect: {effects}.", "sabm-hint")
            for note in compared.notes:
                html("p", note, "sabm-hint")


def _measures_of(path: Path) -> tuple[list[str], list[str]]:
    """The varying measures and varied factors of a recording; empty without finished runs."""
    try:
        frame, factors, _ = settings.read([path])
    except SabmError:
        return [], []
    names = [str(name) for name in frame.columns if str(name).startswith("measure.")]
    return [
        name.removeprefix("measure.") for name in names if len(frame[name].dropna().unique()) > 1
    ], factors


def _p_value(value: float) -> str:
    return "–" if value != value else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _compared(
    path: Path, measure: str, by: Sequence[str], statistic: str
) -> settings.ComparedSettings:
    of = next((name for name in get_args(Of) if name == statistic), None)
    return settings.compare([path], measure, by, of=of)


def _choices(factors: Sequence[str]) -> list[tuple[str, ...]]:
    """The combinations of one or two factors that may define settings."""
    some = [choice for n in (1, 2) for choice in combinations(factors, n)]
    return [choice for choice in some if len(choice) < len(factors)]


@solara.component
def Sides(run: RunData, path: str, number: int) -> None:
    """How two runs differ.

    Args:
        run: a run.
        path: the recording of the other run.
        number: the number of the other run.
    """
    other, wrong, busy = use_read(
        lambda: run_data(Path(path), number), [path, number, stamp(Path(path))]
    )
    if wrong:
        problem(wrong)
    elif busy:
        waiting("Reading the run …")
    elif other is not None and other.recorded.uid == run.recorded.uid:
        html("p", "This is the same run. Choose another one.", "sabm-empty sabm-card")
    elif other is not None:
        Differences(run, other)


@solara.component
def Differences(run: RunData, other: RunData) -> None:
    """The differences of two runs in parameters, forks and data.

    Args:
        run: a run.
        other: another.
    """
    where, _, searching = use_read(lambda: comparing.first_difference(run, other), [run, other])
    names = _names(run, other)
    drawn, wrong, drawing = use_read(lambda: charts.both(run, other, names), [run, other])
    with inside("div", "rec-round"):
        with card("Where they part"):
            if searching:
                waiting("Comparing …")
            else:
                words = "All data of both runs are the same."
                if where:
                    words = where.words(lambda n: charts.called(run, n))
                html("p", words, data_name="difference")
            for name, one in zip(names, (run, other), strict=True):
                changed = comparing.changes(one, lambda n: charts.called(run, n))
                html("h3", name)
                html("p", _about(one), "sabm-hint")
                with inside("ul", "rec-changes"):
                    for change in changed or ["Nothing was changed during the run."]:
                        html("li", change)
        with card("Parameters that differ"):
            differing = comparing.parameters(run, other)
            if differing:
                frame = pd.DataFrame(differing, columns=["parameter", THIS, OTHER])
                table("At the start of the runs", frame)
            else:
                html("p", "Both began with the same parameters and seed.", "sabm-empty")
        if drawing:
            waiting("Drawing both runs …")
        elif not drawn:
            html("p", wrong or "They have no numeric column in common.", "sabm-empty sabm-card")
        else:
            chart.charts(drawn, subtitle=" · ".join(names))
        Beside(run, other, names)


@solara.component
def Beside(run: RunData, other: RunData, names: tuple[str, str]) -> None:
    """A round of two runs side by side: messages, asks, and the selected ask.

    Args:
        run: a run.
        other: another.
        names: how the two are called.
    """
    index, set_place = solara.use_state(0)
    agent, set_agent = solara.use_state("")
    ask, set_ask = solara.use_state(("", -1, 0))
    played = sorted({*run.rounds, *other.rounds})
    if not played:
        return
    index = min(index, len(played) - 1)
    html("h2", "Side by side")
    noun, first = charts.counting_of(run)
    with inside("div", "sabm-card sabm-clock"):
        Timeline(
            rounds=[n + first for n in played], at=index, noun=noun, event_go=set_place,
            before=f"Before the first {noun}",
            given=sum(n < charts.given_of(run) for n in played),
        ).key("timeline")  # fmt: skip
    with inside("div", "rec-beside"):
        for name, one in zip(names, (run, other), strict=True):
            with inside("div", "rec-one"):
                html("h3", name)
                with card(charts.called(run, played[index]).capitalize()):
                    if played[index] not in one.rounds:
                        html("p", "This run did not reach this round.", "sabm-empty")
                        continue
                    _, messages = rounds.messages_in(one, MOST, played[index])
                    if messages:
                        Said(messages=called_rounds(one, messages))
                    AskList(one, played[index], agent, ask, set_agent, set_ask)
                with inside("section", "sabm-card", aria_live="polite"):
                    Reader(one, (played[index], *ask)).key(f"{name}/{played[index]}/{ask}")
    if ask[1] >= 0:
        Apart(run, other, (played[index], *ask)).key(f"apart/{played[index]}/{ask}")


@solara.component
def Apart(run: RunData, other: RunData, place: rounds.Place) -> None:
    """The words in which the requests of two runs differ for the same ask.

    Args:
        run: a run.
        other: another.
        place: the ask.
    """

    def read() -> list[Any]:
        sent = [rounds.prompts_at(one, place) for one in (run, other)]
        return rounds.differences(*sent) if all(sent) else []

    words, wrong, busy = use_read(read, [run, other, place])
    with card("Words that differ in what was sent"):
        if wrong:
            problem(wrong)
        elif busy:
            waiting("Comparing …")
        elif words:
            Diff(messages=words)
        else:
            html("p", "Nothing was sent in one of the runs.", "sabm-empty")


def _first(run: RunData, recordings: Sequence[Listed]) -> tuple[str, int]:
    """Return the first run to compare with: the parent, or another run of the same recording."""
    parent = find_run(recordings, run.recorded.parent) if run.recorded.parent else None
    if parent is not None:
        return str(parent[0]), parent[1]
    return str(run.recorded.path), 0 if run.recorded.run else 1


def _names(run: RunData, other: RunData) -> tuple[str, str]:
    """Names that distinguish two runs, also in a separate picture."""
    this, that = THIS.capitalize(), OTHER.capitalize()
    if run.recorded.parent == other.recorded.uid:
        this, that = "The fork", "Its parent"
    elif other.recorded.parent == run.recorded.uid:
        this, that = "The parent", "Its fork"
    return f"{this}: {_name(run)}", f"{that}: {_name(other)}"


def _name(run: RunData) -> str:
    path = run.recorded.path
    return f"run {run.recorded.run} of {path.resolve().parent.name}/{path.name}"


def _about(run: RunData) -> str:
    recorded = run.recorded
    played = len(run.model_data)
    rounds_played = count(played, charts.counting_of(run)[0])
    return f"{recorded.scenario}, {recorded.status}, {rounds_played}, {recorded.started}"
