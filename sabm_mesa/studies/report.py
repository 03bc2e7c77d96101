"""The report of a study, and its three renderers: terminal, Markdown with HTML, and JSON.

A study returns one `Report`. Its tables are data frames with the columns that readers see: the same
frame is a table in the terminal, in Markdown and HTML, a CSV file, and records in JSON.
"""

from __future__ import annotations

import base64
import io
import math
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from sabm_mesa.recording.export import (
    readable_json,
    write_file,
    write_frames,
)
from sabm_mesa.studies.page import (
    NONE,
    Verbatim,
    estimate,
    exact,
    fence,
    html,
    markdown,
    number,
    p_value,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 120
"""The width of tables where the terminal does not say its own, such as in a file."""
WORD = 24
"""The maximum length of a single word that a table does not break."""
P_VALUES = ("p", "p_holm")
EXACT = ("published",)
"""Columns whose numbers are shown with all their digits."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a report.

    Attributes:
        name: its key in JSON, and the name of its CSV file.
        frame: the data.
        columns: column → heading, for readers; a tuple of three columns is an estimate with its
            interval. JSON and CSV have all columns of the frame. A table without columns is in
            JSON and CSV alone.
        title: its title.
        note: a sentence below it.
        shares: the columns with shares from 0 to 1, which readers see in per cent.
        most: the maximum number of rows that readers see; 0: all.
        pages_only: whether the terminal leaves it out.
    """

    name: str
    frame: pd.DataFrame
    columns: Mapping[str | tuple[str, str, str], str]
    title: str = ""
    note: str = ""
    shares: Collection[str] = ()
    most: int = 0
    pages_only: bool = False

    def shown(self) -> list[tuple[str, bool, list[str]]]:
        """The heading of each column that has a text, whether it has numbers, and its cells."""
        rows = (self.frame.head(self.most) if self.most else self.frame).to_dict("records")
        columns = [
            (
                heading,
                isinstance(column, tuple) or self.frame[column].dtype.kind in "iuf",
                [self._cell(column, row) for row in rows],
            )
            for column, heading in self.columns.items()
        ]
        return [column for column in columns if any(column[2])]

    @property
    def remark(self) -> str:
        """The note, and the number of rows that readers do not see."""
        more = len(self.frame) - self.most if self.most else 0
        left = (
            f"{self.most} of {len(self.frame)} rows; all are in {self.name}.csv."
            if more > 0
            else ""
        )
        return " ".join(filter(None, (self.note, left)))

    def _cell(self, column: str | tuple[str, str, str], row: Mapping[Any, Any]) -> str:
        if isinstance(column, tuple):
            return estimate(*(float(row[name]) for name in column))
        value = row[column]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return NONE
        if isinstance(value, bool):
            return "yes" if value else "no"
        if column in P_VALUES:
            return p_value(value)
        if column in EXACT:
            return exact(value)
        if column in self.shares:
            return percent(value)
        if isinstance(value, float):
            return number(value)
        if isinstance(value, Verbatim):
            return value
        return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, eq=False)
class Report:
    """The results of a study.

    Attributes:
        title: its title.
        lead: the result in a few sentences.
        warnings: what a reader must know before the numbers.
        tables: the tables.
        figures: name → figure.
        facts: further results as JSON values; readers of pages see texts and numbers.
        notes: how the numbers were made, for readers of pages.
        next_commands: commands that continue from here.
        captions: figure → the sentence below it.
    """

    title: str
    lead: str = ""
    warnings: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    next_commands: Sequence[str] = ()
    captions: Mapping[str, str] = field(default_factory=dict)


def _seen(report: Report) -> list[Table]:
    return [table for table in report.tables if table.columns]


