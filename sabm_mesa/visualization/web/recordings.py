"""Recordings as pages: their list, their runs and rounds, search, comparison and downloads.

The address of each round, ask and message survives a restart of the server. Only hosts read
recordings.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from sabm_mesa.core.phrases import language_for
from sabm_mesa.errors import RecordingError
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.recording import search
from sabm_mesa.recording.export import csv_of
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.search import ANSWERED, SAID, SENT, THOUGHT, Hit
from sabm_mesa.recording.store import copy_recording
from sabm_mesa.visualization.access import NETWORK, may_host
from sabm_mesa.visualization.labels import count, error_line, whole_in
from sabm_mesa.visualization.reading import charts, pages
from sabm_mesa.visualization.reading.store import (
    STOPPED,
    RunData,
    find_run,
    listed,
    place_of,
    run_data,
    runs_of,
    stamp,
    values_by_name,
)
from sabm_mesa.visualization.web.debrief import FRAMES
from sabm_mesa.visualization.web.opening import take_up
from sabm_mesa.visualization.web.page import key_page, rendered, session_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from sabm_mesa.recording import RecordedRun

PATH = "/recording"
MOST_ASKS, MOST_HITS = 300, 50
"""Maximum number of asks and agents of a page, and of displayed hits of a search."""
TEXTS = {"": None, "answers": ANSWERED, "thoughts": THOUGHT, "messages": SAID, "prompts": SENT}
"""Choice → the kind of text that is searched; ``""``: all."""
RESULTS = {"": None, "valid": True, "invalid": False}
KINDS = {
    ANSWERED: "answer", THOUGHT: "private thoughts", SAID: "message",
    SENT: "prompt, sent here first",
}  # fmt: skip
Page = Callable[["Request"], Response]


def _for_hosts(page: Page) -> Page:
    """A page that only hosts see, with a line in place of an error."""

    @wraps(page)
    def guarded(request: Request) -> Response:
        if not may_host(request.cookies):
            return key_page(request)
        try:
            return page(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return rendered(request, "problem.html", 400, problem=error_line(error))

    return guarded


def routes() -> list[Route]:
    """The routes of all pages."""
    return [
        Route(PATH, _page),
        Route(f"{PATH}/find", _find),
        Route(f"{PATH}/compare", _compare),
        Route(f"{PATH}/picture", _picture),
        Route(f"{PATH}/data", _data),
        Route(f"{PATH}/go-on", _go_on, methods=["POST"]),
    ]


@_for_hosts
def _page(request: Request) -> Response:
    """The list of recordings, a recording, one of its runs, or a round."""
    asked = request.query_params
    if not asked.get("file"):
        return _list(request)
    file = asked["file"]
    path = place_of(file)
    runs = runs_of(path)
    if "all" in asked or ("run" not in asked and len(runs) != 1):
        return _runs(request, file, path)
    number = _number(request, "run", 0)
    run, row = run_data(path, number), Recorded(path, check=False).runs(number)
    links, facts = _links(file), row.to_dict("records")[0]
    if "round" in asked:
        wanted = _number(request, "round", 0) - charts.counting_of(run)[1]
        agent = _number(request, "agent", 0) if asked.get("agent") else None
        content = pages.round_page(run, facts, wanted, links, most=MOST_ASKS, agent=agent)
        return rendered(request, "round.html", **content, file=file)
    content = pages.run_page(run, facts, links)
    content |= {"file": file} | _ways_on(path, run, facts)
    return rendered(request, "run.html", **content)


def _list(request: Request) -> Response:
    here = Path.cwd()
    recordings = [
        {
            "name": recording.name, "words": recording.words, "about": recording.about,
            "when": _written(recording.path),
            "bad": bool(recording.problem), "url": _url(file=recording.name),
        }
        for recording in listed(here)
    ]  # fmt: skip
    content = {"recordings": recordings, "folder": here, "closed": bool(NETWORK.address)}
    return rendered(request, "list.html", **content)


def _runs(request: Request, file: str, path: Path) -> Response:
    from sabm_mesa.recording import load_runs

    frame = Recorded(path, check=False).runs()
    rows = frame.to_dict("records")
    recorded = {run.run: run for run in load_runs(path, check=False)}
    running = "running" in set(frame["status"])
    content = {
        "runs": [pages.about_run(recorded[row["run"]], row) for row in rows],
        "links": _links(file), "file": file, "left_out": 0,
        "varied": [title for title, _ in values_by_name(frame).values()],
        "recording": None if running else _url("data", file=file),
        "tables": [(name, _url("data", file=file, name=name)) for name in FRAMES],
        "settings": pages.settings_of([*recorded.values()]),
        "cut_off": [row["run"] for row in rows if _cut_off(recorded[row["run"]], row)],
    }  # fmt: skip
    return rendered(request, "index.html", **content)


def _cut_off(run: RecordedRun, row: Mapping[Any, Any]) -> bool:
    """Whether a run is a game with people that can go on."""
    return HUMAN in run.minds and row["status"] not in {"running", "finished"}


def _ways_on(path: Path, run: RunData, row: Mapping[Any, Any]) -> dict[str, Any]:
    """The next steps with a run: resume it, or compare it with another."""
    recordings = listed(Path.cwd())
    parent = find_run(recordings, run.recorded.parent) if run.recorded.parent else None
    return {
        "problem_is_stop": row["problem"] in STOPPED,
        "resume": f"sabm resume {shlex.quote(str(path))}",
        "cut_off": _cut_off(run.recorded, row),
        "others": [recording.name for recording in recordings if not recording.problem],
        "forked": bool(run.recorded.parent),
        "parent": (str(parent[0]), parent[1]) if parent else None,
    }


@_for_hosts
def _find(request: Request) -> Response:
    """A search in a recording."""
    asked = request.query_params
    file, words = asked.get("file", ""), asked.get("words", "").strip()
    path, number, start = (
        place_of(file),
        _number(request, "run", 0),
        _number(request, "start", 0),
    )
    run = run_data(path, number)
    agent = _number(request, "agent", 0) if asked.get("agent", "").strip() else None
    result = search.find(
        path, words, kind=TEXTS.get(asked.get("texts", "")), agent=agent, start=start,
        run=None if asked.get("everywhere") else number,
        valid=RESULTS.get(asked.get("result", "")), most=MOST_HITS,
    )  # fmt: skip
    further = dict(asked) | {"start": start + MOST_HITS}
    content = {
        "run": pages.about_run(run.recorded, {"status": "", "problem": "", "rounds": 0}),
        "file": file, "links": _links(file), "asked": dict(asked),
        "texts": [*TEXTS], "results": [*RESULTS],
        "found": ("more than " if result.more else "") + count(result.total, "place"),
        "hits": [_hit(file, run, hit) for hit in result.hits],
        "more": _url("find", **further) if result.total > start + MOST_HITS else None,
    }  # fmt: skip
    return rendered(request, "find.html", **content)


def _hit(file: str, run: RunData, hit: Hit) -> dict[str, Any]:
    first = charts.counting_of(run)[1]
    anchor = (
        f"round-{hit.round + first}-message-{hit.call + 1}"
        if hit.kind == SAID
        else f"{hit.phase}-{hit.agent}-{hit.call + 1}"
    )
    where = [charts.name_in(run, hit.agent), hit.phase, charts.called(run, hit.round)]
    where += [f"run {hit.run}"] if hit.run != run.recorded.run else []
    one = {} if hit.kind == SAID else {"agent": hit.agent}
    url = _url(file=file, run=hit.run, round=hit.round + first, **one)
    return {
        "where": ", ".join(where), "kind": KINDS[hit.kind], "bad": hit.valid is False,
        "excerpt": hit.excerpt, "url": f"{url}#{anchor}",
    }  # fmt: skip


@_for_hosts
def _compare(request: Request) -> Response:
    """Two runs in one table, with their charts together."""
    run, other = _two(request)
    if run.recorded.uid == other.recorded.uid:
        raise RecordingError("This is the same run: choose another one.")
    rows = [
        Recorded(data.recorded.path, check=False).runs(data.recorded.run).to_dict("records")[0]
        for data in (run, other)
    ]
    asked = dict(request.query_params)
    content = pages.compare_page(
        run, other, rows, lambda name: _url("picture", **asked | {"chart": name})
    )
    sides = [
        _links(file).run(data.recorded.run)
        for file, data in zip((asked["file"], asked["with"]), (run, other), strict=True)
    ]
    return rendered(request, "compare.html", **content, sides=sides)


def _two(request: Request) -> tuple[RunData, RunData]:
    asked = request.query_params
    return (
        run_data(place_of(asked.get("file", "")), _number(request, "run", 0)),
        run_data(place_of(asked.get("with", "")), _number(request, "with_run", 0)),
    )


@_for_hosts
def _picture(request: Request) -> Response:
    """A chart of one or two runs, or the world after a round, as PNG."""
    asked = request.query_params
    if "with" in asked:
        drawn, subtitle = pages.both_charts(*_two(request)), ""
    else:
        run = run_data(place_of(asked.get("file", "")), _number(request, "run", 0))
        if "round" in asked:
            round_ = _number(request, "round", 0) - charts.counting_of(run)[1]
            png = pages.scene_png(run, round_)
            return Response(png or b"", 200 if png else 404, media_type="image/png")
        drawn, subtitle = charts.charts_of(run), charts.subtitle_of(run)
    for chart in drawn:
        if chart.name == asked.get("chart"):
            return Response(pages.chart_png(chart, subtitle), media_type="image/png")
    raise RecordingError("There is no such chart.")


@_for_hosts
def _data(request: Request) -> Response:
    """A recording as a file, or one of its tables as CSV."""
    asked = request.query_params
    path = place_of(asked.get("file", ""))
    runs, name = runs_of(path), asked.get("name", "")
    if not name:
        if "running" in set(runs["status"]):
            raise RecordingError("The recording is available when its runs have ended.")
        rest = None
        if path.with_name(f"{path.name}-wal").exists():  # its last rows are not in the file
            folder = Path(mkdtemp())
            copy_recording(path, folder / path.name)
            path, rest = folder / path.name, BackgroundTask(rmtree, folder)
        return FileResponse(
            path, filename=path.name, media_type="application/vnd.sqlite3", background=rest
        )
    if name not in FRAMES:
        raise RecordingError(f"There is no table {name!r}.")
    text = csv_of(getattr(Recorded(path), name)())
    named = "attachment; filename*=UTF-8''" + quote(f"{path.stem}-{name}.csv")
    return Response(text, media_type="text/csv", headers={"Content-Disposition": named})


@_for_hosts
def _go_on(request: Request) -> Response:
    """Continue an interrupted game with people."""
    path = place_of(request.query_params.get("file", ""))
    language = language_for(None, request.headers.get("accept-language"))
    take_up(session_of(request), path, _number(request, "run", 0), language)
    return RedirectResponse("/host", 303)


def _links(file: str) -> pages.Links:
    def url(**query: Any) -> str:
        return _url(file=file, **query)

    def picture(number: int, **query: Any) -> str:
        return _url("picture", file=file, run=number, **query)

    return pages.Links(
        runs=url(all=1),
        run=lambda number: url(run=number),
        round=lambda number, round_: url(run=number, round=round_),
        chart=lambda number, name: picture(number, chart=name),
        scene=lambda number, round_: picture(number, round=round_),
    )


def _url(page: str = "", /, **query: Any) -> str:
    where = f"{PATH}{'/' if page else ''}{page}"
    return f"{where}?{urlencode(query)}" if query else where


def _number(request: Request, name: str, default: int) -> int:
    """A whole number of the address.

    Raises:
        RecordingError: when it is none.
    """
    given = request.query_params.get(name, "")
    number = whole_in(given) if given else default
    if number is None:
        raise RecordingError(f"The address has no usable number for {name!r}.")
    return number


def _written(path: Path) -> str:
    """When a recording was written, in the server's local time."""
    written = datetime.fromtimestamp(stamp(path)[0][0] / 1e9).astimezone()
    return f"{written:%Y-%m-%d %H:%M}"
