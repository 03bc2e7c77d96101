"""Store the command of a folder, so that `sabm resume` can repeat it.

This applies to sweeps, experiments, audits and tournaments. Their recordings have the finished
runs, but neither the planned runs nor the settings of tables and reports. So such a command stores
its options in ``command.json`` before its first run. Options for connections, keys and the
isolation of minds from files are not stored: the resuming command gives them. Names in the file are
checked like those in a recording, since a folder may come from someone else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

from sabm_mesa.cli.options import (
    CALLED,
    FigureOptions,
    FileMindOptions,
    LLMOptions,
    SettingOptions,
)
from sabm_mesa.errors import RecordingError, one_line
from sabm_mesa.llm import Connection
from sabm_mesa.models import registry
from sabm_mesa.recording.export import make_folder, readable_json, write_text_file
from sabm_mesa.studies.experiments.running import EARLIER

COMMAND = "command.json"
REPEATED = ("sweep", "reproduce", "audit", "tournament")
"""The commands whose folders are resumed by running them again."""
_NOT_KEPT = {
    *(option.name for block in (LLMOptions, FileMindOptions) for option in fields(block)),
    "out", "as_json", "cost", "list_", "all_",
}  # fmt: skip
_REPEATING: ContextVar[bool] = ContextVar("repeating", default=False)


@dataclass(frozen=True)
class KeptCommand:
    """The command that filled a folder.

    Attributes:
        name: its name.
        options: option → value, from JSON.
        folder: the folder.
    """

    name: str
    options: Mapping[str, Any]
    folder: Path


def keep_command(folder: Path, **instead: Any) -> None:
    """Store the options of the current command in its folder.

    Args:
        folder: the folder; it is created when it does not exist.
        instead: options whose values the command determined; they replace the given values.

    Raises:
        OutputError: when the file cannot be written.
    """
    name, given = CALLED.get()
    if not name or _REPEATING.get():
        return
    kept = {key: value for key, value in {**given, **instead}.items() if key not in _NOT_KEPT}
    make_folder(folder)
    text = readable_json({"command": name, "options": kept}) + "\n"
    write_text_file(folder / COMMAND, text)


def runs_files() -> bool:
    """Return whether the command may run a file named in another file; False in a repeat."""
    return not _REPEATING.get()


def forget_command(folder: Path) -> None:
    """Remove the stored command of a folder after another command has written there.

    Args:
        folder: the folder.
    """
    with suppress(OSError):
        (folder / COMMAND).unlink(missing_ok=True)


def kept_command(recording: Path) -> KeptCommand | None:
    """Return the repeatable command in the folder of a recording, or None.

    Args:
        recording: the recording; earlier runs of an experiment, in their own recording, have the
            command of the experiment.

    Raises:
        RecordingError: when the file cannot be read.
    """
    folder = recording.parent
    with suppress(OSError, RuntimeError):  # a cycle of links; opening the recording reports it
        if not (folder / COMMAND).exists() and folder.resolve().name == EARLIER:
            folder = folder.parent
    path = folder / COMMAND
    try:
        kept = json.loads(path.read_text("utf-8"))
        name, options = kept["command"], dict(kept["options"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordingError(
            f"{path} is not a command of sabm ({one_line(repr(error))}): remove it, and run the "
            "command of this folder again."
        ) from None
    return KeptCommand(name, options, folder) if name in REPEATED else None


def repeat(
    kept: KeptCommand,
    connection: Connection,
    isolation: FileMindOptions,
    scenario: str | None,
    *,
    as_json: bool,
) -> None:
    """Run the command of a folder again: it continues where it stopped, and writes its files.

    Args:
        kept: the command.
        connection: how language models are reached.
        isolation: how minds from files are isolated.
        scenario: the file of a custom scenario.
        as_json: whether to print one JSON object.

    Raises:
        RecordingError: when its options cannot be used, or it names a scenario that is unknown
            here.
        SabmError: any error of the command.
    """
    from sabm_mesa.cli import COMMANDS

    named = _named_here(kept, scenario)
    _check_folder(kept)
    module = import_module(f"{__package__}.{COMMANDS[kept.name]}")
    command = getattr(module, kept.name).__wrapped__
    types = get_type_hints(command, include_extras=False)
    types.pop("return", None)
    options = {**named, "as_json": as_json, "out": _out(kept)}
    given: dict[str, Any] = {}
    for name, kind in types.items():
        if kind is LLMOptions:
            given[name] = _Agreed(connection)
        elif kind is FileMindOptions:
            given[name] = isolation
        elif kind in {SettingOptions, FigureOptions}:
            of_block = get_type_hints(kind)
            settings = {
                key: _read(of_block[key], options.pop(key)) for key in of_block if key in options
            }
            given[name] = kind(**settings)
        elif name in options:
            given[name] = _read(kind, options.pop(name))
        elif name in {"cost", "list_", "all_"}:
            given[name] = False
    token = _REPEATING.set(True)
    try:
        command(**given)
    except (TypeError, AttributeError) as error:
        raise RecordingError(
            f"{kept.folder / COMMAND} has options that this version cannot use "
            f"({one_line(str(error))}): run the command of this folder again."
        ) from error
    finally:
        _REPEATING.reset(token)


class _Agreed(LLMOptions):
    """The language-model options of a repeated command, with an existing connection."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(prices=Path(connection.prices) if connection.prices else None)
        object.__setattr__(self, "made", connection)

    def connection(self, recorded: Mapping[str, Any] | None = None) -> Connection:
        """Return the connection of the resuming command."""
        del recorded
        made: Connection = vars(self)["made"]
        return replace(made, agreed=made.agreed or frozenset())


def _out(kept: KeptCommand) -> Path:
    """Return the value of ``--out`` that leads to the folder."""
    if kept.name != "reproduce":
        return kept.folder
    return kept.folder.parent if kept.folder.name else kept.folder.resolve().parent


def _read(kind: Any, value: Any) -> Any:
    """Return the value of an option from JSON."""
    return Path(value) if value is not None and Path in {kind, *get_args(kind)} else value


def _named_here(kept: KeptCommand, scenario: str | None) -> dict[str, Any]:
    """Return the options of a command. A file that only the folder names is never imported."""
    options = dict(kept.options)
    name = str(options.get("name", ""))
    if kept.name in {"sweep", "tournament"} and registry.is_file(name):
        if scenario is None:
            raise RecordingError(
                f"{kept.folder / COMMAND} names the file {name!r} as its scenario. It is not run "
                "without your consent: give it with --scenario FILE.py."
            )
        options["name"] = scenario
    return options


def _check_folder(kept: KeptCommand) -> None:
    """Check that the folder has the name of its experiment; else files would go elsewhere."""
    from sabm_mesa.studies.experiments.design import load_experiment

    folder = kept.folder.resolve().name
    names = [load_experiment(str(name)).name for name in kept.options.get("names") or ()]
    if kept.name == "reproduce" and folder not in names:
        raise RecordingError(
            f"{kept.folder} holds the experiment {' and '.join(names)}: give the folder its name."
        )
