"""Descriptions of a bundle for archives: an RO-Crate of the files and a data package of the tables.

The data package (``datapackage.json``, Frictionless Data Package 1) states the type, the meaning
and the unit of each column. Meanings come from the docstrings and texts of the scenario, limits
from its declarations. The optional dependency `rocrate` writes the RO-Crate
(``ro-crate-metadata.json``, version 1.1).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from sabm_mesa import __version__
from sabm_mesa.describe.docstrings import arguments
from sabm_mesa.describe.odd import column_meanings
from sabm_mesa.describe.subject import of_scenario
from sabm_mesa.errors import RecordingError, UsageError
from sabm_mesa.llm.gguf import sha256_of
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.export import readable_json, write_text_file
from sabm_mesa.recording.varied import SET, TAG
from sabm_mesa.runs.rerun import class_of

PACKAGE, CRATE = "datapackage.json", "ro-crate-metadata.json"
NEEDED = (
    f"{CRATE} was left out: it is written by rocrate, which is not installed: pip install "
    "'sabm-mesa[archive]'"
)
NO_LICENSE = "No licence is stated: ask the authors."
_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}
_MEDIA = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".sqlite": "application/vnd.sqlite3",
}
Types = Mapping[str, Mapping[str, type]]
"""Table → column → type of its values."""


class Rights(NamedTuple):
    """Licence and authors of a bundle; a recording does not contain them.

    Attributes:
        license: the address or the name of the licence; ``""``: not stated.
        authors: the names of the authors.
    """

    license: str = ""
    authors: Sequence[str] = ()

    @property
    def has_address(self) -> bool:
        """Whether the licence is an address."""
        return self.license.startswith(("https://", "http://"))


UNSTATED = Rights()


def write_package(
    folder: Path,
    tables: Sequence[Path],
    types: Types,
    runs: Sequence[RecordedRun],
    rights: Rights = UNSTATED,
) -> Path:
    """Write the description of the tables: a data package.

    Args:
        folder: the folder of the bundle.
        tables: the files of the tables, named after the tables.
        types: the columns of the tables with their types.
        runs: the runs, for the declarations of their scenarios.
        rights: the licence and the authors.

    Raises:
        OutputError: when it cannot be written.
    """
    meanings, bounds = _declared(runs)
    resources = []
    for path in tables:
        table = path.stem
        resources.append(
            {
                "name": table,
                "path": path.relative_to(folder).as_posix(),
                "description": _codebook()["tables"][table],
                "profile": "tabular-data-resource",
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "bytes": path.stat().st_size,
                "hash": f"sha256:{sha256_of(path)}",
                "dialect": {"delimiter": ",", "lineTerminator": "\r\n", "quoteChar": '"'},
                "schema": {
                    "fields": [
                        _field(table, column, kind, meanings, bounds)
                        for column, kind in types[table].items()
                    ],
                    "missingValues": [""],
                },
            }
        )
    package = {
        "profile": "tabular-data-package",
        "name": "sabm-mesa-tables",
        "title": f"Tables of recorded runs: {_scenarios(runs)}",
        "description": "A text that a spreadsheet would compute begins with an apostrophe.",
        "created": _last(runs),
        "resources": resources,
    }
    if rights.license:
        key = "path" if rights.has_address else "title"
        package["licenses"] = [{key: rights.license}]
    if rights.authors:
        package["contributors"] = [{"title": name, "role": "author"} for name in rights.authors]
    return write_text_file(folder / PACKAGE, readable_json(package) + "\n")


def _field(
    table: str,
    column: str,
    kind: type,
    meanings: Mapping[str, Mapping[str, str]],
    bounds: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    """The entry of a column in the data package."""
    known: Mapping[str, Any] = _codebook()["columns"]
    of_table = meanings.get(table, {})
    text = (
        of_table.get(column)
        or _codebook()["own"].get(table, {}).get(column)
        or known.get(column, "")
    )
    if column.startswith(SET):
        name = column.removeprefix(SET)
        text = f"Parameter {name}, which differs between the runs: {meanings['set'].get(name, '')}"
    elif column.startswith(TAG):
        text = f"Label {column.removeprefix(TAG)} that the command gave the run."
    entry: dict[str, Any] = {"name": column, "type": _TYPES.get(kind, "any")}
    if kind is bool:
        entry |= {"trueValues": ["True"], "falseValues": ["False"]}
    if text:
        entry["description"] = text[0].upper() + text[1:].strip().removesuffix(":")
    if unit := _codebook()["units"].get(column):
        entry["unit"] = unit
    if table in ("model_data", "agent_data") and column in bounds and kind in (int, float):
        low, high = bounds[column]
        limits = {"minimum": low, "maximum": high}
        entry["constraints"] = {k: kind(v) for k, v in limits.items() if math.isfinite(v)}
    return entry


def _declared(
    runs: Sequence[RecordedRun],
) -> tuple[dict[str, dict[str, str]], dict[str, tuple[float, float]]]:
    """Meanings and limits of columns, as declared by the scenarios of the runs.

    Returns:
        Table → column → meaning, with the meanings of parameters under ``set``; column → limits.
    """
    meanings_by_table: dict[str, dict[str, str]] = {"model_data": {}, "agent_data": {}, "set": {}}
    bounds: dict[str, tuple[float, float]] = {}
    for run in {run.scenario: run for run in reversed(runs)}.values():
        try:
            # With default parameters, since those of a recording are not trusted.
            model = of_scenario(class_of(run), {}).model
        except (UsageError, RecordingError):
            continue  # no description without the installed scenario
        of_model, of_agents = column_meanings(model)
        declared = (
            ("model_data", of_model),
            ("agent_data", of_agents),
            ("set", arguments(type(model))),
        )
        for table, meanings in declared:
            for column, meaning in meanings.items():
                known = meanings_by_table[table].get(column) or meaning
                several = known if meaning in known else f"{known} In {run.scenario}: {meaning}"
                meanings_by_table[table][column] = several
        for column, (low, high) in model.column_bounds.items():
            before = bounds.get(column, (low, high))
            bounds[column] = min(low, before[0]), max(high, before[1])
    return meanings_by_table, bounds


def write_crate(
    folder: Path, runs: Sequence[RecordedRun], rights: Rights = UNSTATED, notes: Sequence[str] = ()
) -> Path | None:
    """Write the description of the files of a bundle: an RO-Crate.

    Args:
        folder: the folder of the bundle, with all its other files.
        runs: the runs.
        rights: the licence and the authors.
        notes: further sentences for the readers of the archive.

    Returns:
        The file, or None if `rocrate` is not installed.
    """
    try:
        from rocrate.model.contextentity import ContextEntity
        from rocrate.rocrate import ROCrate
    except ImportError:
        return None
    crate = ROCrate(version="1.1")
    crate.name = f"Recorded runs: {_scenarios(runs)}"
    n = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    crate.description = " ".join(
        [
            f"Prompts, answers and data of {n} of agent-based models, with pages to read them.",
            *notes,
        ]
    )
    # RO-Crate 1.1 defines no property for a digest.
    crate.metadata.extra_terms = {"sha256": "https://schema.org/sha256"}
    crate.root_dataset["datePublished"] = _last(runs)
    program = crate.add(
        ContextEntity(
            crate,
            "#sabm-mesa",
            properties={
                "@type": "SoftwareApplication",
                "name": "sabm-mesa",
                "softwareVersion": __version__,
            },
        )
    )
    crate.license = rights.license or NO_LICENSE
    if rights.has_address:
        what = {"@type": "CreativeWork", "name": rights.license, "description": "Licence"}
        crate.license = crate.add(ContextEntity(crate, rights.license, properties=what))
    people = [
        crate.add(ContextEntity(crate, f"#author-{i}", {"@type": "Person", "name": name}))
        for i, name in enumerate(rights.authors, 1)
    ]
    if people:
        crate.root_dataset["author"] = people
    described: dict[str, str] = _codebook()["tables"]
    entities = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if (
            path.is_file()
            and path.suffix in _MEDIA
            and name != CRATE
            and not name.startswith("run-")
        ):
            about = described.get(path.stem, _ABOUT.get(path.name, ""))
            properties = {
                "name": path.name,
                "encodingFormat": _MEDIA[path.suffix],
                "contentSize": str(path.stat().st_size),
                "sha256": sha256_of(path),
            }
            properties |= {"description": about} if about else {}
            entities[path.name] = crate.add_file(path, name, properties=properties)
    for run in runs:
        home = f"run-{run.run}"
        if (folder / home).is_dir():
            minds = ", ".join(run.minds)
            description = (
                f"Pages and pictures of run {run.run}: {run.scenario}, decided by {minds}."
            )
            crate.add_directory(
                folder / home,
                f"{home}/",
                properties={"name": f"Run {run.run}", "description": description},
            )
    crate.add(
        ContextEntity(
            crate,
            "#runs",
            properties={
                "@type": "CreateAction",
                "name": "The runs",
                "startTime": min(run.started for run in runs),
                "endTime": _last(runs),
                "instrument": {"@id": program.id},
                "result": {"@id": entities["recording.sqlite"].id},
            },
        )
    )
    crate.mainEntity = entities["recording.sqlite"]
    crate.metadata.write(folder)
    return folder / CRATE


_ABOUT = {
    "index.html": "The list of the runs, from which all pages are reached.",
    "recording.sqlite": "The recording: all runs with their questions, answers, messages and data.",
    PACKAGE: "The columns of the tables: types, meanings and units (Frictionless Data Package).",
    "registration.json": "What was decided before the runs, under one SHA-256.",
    "registration.md": "The registration in words.",
}


def _scenarios(runs: Sequence[RecordedRun]) -> str:
    return ", ".join(dict.fromkeys(run.scenario for run in runs))


def _last(runs: Sequence[RecordedRun]) -> str:
    """The start of the last run in UTC, so that the same recording gives the same file."""
    return max(run.started for run in runs)


@cache
def _codebook() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("codebook.toml").read_text("utf-8"))
