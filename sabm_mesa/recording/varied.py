"""The parameters and tags that differ between the runs of a recording."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sabm_mesa.core.jsonable import to_json

SET, TAG = "set.", "tag."
"""The prefixes of parameters and of tags in the columns of `Recorded.runs`."""
_DIGEST = "spec"
"""The tag that distinguishes all planned runs; it is not a condition of a study."""


def varied(
    parameters: Sequence[Mapping[str, Any]], tags: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The parameters and tags of runs that differ between any two of them.

    Args:
        parameters: those of each run, as recorded, after its forks.

    Returns:
        For each run the same names: ``set.PARAMETER`` and ``tag.TAG`` → value: numbers, texts,
        booleans and None unchanged, others as JSON. Missing entries are None, too.
    """
    rows = [
        {
            **{f"{SET}{name}": value for name, value in given.items()},
            **{f"{TAG}{name}": value for name, value in more.items() if name != _DIGEST},
        }
        for given, more in zip(parameters, tags, strict=True)
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    differ = [name for name in names if len({to_json(row.get(name)) for row in rows}) > 1]
    return [{name: _plain(row.get(name)) for name in differ} for row in rows]


def varied_columns(
    parameters: Iterable[str], forks: Iterable[str], tags: Iterable[str]
) -> dict[str, list[Any]]:
    """The columns of the differences between the runs of a recording (see `varied`)."""
    rows = varied(
        [
            after_forks(json.loads(given), json.loads(changes))
            for given, changes in zip(parameters, forks, strict=True)
        ],
        [json.loads(labels) for labels in tags],
    )
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def after_forks(
    parameters: Mapping[str, Any], forks: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The parameters of a run after all its forks."""
    values = dict(parameters)
    for fork in forks:
        values |= fork["set"]
    return values


def label_of(values: Mapping[str, Any]) -> str:
    """The varied parameters of a run in a few words: ``initial_prices 3, minds llm:a``."""
    return ", ".join(
        f"{name.removeprefix(SET).removeprefix(TAG)} {word_of(value)}"
        for name, value in values.items()
        if name.startswith((SET, TAG))
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else to_json(value)


def word_of(value: Any) -> str:
    """A value in a label: ``yes`` or ``no``, ``none``, numbers without trailing zeros."""
    if value is None or value != value:  # NaN, which pandas puts where a number is missing
        return "none"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
