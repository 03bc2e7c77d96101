"""The scripts, styles and fonts of all pages, from the installed package; nothing is downloaded."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import files
from pathlib import Path

from sabm_mesa.errors import RunError

PACKAGE = "solara-assets"
"""The package that holds them."""
SERVED = {".js", ".mjs", ".css", ".map", ".json", ".woff", ".woff2", ".ttf", ".eot", ".png"}
"""Suffixes of the files that are served; pages and drawings, which can contain scripts, are left
out.
"""


@cache
def assets() -> dict[str, Path]:
    """The path in an address → the file. Only files of the installed package are included."""
    paths = {}
    for file in files(PACKAGE) or ():
        _, _, name = file.as_posix().partition("share/solara/cdn/")
        if name and file.suffix in SERVED:
            paths[name] = Path(str(file.locate()))
    return paths


def address_of_asset(library: str, file: str) -> str:
    """The path of a file of a library, with the installed version.

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
    raise RunError(f"{PACKAGE} has no {library} ({file}): install the package sabm-mesa again.")
