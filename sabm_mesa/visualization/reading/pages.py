"""The pages of a recording: served in a browser, or written as a bundle, with the same contents.

A page is a Jinja template and the content that a function of this module returns for it.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, draw
from sabm_mesa.analysis.pictures import draw_scene
from sabm_mesa.errors import RecordingError
from sabm_mesa.minds.specs import describe_deciders
from sabm_mesa.models.declarations import parameter_label
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.export import readable_json
from sabm_mesa.recording.varied import SET, TAG, label_of, word_of
from sabm_mesa.visualization.reading import charts, comparing, rounds
from sabm_mesa.visualization.reading.store import RunData, seed_of

WHO = frozenset({"agent", "mind"})
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_PLACE = files(__package__).joinpath("templates")


@dataclass(frozen=True)
class Links:
    """The addresses of the pages and pictures of a recording.

    Attributes:
        runs: the page of all runs.
        run: the page of a run, by its number.
        round: the page of a round, by the number of the run and the displayed number of the round.
        chart: a chart, by the number of the run and the name of the chart.
        scene: the world after a round, by the same numbers as `round`.
    """

    runs: str
    run: Callable[[int], str]
    round: Callable[[int, int], str]
    chart: Callable[[int, str], str]
    scene: Callable[[int, int], str]


def render(name: str, content: Mapping[str, Any]) -> str:
    """A page as HTML; values are inserted as text, never as markup.

    Args:
        content: the values in it.
    """
    return str(_environment().get_template(name).render(content))


def about_run(run: RecordedRun, row: Mapping[Any, Any]) -> dict[str, Any]:
    """The facts of a run.

    Args:
        row: its row of `Recorded.runs`, with or without counts.
    """
    counted, titles = "asks" in row, charts.titles_in(RunData(run))
    return {
        "number": run.run,
        "title": title_of(run),
        "scenario": run.scenario,
        "condition": str(run.parameters.get("condition", "")),
        "label": label_of(row),
        "varied": [word_of(value) for name, value in row.items() if name.startswith((SET, TAG))],
        "minds": describe_deciders(run.minds, run.forks),
        "seed": seed_of(run),
        "status": row["status"],
        "problem": rounds.text(row["problem"]),
        "rounds": row["rounds"],
        "asks": row["asks"] if counted else None,
        "invalid": row["invalid"] if counted else None,
        "tokens": row["prompt_tokens"] + row["completion_tokens"] if counted else None,
        "cost": rounds.dollars(row["cost_usd"]) if counted else None,
        "started": f"{_started(run)} UTC",
        "measures": [(titles[name], rounds.cell(value)) for name, value in run.measures.items()],
    }


def title_of(run: RecordedRun) -> str:
    """The scenario and the date of a run."""
    return f"{charts.title_of(run)}, {_started(run)}"


def _started(run: RecordedRun) -> str:
    """The minute in which a run started, in UTC."""
    return run.started[:16].replace("T", " ")


def settings_of(runs: Sequence[RecordedRun]) -> list[dict[str, Any]]:
    """The settings of runs, once for all runs that differ only in their seed."""
    first_runs: dict[str, RecordedRun] = {}
    for run in runs:
        given = {name: value for name, value in run.parameters.items() if name != "rng"}
        key = readable_json([run.scenario, given, run.versions, run.connection, run.prompts])
        first_runs.setdefault(key, run)
    return [
        {
            "run": run.run,
            "parameters": readable_json(run.parameters),
            "versions": readable_json(run.versions),
            "connection": readable_json(run.connection),
            "prompts": [(name, run.texts.get(key, "")) for name, key in run.prompts.items()],
        }
        for run in first_runs.values()
    ]


def run_page(run: RunData, row: Mapping[Any, Any], links: Links) -> dict[str, Any]:
    """The content of ``run.html``: facts, charts, data by round and the conversation.

    Args:
        row: its row of `Recorded.runs`.
        links: the addresses of other pages.
    """
    noun, first = charts.counting_of(run)
    data, word = run.model_data.drop(columns=["run"]), noun.capitalize()
    data = data.assign(round=[charts.number_of(run, round_) for round_ in data["round"]])
    everything = range(max(run.rounds, default=-1) + 1)
    said = rounds.messages_of(run, everything) if run.events["talk"] else {}
    return {
        "run": about_run(run.recorded, row),
        "links": links,
        "noun": noun,
        "timeline": timeline(run, links),
        "changes": comparing.changes(run, lambda n: charts.called(run, n)),
        "charts": [
            (links.chart(run.recorded.run, chart.name), chart.title)
            for chart in charts.charts_of(run)
        ],
        "data": tables_of(run, data.rename(columns={"round": word}), word),
        "messages": [
            (charts.called(run, round_).capitalize(), round_ + first, talk)
            for round_, talk in sorted(said.items())
        ],
    }


def round_page(
    run: RunData,
    row: Mapping[Any, Any],
    round_: int,
    links: Links,
    *,
    pictured: bool = True,
    most: int | None = None,
    agent: int | None = None,
) -> dict[str, Any]:
    """The content of ``round.html``: numbers, world, messages, asks and agents of a round.

    Args:
        row: its row of `Recorded.runs`.
        links: the addresses of other pages.
        pictured: whether it shows the world.
        most: the maximum number of asks and agents; None: all.
        agent: only the asks and data of this agent.

    Raises:
        RecordingError: when the run has no such round, or the recording cannot be read.
    """
    noun, first = charts.counting_of(run)
    if round_ not in run.rounds:
        raise RecordingError(f"The run has no {noun} {round_ + first}.")
    people, asks = run.agents_of(round_), rounds.exchanges_in(run, round_)
    if agent is not None:
        people = people[people["agent"] == agent]
        asks = [ask for ask in asks if ask["agent"] == agent]
    scenes = charts.scenes_of(run, round_)[:1] if pictured else ()
    numbers = run.model_of(round_).drop(columns=["run", "round"])
    facts = tables_of(run, numbers)
    return {
        "run": about_run(run.recorded, row),
        "links": links,
        "noun": noun,
        "called": charts.called(run, round_).capitalize(),
        "number": round_ + first,
        "timeline": timeline(run, links, round_),
        "facts": [list(zip(names, *cells, strict=True)) if cells else [] for names, cells in facts],
        "picture": (links.scene(run.recorded.run, round_ + first), scenes[0].title)
        if scenes
        else None,
        "messages": rounds.messages_of(run, range(round_, round_ + 1)).get(round_, []),
        "asks": asks[:most],
        "n_asks": len(asks),
        "agent": agent,
        "people": tables_of(run, people.drop(columns=["run", "round"])[:most]),
        "n_people": len(people),
        "named": lambda agent: charts.name_in(run, agent),
    }


def timeline(run: RunData, links: Links, now: int | None = None) -> list[dict[str, Any]]:
    """The rounds of a run with their addresses, and what happened in each.

    Args:
        links: the addresses of other pages.
        now: the shown round.
    """
    _, first = charts.counting_of(run)
    return [
        {
            "number": charts.number_of(run, round_),
            "called": charts.called(run, round_).capitalize(),
            "url": links.round(run.recorded.run, round_ + first),
            "events": [what for what, where in run.events.items() if round_ in where],
            "now": round_ == now,
        }
        for round_ in run.rounds
    ]


def tables_of(
    run: RunData, data: pd.DataFrame, *keys: str
) -> list[tuple[list[str], list[list[str]]]]:
    """Titles and cells of the columns of a scenario, and of the technical columns.

    Args:
        data: rows of its data.
        keys: columns that come first.
    """
    titles, declared = charts.titles_in(run), charts.own_columns(run) | WHO
    own = [*keys, *(name for name in data.columns if name in declared)]
    technical = [name for name in data.columns if name not in own]
    if technical and "agent" in own:
        technical = ["agent", *technical]
    return [
        ([titles[str(name)] for name in names], rounds.rows(data[names]))
        for names in (own, technical)
    ]


def compare_page(
    run: RunData, other: RunData, rows: Iterable[Mapping[Any, Any]], chart: Callable[[str], str]
) -> dict[str, Any]:
    """The content of ``compare.html``: what differs in two runs, and their charts together.

    Args:
        rows: the rows of both in `Recorded.runs`, with counts.
        chart: returns the address of a chart by its name.
    """
    one, two = (about_run(data.recorded, row) for data, row in zip((run, other), rows, strict=True))
    where = comparing.first_difference(run, other)
    facts = {
        "Started": "started", "Status": "status", "Minds": "minds", "Rounds": "rounds",
        "Asks": "asks", "Invalid answers": "invalid", "Tokens": "tokens", "Cost": "cost",
    }  # fmt: skip
    table = [(title, str(one[key]), str(two[key])) for title, key in facts.items()]
    table += [(parameter_label(p), a, b) for p, a, b in comparing.parameters(run, other)]
    measures = [dict(about["measures"]) for about in (one, two)]
    for name in dict.fromkeys([*measures[0], *measures[1]]):
        ends = [each.get(name, "–") for each in measures]
        table.append((f"At the end: {name}", ends[0], ends[1]))
    changes = ["; ".join(comparing.changes(data, lambda n: charts.called(run, n))) or "–"
               for data in (run, other)]  # fmt: skip
    table.append(("Changed during the run", changes[0], changes[1]))
    return {
        "scenario": charts.title_of(run.recorded),
        "names": names_of(run, other),
        "table": [(name, a, b) for name, a, b in table if a != b],
        "difference": "All data of both runs are the same."
        if where is None
        else where.words(lambda n: charts.called(run, n), charts.titles_in(run)),
        "charts": [(chart(drawn.name), drawn.title) for drawn in both_charts(run, other)],
    }


def both_charts(run: RunData, other: RunData) -> tuple[Chart, ...]:
    """The charts of two runs together."""
    return charts.both(run, other, names_of(run, other))


def names_of(run: RunData, other: RunData) -> tuple[str, str]:
    """Names that distinguish two runs, also in a picture of its own."""
    names = [f"run {data.recorded.run}, {_started(data.recorded)}" for data in (run, other)]
    if run.recorded.path != other.recorded.path:
        names = [
            f"{data.recorded.path.resolve().parent.name}/{data.recorded.path.stem}, {name}"
            for data, name in zip((run, other), names, strict=True)
        ]
    return names[0], names[1]


def chart_png(chart: Chart, subtitle: str) -> bytes:
    """A chart as a picture.

    Args:
        subtitle: the line below its title.
    """
    with style.drawing_lock:
        return style.to_png(draw(chart, subtitle))


def scene_png(run: RunData, round_: int) -> bytes | None:
    """The world after a round as a picture; None if the scenario has none."""
    for scene in charts.scenes_of(run, round_)[:1]:
        with style.drawing_lock:
            return style.to_png(draw_scene(scene, charts.called(run, round_)))
    return None


@cache
def _environment() -> Environment:
    styles, script = (_read(name) for name in ("reading.css", "reading.js"))
    environment = Environment(
        autoescape=True, loader=FunctionLoader(_read), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_plain,
    )  # fmt: skip
    digest = hashlib.sha256(script.encode()).digest()
    environment.globals |= {
        "style": Markup(styles),
        "script": Markup(script),
        "script_digest": b64encode(digest).decode(),
        "served": None,
    }
    return environment


def _read(name: str) -> str:
    return _PLACE.joinpath(name).read_text("utf-8")


def _plain(value: Any) -> Any:
    """A text without the control characters that HTML does not allow."""
    return _CONTROLS.sub("\ufffd", value) if type(value) is str else value
