"""A recording as static pages that open without a server, as a supplement of a paper."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import draw
from sabm_mesa.analysis.pictures import draw_scene
from sabm_mesa.errors import OutputError
from sabm_mesa.llm.gguf import sha256_of
from sabm_mesa.minds.specs import describe_deciders
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.export import (
    new_folder,
    readable_json,
    write_picture,
    write_tables,
    write_text_file,
)
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.store import copy_recording
from sabm_mesa.recording.varied import SET, TAG, label_of, word_of
from sabm_mesa.studies.registration import FILE, TEXT, other_attempts
from sabm_mesa.visualization.records import charts, rounds
from sabm_mesa.visualization.records.store import RunData, read_run, values_by_name
from sabm_mesa.visualization.scenario_view import painting

RECORDING = "recording.sqlite"
MOST_PICTURES = 60
"""Maximum number of rounds with a picture each; longer runs have charts only."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_PLACE = files(__package__).joinpath("static")


def write_bundle(
    path: Path,
    folder: Path,
    runs: Sequence[int] | None = None,
    report: Callable[[str], None] = lambda _line: None,
) -> Path:
    """Write a recording as pages: runs, charts, rounds, messages, prompts and answers.

    The folder also contains the recording, its registration and its tables as CSV. The pages need
    no server and load no external files. Each round and message has an address.

    Args:
        path: the recording.
        folder: the folder; it must not exist.
        runs: the numbers of the runs; None: all.
        report: called with a line about each run before it is written.

    Returns:
        The folder.

    Raises:
        OutputError: when the folder cannot be written or already exists.
        RecordingError: when the recording cannot be read, or has no such run.
    """
    if folder.exists():
        raise OutputError(f"{folder} already exists: choose another name or place.")
    recorded = load_runs(path, None if runs is None else list(runs))
    frame = Recorded(path).runs()
    rows = {int(row["run"]): row for row in frame.to_dict("records")}
    pages = _pages()
    with new_folder(folder) as new:
        for run in recorded:
            report(f"run {run.run}")
            _write_run(pages, new, read_run(path, run.run), rows[run.run])
        copy_recording(path, new / RECORDING)
        digest = sha256_of(new / RECORDING)
        with Recorded(path).tables() as rows_of_all:
            tables = write_tables(new / "tables", rows_of_all, "csv")
        registration = _copy_registration(path.parent, new)
        content = {
            "runs": [_about_run(run, rows[run.run]) for run in recorded],
            "varied": [title for title, _ in values_by_name(frame).values()],
            "left_out": len(rows) - len(recorded),
            "recording": RECORDING,
            "digest": digest,
            "tables": [table.relative_to(new).as_posix() for table in tables],
            "registration": registration,
            "attempts": other_attempts(path.parent) if registration else [],
            "settings": [
                {
                    "run": run.run,
                    "parameters": readable_json(run.parameters),
                    "versions": readable_json(run.versions),
                    "connection": readable_json(run.connection),
                    "prompts": [
                        (name, run.texts.get(key, "")) for name, key in run.prompts.items()
                    ],
                }
                for run in _differing(recorded)
            ],
        }
        _write(new / "index.html", pages("index.html"), content)
    return folder


def _copy_registration(folder: Path, target: Path) -> list[str]:
    """Copy the registration beside a recording, if there is one, and return its files."""
    names = [name for name in (FILE, TEXT) if (folder / name).is_file()]
    for name in names:
        write_text_file(target / name, (folder / name).read_text("utf-8"))
    return names


