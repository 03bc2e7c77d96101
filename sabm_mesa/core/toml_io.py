"""Files that a user hands in: read in one place, so that each problem is one clear line."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from sabm_mesa.errors import UsageError

LARGEST = 4_000_000
"""The most bytes of a file, so that none is read without end."""


def expand_home(path: str) -> Path:
    """A path with the ``~`` at its beginning spelled out.

    Args:
        path: the path; it stays as it is when nobody of the name behind the ``~`` has a home.
    """
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def read_toml(path: str | Path, what: str, error: type[UsageError]) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: the file.
        what: the kind of file, for the error: ``"prompt file"``.
        error: the error to raise.

    Raises:
        UsageError: of the type `error`, when it cannot be read, has more than `LARGEST` bytes or is
            not valid TOML.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return tomllib.loads(content.decode("utf-8"))
    except OSError as problem:
        raise error(f"Cannot read the {what} {path}: {problem.strerror or problem}.") from None
    except RecursionError:
        raise error(f"The {what} {path} has too many brackets in brackets.") from None
    except ValueError as problem:  # no TOML, no UTF-8, or a number that is too long
        raise error(f"The {what} {path} is not valid TOML: {problem}.") from None
    raise error(f"The {what} {path} has more than {LARGEST // 10**6} MB: name a smaller file.")
