"""Commands of other packages, found by the entry points of the group ``sabm_mesa.commands``.

An entry point is a function with the options that `typer` reads from its annotations::

    [project.entry-points."sabm_mesa.commands"]
    heatmap = "my_package.commands:heatmap"
"""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points

from sabm_mesa.cli.app import app, say
from sabm_mesa.errors import UsageError, error_message, one_line

GROUP = "sabm_mesa.commands"
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def outside_commands(taken: Collection[str]) -> dict[str, EntryPoint]:
    """Return commands of other packages by name; of equal names, that of the first package.

    None replaces a command of this package.
    """
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point)))
    commands: dict[str, EntryPoint] = {}
    for point in points:
        if point.name not in taken:
            commands.setdefault(point.name, point)
    return commands


def add_outside(name: str, taken: Collection[str]) -> None:
    """Register the command of another package, or all such commands if none has this name.

    A command that cannot be loaded is an error when it is called by its name. When all commands are
    listed, one line on standard error reports it.
    """
    commands = outside_commands(taken)
    for point in [commands[name]] if name in commands else commands.values():
        try:
            _add(point)
        except UsageError as error:
            if point.name == name:
                raise
            say(f"sabm: {error}", err=True)


def _add(point: EntryPoint) -> None:
    where = f"The command {one_line(point.name)!r} of {_package(point)} cannot be used"
    fix = "fix that package, or uninstall it"
    if not _NAME.fullmatch(point.name):
        raise UsageError(
            f"{where}: its name must be lower-case letters, digits and hyphens; {fix}."
        )
    try:
        command = point.load()
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error_message(error)}"
        raise UsageError(f"{where}: {why}; {fix}.") from error
    if not callable(command) or isinstance(command, type):
        raise UsageError(f"{where}: {one_line(point.value)} is not a function; {fix}.")
    app.command(point.name)(command)


def _package(point: EntryPoint) -> str:
    dist = point.dist
    return "an unknown package" if dist is None else one_line(f"{dist.name} {dist.version}")
