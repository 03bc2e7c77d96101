"""Distributions of people's choices, as published."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from sabm_mesa.errors import UnknownName

Bins = list[tuple[float, float, float]]


def people(name: str) -> tuple[str, Bins]:
    """How people chose.

    Args:
        name: the name of the distribution, such as ``nagel-1995``.

    Returns:
        Who they were, with the source; and (from, to, per cent) of each bin, both ends included.

    Raises:
        UnknownName: when there is none of that name.
    """
    text = files(__package__).joinpath("human.toml").read_text("utf-8")
    known = tomllib.loads(text)
    if name not in known:
        raise UnknownName("distribution of people", name, known)
    bins: Bins = [
        (float(low), float(high), float(share)) for low, high, share in known[name]["bins"]
    ]
    return f"{known[name]['who']} ({known[name]['source']})", bins
