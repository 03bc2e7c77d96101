"""Files that hold minds: read, and run once to find the mind in them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sabm_mesa.errors import MindSpecError, one_line
from sabm_mesa.minds.students.keeper import keeper
from sabm_mesa.minds.students.player import Start


@dataclass(frozen=True)
class MindFile:
    """A mind in a file, as it was found there.

    Attributes:
        spec: how it was named: ``py:FILE`` or ``py:FILE:NAME``.
        path: the file.
        name: the name of the class or function in it.
        source: what the file holds.
        paid: whether its answers could not be had again for free.
    """

    spec: str
    path: str
    name: str
    source: bytes
    paid: bool

    @property
    def version(self) -> str:
        """The SHA-256 of the file."""
        return digest(self.source)


def mind_file(spec: str) -> MindFile:
    """Find the mind that a spec names; the file is run for it, in a process of its own.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.

    Raises:
        MindSpecError: when the file cannot be read or run, or holds no such mind.
    """
    path, name = path_and_name(spec)
    source = read(spec)
    found = _found(path, name, source)
    return MindFile(spec, path, str(found.get("name")), source, bool(found.get("paid")))


def read(spec: str) -> bytes:
    """What is in the file that a spec names.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.

    Raises:
        MindSpecError: when it cannot be read.
    """
    path, _ = path_and_name(spec)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MindSpecError(f"Cannot read the mind {path}: {error.strerror or error}.") from None


def path_and_name(spec: str) -> tuple[str, str]:
    """The file and the name in a spec; the name is ``""`` without one.

    Args:
        spec: ``py:FILE`` or ``py:FILE:NAME``.
    """
    rest = spec.partition(":")[2]
    path, _, name = rest.rpartition(":")
    return (path, name) if path and name.isidentifier() else (rest, "")


def digest(source: bytes) -> str:
    """The SHA-256 of a file, as it is recorded."""
    return hashlib.sha256(source).hexdigest()


@cache  # a command builds the same model several times
def _found(path: str, name: str, source: bytes) -> Mapping[str, Any]:
    own = keeper()
    player, ready = own.start(Start(source=source, path=path, name=name))
    found = ready.result()
    own.end(player)
    own.flush()
    if "problem" in found:
        raise MindSpecError(f"{path} cannot be used as a mind: {one_line(found['problem'])}.")
    return found
