"""The page of recordings: find one, read it by round, compare its runs, download its data.

Solara calls the annotations of `Page` with the parts of the path, so they are not strings here.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pandas as pd
import solara
import solara.lab

from sabm_mesa.core.languages import language_for
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import describe_deciders
from sabm_mesa.recording.export import csv_of
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.varied import word_of
from sabm_mesa.visualization.access import open_to_others
from sabm_mesa.visualization.frame import Head, accepted_languages
from sabm_mesa.visualization.html import card, choice, field, html, inside, problem
from sabm_mesa.visualization.labels import error_line, whole_in
from sabm_mesa.visualization.pages.host import take_up
from sabm_mesa.visualization.records.compare_view import Compare
from sabm_mesa.visualization.records.parts import STYLE, Guarded, Recordings, use_read, waiting
from sabm_mesa.visualization.records.reading_view import Conversation, RoundByRound
from sabm_mesa.visualization.records.rounds import dollars, text
from sabm_mesa.visualization.records.search_view import Search
from sabm_mesa.visualization.records.store import (
    STOPPED,
    Listed,
    RunData,
    counts_of,
    listed,
    name_of,
    place_of,
    run_data,
    runs_of,
    stamp,
    values_by_name,
)

ALL = "all"
"""The choice that does not filter by a varied parameter."""
LONGEST_NAME, LONGEST_WORDS = 100, 400
"""Maximum number of characters of a displayed name."""
PLACE = ("round", "phase", "agent", "question", "message")
"""The query parameters that address a round, an ask or a message of a run."""
FRAMES = ("runs", "asks", "decisions", "model_data", "agent_data")


@solara.component
def Page() -> None:
    """The list of recordings, or the recording that ``?file=…&run=…`` names."""
    router = solara.use_router()
    given = parse_qs(router.search or "")
    path, run = given.get("file", [""])[0], given.get("run", ["0"])[0]
    at = {name: given[name][0] for name in PLACE if name in given}
    recordings, _, searching = use_read(lambda: listed(Path.cwd()), [path])
    known = recordings or []

    def open_(path: str, run: int = 0) -> None:
        query = urlencode({"file": path, "run": run}) if path else ""
        router.push(f"{router.path}?{query}" if query else router.path)

    def go(url: str) -> None:
        """Follow an address of this page."""
        router.push(f"{router.path}?{url.partition('?')[2]}")

    Head("Recordings")
    solara.Style(STYLE)
    with inside("main", "rec-page"):
        if path:
            number = whole_in(run) if run.isdecimal() else 0
            Opened(path, -1 if number is None else number, at, known, open_, go).key(path)
        else:
            Chooser(known, searching, open_)


@solara.component
def Chooser(recordings: Sequence[Listed], searching: bool, open_: Callable[[str], None]) -> None:
    """The recordings below the folder of the server, and a field for a path.

    Args:
        recordings: the recordings.
        searching: whether the search is still running.
        open_: called with the path of the recording to open.
    """
    typed, set_typed = solara.use_state("")
    html("h1", "Recordings")
    html("p", "Open one to read every prompt and answer, round by round.", "sabm-lead")
    with card("By its path"):
        with inside("div", "rec-bar"):
            field("Path on the computer that serves this page", typed, set_typed, live=True)
            solara.Button(
                "Open", color="primary", disabled=not typed.strip(),
                on_click=lambda: open_(typed.strip()),
            )  # fmt: skip
        if open_to_others():
            html("p", f"Others can reach this server: only files below {Path.cwd()}.", "sabm-hint")
    html("h2", f"Below {Path.cwd()}, the newest first")
    if searching:
        waiting("Looking for recordings …")
    elif not recordings:
        html("p", "None found. A run writes one: sabm run kbc --out out/kbc", "sabm-empty")
    else:
        shown = [
            {
                "name": recording.name,
                "words": recording.words[:LONGEST_WORDS],
                "about": recording.about[:LONGEST_WORDS],
                "when": _when(recording),
                "bad": bool(recording.problem),
            }
            for recording in recordings
        ]
        Recordings(recordings=shown, event_choose=open_)


@solara.component
def Opened(
    path: str,
    number: int,
    at: Mapping[str, str],
    recordings: Sequence[Listed],
    open_: Callable[[str, int], None],
    go: Callable[[str], None],
) -> None:
    """A recording.

    Args:
        path: the recording.
        number: the number of the shown run.
        at: the round, ask or message in the address, by the parameters in `PLACE`.
        recordings: the listed recordings.
        open_: called with the path and the run to open.
        go: called with the address to go to.
    """
    looked, read_again = solara.use_state(0)
    file = place_of(path)
    mark = stamp(file)
    runs, wrong, busy = use_read(lambda: runs_of(file), [path, mark, looked])
    run, wrong_run, reading = use_read(lambda: run_data(file, number), [path, mark, number, looked])
    counted, _, _ = use_read(lambda: counts_of(file, number), [path, mark, number, looked])
    tab, set_tab = solara.use_state(0)
    solara.use_effect(lambda: set_tab(0) if at else None, [number, at])
    html("h1", file.name[:LONGEST_NAME])
    with inside("div", "rec-bar"):
        html("span", path, "sabm-hint rec-path")
        solara.Button(
            "All recordings", icon_name="mdi-arrow-left", text=True, on_click=lambda: open_("", 0)
        )
        solara.Button(
            "Read again",
            icon_name="mdi-refresh",
            text=True,
            on_click=lambda: read_again(looked + 1),
        )
    if wrong or wrong_run:
        problem(wrong or wrong_run)
        return
    if busy or runs is None:
        waiting("Reading the recording …")
        return
    if runs.empty:
        html("p", "There is no run in this recording yet.", "sabm-empty sabm-card")
        return
    ChooseRun(runs, number, path, counted, lambda chosen: open_(path, chosen)).key("choose")
    if _is_game_cut_off(runs, number):
        GoOn(file, number).key(f"go on {number}")
    if reading or run is None:
        waiting("Reading the run …")
        return
    with solara.lab.Tabs(value=tab, on_value=set_tab, lazy=True):
        for name, draw in tabs_of(run, runs, at, recordings, go).items():
            with solara.lab.Tab(name):
                Guarded(draw).key(f"{name} {number} {looked}")


def tabs_of(
    run: RunData,
    runs: pd.DataFrame,
    at: Mapping[str, str],
    recordings: Sequence[Listed],
    go: Callable[[str], None],
) -> dict[str, Callable[[], object]]:
    """The tabs of a run: name → drawing function.

    Args:
        run: the run.
        runs: the runs of its recording.
        at: the round, ask or message in the address.
        recordings: the listed recordings.
        go: called with the address to go to.
    """
    return {
        "Rounds": lambda: RoundByRound(run, at).key(f"{run.recorded.run} {sorted(at.items())}"),
        "Find": partial(Search, run, len(runs), go),
        "Conversation": partial(Conversation, run),
        "Compare": partial(Compare, run, recordings),
        "Downloads": partial(Downloads, run, runs),
    }


@solara.component
def GoOn(file: Path, number: int) -> None:
    """A button that resumes a game with people.

    Args:
        file: the recording.
        number: the number of the run.
    """
    host = solara.get_session_id()
    router = solara.use_router()
    language = language_for(None, accepted_languages())

    def go_on() -> str:
        """Resume the game outside the page's thread; return the error message, or ``""``."""
        try:
            take_up(host, file, number, language)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return error_line(error)
        return ""

    going = solara.lab.use_task(go_on, dependencies=None)
    solara.use_effect(
        lambda: router.push("/host") if going.finished and not going.value else None,
        [going.finished, going.value],
    )
    with inside("div", "rec-bar"):
        solara.Button(
            "Go on with the game", icon_name="mdi-account-group", color="primary",
            on_click=going, disabled=going.pending,
        )  # fmt: skip
        html("span", "People find their seats by the same links.", "sabm-hint")
    with inside("div"):
        if going.finished and going.value:
            problem(going.value)