def _write_run(pages: Any, folder: Path, run: RunData, row: dict[Any, Any]) -> None:
    home = f"run-{run.recorded.run}"
    (folder / home).mkdir()
    pictures = []
    for chart in charts.charts_of(run):
        with painting():
            png = style.to_png(draw(chart, charts.subtitle_of(run)))
        write_picture(folder / home / f"{chart.name}.png", png)
        pictures.append((f"{home}/{chart.name}.png", chart.title))
    many = len(run.rounds) > MOST_PICTURES
    messages = _messages(run)
    noun, first = charts.counting_of(run)
    about = _about_run(run.recorded, row) | {
        "noun": noun,
        "first": first,
        "called": lambda round_: charts.called(run, round_).capitalize(),
    }
    for at, round_ in enumerate(run.rounds):
        scenes = () if many else charts.scenes_of(run, round_)
        for scene in scenes[:1]:
            with painting():
                png = style.to_png(draw_scene(scene, charts.called(run, round_)))
            write_picture(folder / home / f"round-{round_ + first}.png", png)
        people = run.agents_of(round_).drop(columns=["run", "round"])
        numbers = run.model_of(round_).drop(columns=["run", "round"])
        content = {
            "run": about,
            "round": round_,
            "before": run.rounds[at - 1] if at else None,
            "after": run.rounds[at + 1] if at + 1 < len(run.rounds) else None,
            "numbers": [*zip(numbers.columns, *rounds.rows(numbers), strict=True)]
            if len(numbers)
            else [],
            "picture": (f"round-{round_ + first}.png", scenes[0].title) if scenes else None,
            "messages": messages.get(round_, []),
            "asks": rounds.exchanges_in(run, round_),
            "columns": [str(name) for name in people.columns],
            "people": rounds.rows(people),
        }
        _write(folder / home / f"round-{round_ + first}.html", pages("round.html"), content)
    data = run.model_data.drop(columns=["run"])
    data = data.assign(round=data["round"] + first).rename(columns={"round": noun})
    content = {
        "run": about,
        "home": home,
        "pictures": pictures,
        "rounds": run.rounds,
        "columns": [str(name) for name in data.columns],
        "rows": rounds.rows(data),
        "messages": sorted(messages.items()),
    }
    _write(folder / f"{home}.html", pages("run.html"), content)


def _about_run(run: Any, row: dict[Any, Any]) -> dict[str, Any]:
    """The facts of a run."""
    return {
        "number": run.run,
        "scenario": run.scenario,
        "condition": str(run.parameters.get("condition", "")),
        "label": label_of(row),
        "varied": [word_of(value) for name, value in row.items() if name.startswith((SET, TAG))],
        "minds": describe_deciders(run.minds, run.forks),
        "seed": "-".join(map(str, run.seed)),
        "status": run.status,
        "problem": run.problem,
        "rounds": row["rounds"],
        "asks": row["asks"],
        "invalid": row["invalid"],
        "tokens": row["prompt_tokens"] + row["completion_tokens"],
        "cost": rounds.dollars(row["cost_usd"]),
        "started": run.started,
        "forked": run.parent is not None,
        "measures": [(name, rounds.cell(value)) for name, value in run.measures.items()],
    }


def _messages(run: RunData) -> dict[int, list[tuple[str, ...]]]:
    """Round → speaker, hearers and words of its messages."""
    messages: dict[int, list[tuple[str, ...]]] = {}
    _, rows = rounds.messages_in(run, run.n_messages)
    for round_, _, *message in rows:
        messages.setdefault(round_, []).append(tuple(message))
    return messages


def _differing(recorded: Sequence[Any]) -> list[Any]:
    """The first run of each setting; runs that differ only in their seed share a setting."""
    first_runs: dict[str, Any] = {}
    for run in recorded:
        given = {name: value for name, value in run.parameters.items() if name != "rng"}
        key = readable_json([run.scenario, given, run.versions, run.connection, run.prompts])
        first_runs.setdefault(key, run)
    return list(first_runs.values())


def _pages() -> Callable[[str], Any]:
    """The templates by name; values are inserted as text, never as markup."""
    style, script = (_read(name) for name in ("bundle.css", "bundle.js"))
    environment = Environment(
        autoescape=True, loader=FunctionLoader(_read), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_plain,
    )  # fmt: skip
    digest = hashlib.sha256(script.encode()).digest()
    environment.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        "script_digest": b64encode(digest).decode(),
    }
    return environment.get_template


def _read(name: str) -> str:
    return _PLACE.joinpath(name).read_text("utf-8")


def _plain(value: Any) -> Any:
    """A text without the control characters that HTML does not allow."""
    return _CONTROLS.sub("\ufffd", value) if type(value) is str else value


def _write(path: Path, template: Any, content: dict[str, Any]) -> None:
    write_text_file(path, template.render(content))
