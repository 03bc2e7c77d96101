"""The command line: ``sabm``."""

from __future__ import annotations

import json
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Sequence
from contextvars import copy_context
from importlib import import_module
from typing import TYPE_CHECKING

from typer.exceptions import TyperException

from sabm_mesa.cli.app import app, say
from sabm_mesa.errors import MissingKey, SabmError, one_line

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["COMMANDS", "command_line", "main"]

COMMANDS = {
    "audit": "audit",
    "bundle": "bundle",
    "check": "check",
    "cost": "cost",
    "describe": "describe",
    "scenarios": "describe",
    "doctor": "doctor",
    "export": "export",
    "fit": "fit",
    "compare": "compare",
    "import": "import_",
    "judge": "judge",
    "models": "models",
    "new": "new",
    "play": "play",
    "probe": "probe",
    "register": "register",
    "reproduce": "reproduce",
    "replay": "rerun",
    "resume": "rerun",
    "fork": "rerun",
    "run": "run",
    "sweep": "sweep",
    "tournament": "tournament",
    "view": "view",
}
"""Command → the module of this package that defines it."""
_INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def command_line(command: str = "") -> Typer:
    """Return the command line with one command, or with all commands if the name is unknown.

    Only the requested command is imported: importing all of them takes longer than running a small
    one.

    Raises:
        UsageError: if the command belongs to another package and cannot be loaded.
    """
    if command in COMMANDS:
        import_module(f"{__name__}.{COMMANDS[command]}")
        return app
    from sabm_mesa.cli.outside import add_outside

    for module in dict.fromkeys(COMMANDS.values()):
        import_module(f"{__name__}.{module}")
    add_outside(command, COMMANDS)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Every expected failure prints a short message on standard error.

    Raises:
        SystemExit: always, with the exit status.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    # No warning for glyphs that the font of the plots lacks, such as those in a model's name.
    warnings.filterwarnings("ignore", "Glyph .* missing from")
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        command = command_line(*arguments[:1])
        # Settings of a command, such as the look of its figures, end with the command.
        status = copy_context().run(command, args=arguments, standalone_mode=False, obj=arguments)
        if status == _INTERRUPTED:
            say("sabm: Stopped.", err=True)
    except TyperException as error:
        message = error.format_message()
        if isinstance(name := getattr(error, "option_name", None), str) and "No such" in message:
            message = right_option(name, arguments) or message
        status = _fail(message, error.exit_code, "--json" in arguments)
    except MissingKey as error:
        status = _fail(error.problem, error.exit_status, "--json" in arguments, error.ways)
    except SabmError as error:
        status = _fail(str(error), error.exit_status, "--json" in arguments)
    except MemoryError:
        too_large = "That does not fit into memory: choose fewer agents, rounds or runs at once."
        status = _fail(too_large, 1, "--json" in arguments)
    except OSError as error:  # such as a file name that is too long, or a full disk
        name = str(error.filename or "")
        what = f"{name if len(name) <= 80 else f'{name[:40]}…{name[-30:]}'}: " if name else ""
        status = _fail(f"Failed: {what}{error.strerror or error}.", 1, "--json" in arguments)
    sys.exit(status or 0)


_RIGHT = {
    "--model": "--minds llm:MODEL", "--models": "--minds llm:MODEL", "--mind": "--minds SPEC",
    "--llm": "--minds llm:MODEL", "--persona": "--set personas=NAME", "--budget": "--budget-usd",
    "--output": "--out", "--folder": "--out", "--url": "--base-url", "--max-usd": "--budget-usd",
    "--conditions": "--condition", "--round": "--rounds", "--repeats": "--runs",
    "--concurrency": "--max-concurrency",
}  # fmt: skip
"""A wrong option that people try → the right one."""


def right_option(name: str, arguments: Sequence[str]) -> str:
    """Return a hint on the right option for an unknown one; ``""`` when no known one is similar."""
    from sabm_mesa.core.parameters import parameters_of
    from sabm_mesa.errors import UsageError
    from sabm_mesa.models import registry

    right = _RIGHT.get(name, "")
    if not right and len(arguments) > 1 and arguments[1] in registry.names():
        parameter = name.removeprefix("--").replace("-", "_")
        try:
            known = parameters_of(registry.scenario(arguments[1]))
        except UsageError:
            known = {}
        other_names = {"n_rounds": "--rounds", "rng": "--seed"}
        if parameter in known:
            right = other_names.get(parameter, f"--set {parameter}=VALUE")
    if arguments[:1] == ["sweep"] and right.startswith("--set "):
        right = f"--vary {right.split()[1].partition('=')[0]}=A,B"
    if not right or right.split()[0] not in _options_of(arguments[0]):
        return ""
    return f"No such option: {name}. Use {right}"


def _options_of(command: str) -> set[str]:
    """Return the options of a command, with their dashes."""
    from typer.main import get_command

    every = get_command(command_line(command))
    known = getattr(every, "commands", {}).get(command, every)
    return {word for parameter in known.params for word in parameter.opts}


def _fail(message: str, status: int, as_json: bool, ways: Iterable[str] = ()) -> int:
    several = tuple(ways)
    if len(several) == 1:
        message, several = f"{message} {several[0]}", ()
    line = one_line(message)
    say(message if message.startswith("Usage:") else f"sabm: {line}", err=True)
    for way in several:
        say(f"  {way}", err=True)
    if as_json:
        say(json.dumps({"error": " ".join([line, *several]), "exit_status": status}))
    return status
