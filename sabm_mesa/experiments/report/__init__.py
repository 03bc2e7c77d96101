"""The report of an experiment: tables, figures, and one text in Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from sabm_mesa.analysis.plots import image
from sabm_mesa.experiments import theory
from sabm_mesa.experiments.design import Experiment
from sabm_mesa.experiments.human import people
from sabm_mesa.experiments.report.content import content, index_content
from sabm_mesa.experiments.report.drawings import drawings
from sabm_mesa.experiments.report.headline import (
    decided_by,
    headline,
    language_models,
    lead,
    needed,
)
from sabm_mesa.experiments.report.page import markdown, page
from sabm_mesa.experiments.report.provenance import prompts
from sabm_mesa.experiments.results import Results
from sabm_mesa.recording.outputs import DPI, as_json, make_folder, write_whole, write_words

__all__ = [
    "check",
    "decided_by",
    "headline",
    "language_models",
    "lead",
    "needed",
    "write",
    "write_index",
]

FORMATS = ("png", "pdf", "svg")
FIGURES = "figures"


def check(experiment: Experiment) -> None:
    """Check before anything runs that there is what the report will draw beside the runs.

    Args:
        experiment: the experiment.

    Raises:
        UnknownName: for a theory or a distribution of people that does not exist.
    """
    for plot in experiment.plots:
        if plot.theory:
            theory.check(plot.theory)
        if plot.human:
            people(plot.human)


def write(results: Results, folder: Path) -> list[Path]:
    """Write all that is said of an experiment into its folder, each file whole or not at all.

    The same recording gives the same files, byte for byte.

    Args:
        results: what came out of it.
        folder: where its recording is.

    Returns:
        The files: tidy tables (``measures.csv``, ``estimates.csv``, ``comparisons.csv``,
        ``published.csv``, ``ratios.csv``, ``shares.csv``, ``verdicts.csv``, ``prompts.csv``,
        ``model.csv``, ``agents.csv``), ``figures/`` as PNG, PDF and SVG, ``report.md``,
        ``report.html`` (one file that needs no other) and, last, ``summary.json``.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder / FIGURES)
    summary = results.summary()
    ratios = results.ratios if len(results.ratios) else pd.DataFrame()
    tables = {
        "measures": results.measures,
        "estimates": results.estimates,
        "comparisons": results.comparisons,
        "published": results.courses,
        "ratios": ratios,
        "shares": results.shares,
        "verdicts": pd.DataFrame(summary["claims"]),
        "prompts": prompts(results),
        "model": results.outcome.model_data,
        "agents": results.outcome.agent_data,
    }
    files: dict[Path, Callable[[Path], object]] = {
        folder / f"{name}.csv": partial(table.to_csv, index=False)
        for name, table in tables.items()
        if len(table.columns)
    }
    drawn = drawings(results)
    for each in drawn:
        for ending in FORMATS:
            path = folder / FIGURES / f"{each.name}.{ending}"
            files[path] = partial(each.figure.savefig, dpi=DPI, metadata=_undated(ending))
    with image.repeatable():
        written = [write_whole(path, writing) for path, writing in files.items()]
    said = content(results, drawn)
    links = {each.name: f"{FIGURES}/{each.name}.png" for each in drawn}
    pictures = {name: (folder / link).read_bytes() for name, link in links.items()}
    texts = {
        "report.md": markdown("report", said, links),
        "report.html": page(said["title"], markdown("report", said), pictures),
        "summary.json": as_json(summary) + "\n",
    }
    return [*written, *(write_words(folder / name, text) for name, text in texts.items())]


def write_index(results: Sequence[Results], folder: Path) -> Path:
    """Write a page that lists several experiments with their verdicts, and links their reports.

    Args:
        results: the experiments; the report of each is in its folder below this one.
        folder: where to.

    Returns:
        ``index.html``; ``index.md`` stands beside it.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder)
    said = index_content(results)
    text = markdown("index", said)
    write_words(folder / "index.md", text)
    return write_words(folder / "index.html", page(said["title"], text, {}))


def _undated(ending: str) -> dict[str, None]:
    """Metadata without the date, so that the same runs give the same file."""
    return {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending, {})
