"""What a sweep will run: each combination of the values of its parameters, times seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Connection
from sabm_mesa.minds import by_spec, files_of, objects_by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.party_memory import read_party
from sabm_mesa.parameters import SERVICES, bind, whole
from sabm_mesa.recording.parts import Entry
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.registry import scenario as registered
from sabm_mesa.sweeps.playing import Task


@dataclass(frozen=True)
class Cell:
    """One run of a sweep.

    Attributes:
        values: the varied parameters.
        task: the run.
        name: what makes it this run and no other, as far as a recording tells, in 32 digits.
    """

    values: Mapping[str, Any]
    task: Task
    name: str


@dataclass(frozen=True)
class Grid:
    """The runs of a sweep.

    Attributes:
        model: the model class.
        varied: parameter → its values.
        parameters: the other parameters that were given.
        seeds: the seeds; each combination of values has all of them.
        cells: the runs: combination by combination, the last parameter changing fastest, and
            within each in the order of the seeds.
    """

    model: type[SmartModel]
    varied: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    seeds: Sequence[int]
    cells: Sequence[Cell]


def grid(
    model: type[SmartModel] | str,
    vary: Mapping[str, Sequence[Any]],
    parameters: Mapping[str, Any],
    runs: int,
    seed: int,
) -> Grid:
    """The runs of a sweep; run i of each combination has the seed ``seed + i``.

    Args:
        model: the model class, or the name of a scenario.
        vary: parameter → its values.
        parameters: the other parameters.
        runs: runs a combination.
        seed: the first seed.

    Raises:
        UsageError: for a parameter that does not exist or is given twice, or for no or equal
            values. Whether a value can be used is not checked here.
    """
    model = registered(model) if isinstance(model, str) else model
    seeds = [whole("seed", seed, 0) + i for i in range(whole("runs", runs, 1))]
    for name in [*vary, *parameters]:
        if name in SERVICES | {"rng"}:
            raise ParameterError(f"{name} is no parameter that a sweep sets: see its own options.")
        if name in vary and name in parameters:
            raise ParameterError(f"{name} is given twice: with one value, and to be varied.")
    for name, values in vary.items():
        _check_values(name, values)
    combinations = [dict(zip(vary, each, strict=True)) for each in product(*vary.values())]
    cells = [cell for values in combinations for cell in _cells(model, values, parameters, seeds)]
    return Grid(model, vary, parameters, seeds, cells)


def name_of(entry: Entry) -> str:
    """The name of a recorded run; ``""`` when no sweep has such a run."""
    return (
        "" if entry.branched else _name(entry.scenario, entry.parameters, entry.seed, entry.files)
    )


def for_workers(cells: Sequence[Cell], connection: Connection) -> set[str]:
    """The runs that other processes may play: those of minds that cost nothing and have no past.

    Each combination is built once, so that wrong use ends before there is any file.

    Args:
        cells: the runs.
        connection: how language models are reached.

    Returns:
        The names of the runs.

    Raises:
        UsageError: for a value that cannot be used.
    """
    free: dict[str, bool] = {}
    for cell in cells:
        combination = _text(cell.values)
        if combination not in free:
            task = cell.task
            built = task.model(
                **task.parameters, rng=task.seed, recording=False, connection=connection
            )
            paid = any(agent.paid for agent in built.population)
            free[combination] = not paid and not objects_by_spec(built.parameters["minds"])
    return {cell.name for cell in cells if free[_text(cell.values)]}


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters as they stand in a table: what is no number or text, as JSON."""
    plain = as_recorded({k: by_spec(v) if k == "minds" else v for k, v in values.items()})
    return {
        name: value if isinstance(value, str | int | float | None) else json.dumps(value)
        for name, value in plain.items()
    }


def _text(values: Mapping[str, Any]) -> str:
    return json.dumps(shown(values))


def _check_values(name: str, values: Any) -> None:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ParameterError(f"{name} needs a list of values to be varied (got {values!r}).")
    known: set[str] = set()
    for value in values:
        text = _text({name: value})
        if text in known:
            raise ParameterError(f"{name} is to be varied, and has the value {value!r} twice.")
        known.add(text)


def _cells(
    model: type[SmartModel],
    values: Mapping[str, Any],
    parameters: Mapping[str, Any],
    seeds: Sequence[int],
) -> list[Cell]:
    given = {**parameters, **values}
    bound = bind(model, given)
    bound.pop("rng", None)
    if bound.get("party") is not None:  # as it will be recorded, so that the run is found again
        bound["party"] = given["party"] = read_party(bound["party"]).reference
    recorded = as_recorded({**bound, "minds": by_spec(bound["minds"])})
    files = files_of(bound["minds"])
    return [
        Cell(values, Task(model, given, seed), _name(model.scenario_name, recorded, (seed,), files))
        for seed in seeds
    ]


def _name(
    scenario: str, parameters: Mapping[str, Any], seed: Sequence[int], files: Mapping[str, str]
) -> str:
    text = json.dumps(
        [scenario, parameters, list(seed), *([files] if files else [])], sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()[:32]
