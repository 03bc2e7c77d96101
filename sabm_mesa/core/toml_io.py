"""Reads the files of users, so that each problem is one clear line."""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from sabm_mesa.errors import UsageError

LARGEST = 4_000_000
"""The maximum size of a file in bytes, so that none is read without end."""
DEEPEST = 100
"""The maximum nesting of tables and lists, so that no later step fails."""


def expand_home(path: str) -> Path:
    """A path with an expanded ``~``; unchanged when the user after ``~`` has no home."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def state_file(name: str) -> Path | None:
    """A file in which commands remember something; None without a home folder."""
    with suppress(RuntimeError):
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return Path(state, "sabm-mesa", name)
    return None


def read_file(path: str | Path, what: str, error: type[UsageError]) -> bytes:
    """Read a small file; `what` it is, such as ``"prompt file"``, is for the error.

    Raises:
        UsageError: of the type `error`, when it cannot be read, is a device or a pipe, or has more
            than `LARGEST` bytes.
    """
    try:
        mode = Path(path).stat().st_mode
        content = b""
        if is_file := S_ISREG(mode) or S_ISDIR(mode):  # opening a folder says that it is one
            with Path(path).open("rb") as file:
                content = file.read(LARGEST + 1)
    except (OSError, ValueError) as problem:  # or a sign that no path has
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"Cannot read the {what} {path}: {reason}.") from None
    if not is_file:
        raise error(f"The {what} {path} is not a regular file: name one.")
    if len(content) > LARGEST:
        raise error(f"The {what} {path} has more than {LARGEST // 10**6} MB: name a smaller file.")
    return content


def read_toml(path: str | Path, what: str, error: type[UsageError]) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        UsageError: as `read_file`, or when it is not valid TOML.
    """
    content = read_file(path, what, error)
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
        if not _is_deep(table):
            return table
    except RecursionError:
        pass
    except UnicodeDecodeError:
        raise error(f"The {what} {path} is not valid TOML: it is not UTF-8 text.") from None
    except ValueError as problem:  # or a number that is too long
        raise error(f"The {what} {path} is not valid TOML: {problem}.") from None
    raise error(f"The {what} {path} has too many brackets in brackets, or tables in tables.")


def _is_deep(table: dict[str, Any]) -> bool:
    """Whether tables and lists are nested more than `DEEPEST` times."""
    level: list[Any] = [table]
    for _ in range(DEEPEST):
        inside = (
            container.values() if isinstance(container, dict) else container for container in level
        )
        level = [value for values in inside for value in values if isinstance(value, dict | list)]
    return bool(level)
