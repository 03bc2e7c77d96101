"""Comparison of two runs: their common part and their first difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from sabm_mesa.core.usage import Usage
from sabm_mesa.visualization.labels import Titles
from sabm_mesa.visualization.reading.store import RunData, seed_of


@dataclass(frozen=True)
class Difference:
    """The first round in which two runs differ.

    Attributes:
        round: the round.
        model: the model columns that differ in it.
        agents: the agents that differ in it.
        missing: whether one of the runs lacks the round.
    """

    round: int
    model: tuple[str, ...] = ()
    agents: tuple[int, ...] = ()
    missing: bool = False

    def words(self, call: Callable[[int], str], titles: Titles) -> str:
        """The difference in a sentence.

        Args:
            call: returns the name of a round.
            titles: the titles of the columns.
        """
        if self.missing:
            return f"Both are the same up to {call(self.round)}, which only one of them has."
        parts = []
        if self.model:
            names = [titles[name] for name in self.model]
            parts.append(", ".join(f"{name[:1].lower()}{name[1:]}" for name in names))
        if self.agents:
            few = ", ".join(map(str, self.agents[:10])) + (", …" if len(self.agents) > 10 else "")
            parts.append(f"agents {few}")
        return f"The first to differ is {call(self.round)}: {'; '.join(parts)}."


def parameters(one: RunData, other: RunData) -> list[tuple[str, str, str]]:
    """The parameters in which two runs differ: name and both values in words or as JSON."""
    settings = [
        {"scenario": run.scenario, **run.parameters, "seed": seed_of(run)}
        for run in (one.recorded, other.recorded)
    ]
    for setting in settings:
        setting.pop("rng", None)
    names = dict.fromkeys([*settings[0], *settings[1]])
    pairs = [(name, _shown(settings[0], name), _shown(settings[1], name)) for name in names]
    return [pair for pair in pairs if pair[1] != pair[2]]


def changes(run: RunData, call: Callable[[int], str]) -> list[str]:
    """Describe the changes during a run, one sentence per fork.

    Args:
        call: returns the name of a round.
    """
    return [
        f"From {call(fork['at'])} on: "
        + ", ".join(f"{name} = {json.dumps(value)}" for name, value in fork["set"].items())
        for fork in run.recorded.forks
    ]


def first_difference(one: RunData, other: RunData) -> Difference | None:
    """The first round in which the data of two runs differ, or None.

    Columns that only one run has are not compared.
    """
    model = _differing(one.model_data, other.model_data, ["round"])
    agents = _differing(one.agent_data, other.agent_data, ["round", "agent"])
    played = [int(run.model_data["round"].max()) if len(run.model_data) else -1
              for run in (one, other)]  # fmt: skip
    # Rounds of only one run are differences of length.
    common = min(played)
    rounds = [round_ for round_ in {*model, *agents} if round_ <= common]
    if rounds:
        first = min(rounds)
        return Difference(first, tuple(model.get(first, ())), tuple(agents.get(first, ())))
    return Difference(common + 1, missing=True) if played[0] != played[1] else None


def columns(one: RunData, other: RunData) -> list[str]:
    """The common numeric model columns: differing ones first, counts of asks last."""
    a, b = one.model_data, other.model_data
    both = [
        str(name)
        for name in a.columns
        if name in b.columns and name not in {"run", "round"} and _number(a[name], b[name])
    ]
    counts = {field.name for field in fields(Usage)}
    same = {name for name in both if list(a[name]) == list(b[name])}
    return sorted(both, key=lambda name: (name in counts, name in same))


def _number(*columns: pd.Series[Any]) -> bool:
    return all(
        is_numeric_dtype(column) and not is_bool_dtype(column) and column.count() > 0
        for column in columns
    )


def _differing(one: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> dict[int, list[Any]]:
    """Round → the agents that differ in it, or the columns if there are no agents."""
    names = [n for n in one.columns if n in other.columns and n not in {"run", *keys}]
    merged = one.merge(other, on=keys, how="outer", suffixes=("", "·other"), indicator=True)
    unequal = pd.DataFrame(
        {
            name: ~_equal(merged[name], merged[f"{name}·other"]) | (merged["_merge"] != "both")
            for name in names
        },
        index=merged.index,
    )
    by_round: dict[int, list[Any]] = {}
    parts = unequal.any(axis=1)
    places = merged.loc[parts, keys].astype(int).to_numpy().tolist()
    for (round_, *agent), row in zip(places, unequal[parts].to_numpy().tolist(), strict=True):
        what = [n for n, is_other in zip(names, row, strict=True) if is_other]
        by_round.setdefault(round_, []).extend(agent or what)
    return by_round


def _equal(one: pd.Series[Any], other: pd.Series[Any]) -> pd.Series[bool]:
    return (one == other) | (one.isna() & other.isna())


def _shown(parameters: dict[str, Any], name: str) -> str:
    value = parameters.get(name, "–")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