def in_terminal(report: Report, width: int | None = None) -> str:
    """A report for the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    text = io.StringIO()
    width = width or shutil.get_terminal_size((WIDTH, 24)).columns
    console = Console(file=text, width=width, color_system=None)

    def line(words: str) -> None:
        console.print(Text(words), soft_wrap=True)

    line(report.title)
    if report.lead:
        line(report.lead)
    for warning in report.warnings:
        line(f"Warning: {warning}")
    for table in (table for table in _seen(report) if not table.pages_only):
        if table.title:
            line(f"\n{table.title}")
        grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
        shown = table.shown()
        for heading, numerical, cells in shown:
            side: Literal["right", "left"] = "right" if numerical else "left"
            texts = (heading, *cells)
            whole = not any(" " in text for text in texts) and max(map(len, texts)) <= WORD
            grid.add_column(Text(heading), justify=side, overflow="fold", no_wrap=whole)
        for row in zip(*(cells for *_, cells in shown), strict=True):
            grid.add_row(*map(Text, row))
        console.print(grid)
        if table.remark:
            line(table.remark)
    for command in report.next_commands:
        line(f"Next: {command}")
    return "\n".join(words.rstrip() for words in text.getvalue().rstrip().split("\n"))


def _content(report: Report, addresses: Mapping[str, str]) -> dict[str, Any]:
    """The values of both templates; `addresses` are those of the figures."""
    tables = [(table, table.shown()) for table in _seen(report)]
    return {
        "title": report.title,
        "lead": report.lead,
        "warnings": report.warnings,
        "tables": [
            {
                "title": table.title,
                "heads": [heading for heading, *_ in shown],
                "right": [right for _, right, _ in shown],
                "rows": list(zip(*(cells for *_, cells in shown), strict=True)),
                "remark": table.remark,
            }
            for table, shown in tables
        ],
        "figures": [
            (Verbatim(addresses.get(name, f"{name}.png")), report.captions.get(name, ""), name)
            for name in report.figures
        ],
        "facts": [
            (name.replace("_", " "), value)
            for name, value in report.facts.items()
            if isinstance(value, str | int | float) and value != ""
        ],
        "notes": report.notes,
    }


def as_markdown(report: Report, addresses: Mapping[str, str] | None = None) -> str:
    """A report as Markdown, for a paper or its supplement; figures have their addresses."""
    commands = {
        "fence": fence(report.next_commands),
        "commands": [Verbatim(command) for command in report.next_commands],
    }
    return markdown(_file("report.md.jinja"), _content(report, addresses or {}) | commands)


def as_html(report: Report, pictures: Mapping[str, bytes]) -> str:
    """A report as one HTML file with its pictures, without scripts."""
    inline = {
        name: f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        for name, picture in pictures.items()
    }
    more = {"style": _file("page.css"), "commands": report.next_commands}
    return html(_file("report.html.jinja"), _content(report, inline) | more)


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def as_json(report: Report) -> dict[str, Any]:
    """A report as JSON values: the facts, the warnings, and each table as records."""
    tables = {table.name: table.frame.to_dict("records") for table in report.tables}
    return {**report.facts, "warnings": list(report.warnings), **tables}


def write(report: Report, folder: Path, name: str, prefix: str = "") -> list[Path]:
    """Write a report: ``NAME.md``, ``NAME.html``, ``NAME.json``, its tables and figures.

    The prefix begins the names of tables and figures.

    Raises:
        OutputError: when a file cannot be written.
    """
    from sabm_mesa.analysis.plot_style import to_png, write_figures

    frames = {f"{prefix}{table.name}": table.frame for table in report.tables}
    written = write_frames(folder, frames, "csv")
    pictures = {figure: to_png(drawing) for figure, drawing in report.figures.items()}
    drawn = {f"{prefix}{figure}": drawing for figure, drawing in report.figures.items()}
    figures = write_figures(folder, drawn, write_file)
    addresses = {path.stem.removeprefix(prefix): path.name for path in reversed(figures)}
    texts = {
        f"{name}.md": as_markdown(report, addresses),
        f"{name}.html": as_html(report, pictures),
        f"{name}.json": readable_json(as_json(report)) + "\n",
    }
    return [*written, *figures, *(write_file(folder / n, text) for n, text in texts.items())]
