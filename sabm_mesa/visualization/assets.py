"""The scripts, styles and fonts of all pages, as they are installed; nothing is fetched."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import files
from pathlib import Path

from sabm_mesa.errors import RunError

PACKAGE = "solara-assets"
"""The package that holds them."""
SERVED = {".js", ".mjs", ".css", ".map", ".json", ".woff", ".woff2", ".ttf", ".eot", ".png"}
"""Endings of its files that are served. Pages and drawings, which can hold scripts, are not."""


@cache
def assets() -> dict[str, Path]:
    """The path in an address → the file. A file that was put beside them is not among them."""
    found = {}
    for file in files(PACKAGE) or ():
        _, _, name = file.as_posix().partition("share/solara/cdn/")
        if name and file.suffix in SERVED:
            found[name] = Path(str(file.locate()))
    return found


def address_of_asset(library: str, file: str) -> str:
    """The path of a file of a library, with the version that is installed.

    Args:
        library: the library, such as ``"echarts"``.
        file: the file in it.

    Raises:
        RunError: when it is not installed.
    """
    searched = re.compile(re.escape(library) + r"@[^/]+/" + re.escape(file))
    for name in assets():
        if searched.fullmatch(name):
            return name
    raise RunError(f"{PACKAGE} has no {library} ({file}): install the package sabm-mesa anew.")