@solara.component
def Downloads(run: RunData, runs: pd.DataFrame) -> None:
    """Downloads of the recording, and of its tables as CSV.

    Args:
        run: a run of it.
        runs: all its runs.
    """
    recorded = Recorded(run.recorded.path)
    with card("All runs of the recording"):
        if "running" in set(runs["status"]):
            html("p", "The recording itself is available when its runs have ended.", "sabm-empty")
        else:
            _download(run.recorded.path.read_bytes, run.recorded.path.name)
        for name in FRAMES:
            _download(_csv(recorded, name), f"{run.recorded.path.stem}-{name}.csv")
        html(
            "p",
            "Texts are as they came: import them into a spreadsheet as text, not as formulas.",
            "sabm-hint",
        )


@solara.component
def ChooseRun(
    runs: pd.DataFrame,
    number: int,
    path: str,
    counted: Mapping[Any, Any] | None,
    choose: Callable[[int], None],
) -> None:
    """The choice of a run, with filters for varied parameters, and facts about the chosen run.

    Args:
        runs: all runs.
        number: the chosen run.
        path: the recording.
        counted: its asks, tokens and dollars, once they are counted.
        choose: called with the run to open.
    """
    nothing: dict[str, str] = {}
    wanted, want = solara.use_state(nothing)
    values = values_by_name(runs)
    with inside("div", "rec-bar"):
        for name, (title, options) in values.items():
            choice(
                f"Only {title}", [ALL, *options], wanted.get(name, ALL),
                partial(_want, want, wanted, name),
            )  # fmt: skip
    kept = [
        row
        for row in runs.to_dict("records")
        if row["run"] == number
        or all(wanted.get(name, ALL) in {ALL, word_of(row[name])} for name in values)
    ]
    labels = {f"{name_of(row)}{', a fork' if text(row['parent']) else ''}": row for row in kept}
    now = next((label for label, row in labels.items() if row["run"] == number), None)
    with inside("div", "rec-bar"):
        choice(
            f"Run ({len(kept)} of {len(runs)})" if len(kept) < len(runs) else "Run",
            list(labels),
            now,
            lambda label: choose(int(labels[label]["run"])),
        )
        if now is not None:
            row = labels[now]
            summary = _deciders(row)
            if counted is not None:
                tokens = counted["prompt_tokens"] + counted["completion_tokens"]
                summary = (
                    f"{counted['asks']:,} asks · {counted['invalid']:,} invalid · {summary} · "
                    f"{tokens:,} tokens · cost {dollars(counted['cost_usd'])}"
                )
            html("span", summary, "sabm-hint rec-path")
            if why := text(row["problem"]):
                _ended(why, path)


