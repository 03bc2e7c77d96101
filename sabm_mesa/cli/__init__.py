"""The command line: ``sabm``."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterable, Sequence

from typer.exceptions import TyperException

from sabm_mesa.cli import (
    anchors,
    audit,
    bundle,
    check,
    cost,
    describe,
    doctor,
    export,
    fit,
    humans,
    judge,
    new,
    play,
    probe,
    register,
    reproduce,
    rerun,
    run,
    screen,
    sweep,
    tournament,
    view,
)
from sabm_mesa.cli.app import app, say
from sabm_mesa.errors import MissingKey, SabmError, one_line

__all__ = [
    "anchors",
    "app",
    "audit",
    "bundle",
    "check",
    "cost",
    "describe",
    "doctor",
    "export",
    "fit",
    "humans",
    "judge",
    "main",
    "new",
    "play",
    "probe",
    "register",
    "reproduce",
    "rerun",
    "run",
    "screen",
    "sweep",
    "tournament",
    "view",
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every expected failure ends in one line on standard error.

    Args:
        arguments: the words after ``sabm``; those of the process when None.

    Raises:
        SystemExit: always, with the exit status.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = app(args=arguments, standalone_mode=False)
    except TyperException as error:
        status = _fail(error.format_message(), error.exit_code, "--json" in arguments)
    except MissingKey as error:
        status = _fail(error.problem, error.exit_status, "--json" in arguments, error.ways)
    except SabmError as error:
        status = _fail(str(error), error.exit_status, "--json" in arguments)
    sys.exit(status or 0)


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