def _want(
    want: Callable[[dict[str, str]], None], wanted: Mapping[str, str], name: str, value: str
) -> None:
    want({**wanted, name: value})


def _is_game_cut_off(runs: pd.DataFrame, number: int) -> bool:
    """Whether a run is an unfinished game with people that is not being played now."""
    return any(
        row["run"] == number
        and HUMAN in json.loads(row["minds"])
        and row["status"] not in {"running", "finished"}
        for row in runs.to_dict("records")
    )


def _deciders(row: Mapping[Any, Any]) -> str:
    return f"minds: {describe_deciders(json.loads(row['minds']), json.loads(row['forks']))}"


def _ended(why: str, path: str) -> None:
    """Show why a run ended early, and how to resume it."""
    way = f"No answer is lost. Continue with: sabm resume {shlex.quote(path)}"
    if why in STOPPED:
        html("p", f"The run was stopped before its end. {way}", "rec-path", role="status")
    else:
        problem(f"The run failed: {why.rstrip('.')}. {way}")


def _download(data: Callable[[], str | bytes], name: str) -> None:
    with solara.FileDownload(data, name):
        solara.Button(f"Download {name}", icon_name="mdi-download", text=True)


def _csv(recorded: Recorded, name: str) -> Callable[[], str]:
    def read() -> str:
        frame: pd.DataFrame = getattr(recorded, name)()
        return csv_of(frame)

    return read


def _when(recording: Listed) -> str:
    # In the server's local time.
    changed = datetime.fromtimestamp(stamp(recording.path)[0][0] / 1e9).astimezone()
    return f"written {changed:%Y-%m-%d %H:%M}"
