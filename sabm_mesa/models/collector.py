"""The collector of a scenario's data: one row per round, and one row per agent and round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from operator import attrgetter
from typing import Any

import mesa
import pandas as pd

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.usage import NO_FAILURES, Failures
from sabm_mesa.errors import ScenarioError, UsageError
from sabm_mesa.models.contract import NO_COLUMNS, as_columns

COLUMNS_OF_ASKS = (
    "asks", *Failures._fields, "prompt_tokens", "completion_tokens", "cost_usd",
)  # fmt: skip
"""Model columns that every scenario has, after its declared columns."""
_IMMUTABLE = frozenset({bool, float, int, str, type(None)})
"""Immutable types, whose values are collected without a copy."""


class RoundCollector(mesa.DataCollector):
    """Collects the columns of a scenario once per round.

    Mesa before 3.5 stores agent records by steps from 1 but looks them up by steps from 0 in
    `batch_run`, which would give the agent rows of the previous round; here both use the same keys.

    In addition to the columns of the scenario, there are columns of every model (`COLUMNS_OF_ASKS`)
    and of every agent (its mind, and `Failures`), and with several classes of agents also
    ``class``, the name of the agent's class. Columns of other classes are empty. Agents have rows
    while they are in the model; the failures of an agent that left during a round are in the
    model's row of that round. Plain Mesa agents have no rows.

    Args:
        model_columns: column → attribute of the model.
        agent_columns: column → attribute of the agents.

    Raises:
        UsageError: for a column without the name of an attribute.

    Attributes:
        without_row: agent → its failures in the round in which it left the model.
    """

    def __init__(self, model_columns: Mapping[str, str], agent_columns: Mapping[str, str]) -> None:
        _check_columns("model", model_columns)
        _check_columns("agent", agent_columns)
        reporters = {**model_columns, **{name: f"usage.{name}" for name in COLUMNS_OF_ASKS}}
        super().__init__(  # type: ignore[no-untyped-call]  # Mesa does not annotate it
            model_reporters=reporters
        )
        self.without_row: dict[int, Failures] = {}
        self._of_model: Callable[[Any], tuple[Any, ...]] = attrgetter(*reporters.values())
        self._of_all = agent_columns
        self._values: dict[type[SmartAgent], Callable[[Any], tuple[Any, ...]]] = {}
        self._set_agent_reporters()

    def add_class(self, agent_class: type[SmartAgent]) -> None:
        """Add the columns of a class of agents."""
        _check_columns("agent", as_columns(agent_class.columns))
        self._values[agent_class] = attrgetter("unique_id")
        self._set_agent_reporters()

    def _set_agent_reporters(self) -> None:
        of_class = {kind: {**self._of_all, **as_columns(kind.columns)} for kind in self._values}
        base = {"mind": "decider"}
        if len(of_class) > 1:
            base = {"class": "class_name", **base}
        names = dict.fromkeys(
            [*self._of_all, *(name for declared in of_class.values() for name in declared)]
        )
        for kind, declared in of_class.items():
            attributes = [*base.values(), *(declared.get(name, "no_value") for name in names)]
            self._values[kind] = attrgetter("unique_id", *attributes)
        columns = [*base, *names]
        own_values = {name: partial(self._value, i) for i, name in enumerate(columns, 1)}
        failed = {name: partial(_of_failures, i) for i, name in enumerate(Failures._fields)}
        self.agent_reporters = {**own_values, **failed}

    def _value(self, index: int, agent: SmartAgent) -> Any:
        return self._values[type(agent)](agent)[index]

    def collect(self, model: Any) -> None:
        """Collect the data of the last round."""
        try:
            values = self._of_model(model)
            records = list(self._record_agents(model))
        except AttributeError as error:
            raise _no_column(model) or error from error
        for column, value in zip(self.model_vars.values(), values, strict=True):
            column.append(value if type(value) in _IMMUTABLE else deepcopy(value))
        steps: list[Any] | None = getattr(self, "_collection_steps", None)  # since Mesa 3.5
        if steps is None:
            self._agent_records[model.round] = records
        else:
            steps.append(model.time)
            self._agent_records[model.time] = records
        if model.usage.by_agent:
            here = {record[1] for record in self._last_records()}
            for agent in sorted(model.usage.by_agent.keys() - here):
                known = self.without_row.get(agent, NO_FAILURES)
                self.without_row[agent] = known.plus(model.usage.by_agent[agent])

    def _record_agents(self, model: Any) -> Iterator[tuple[Any, ...]]:
        """Return the records of Mesa's own method, without a call for each agent and column."""
        step, failures, values = model.round + 1, model.usage.by_agent, self._values
        for agent in model.agents_here():
            if isinstance(agent, SmartAgent):
                record = values[type(agent)](agent)
                yield (step, *record, *failures.get(record[0], NO_FAILURES))

    def last_rows(self) -> tuple[list[Any], list[tuple[Any, ...]]]:
        """The last round: values of the model columns, and id and columns of each agent."""
        of_model = [values[-1] for values in self.model_vars.values()]
        return of_model, [record[1:] for record in self._last_records()]

    def _last_records(self) -> list[Any]:
        last: list[Any] = next(reversed(self._agent_records.values()))
        return last

    def model_frame(self, run: int = 0) -> pd.DataFrame:
        """One row per round: ``run``, ``round`` and the model columns."""
        frame = pd.DataFrame(self.model_vars)
        frame.insert(0, "round", range(len(frame)))
        frame.insert(0, "run", run)
        return frame

    def agent_frame(self, run: int = 0) -> pd.DataFrame:
        """One row per agent and round: ``run``, ``round``, ``agent`` and the agent columns."""
        rows = [
            (run, round_, *record[1:])
            for round_, records in enumerate(self._agent_records.values())
            for record in records
        ]
        return pd.DataFrame(rows, columns=["run", "round", "agent", *self.agent_reporters])


def _check_columns(kind: str, columns: Mapping[str, Any]) -> None:
    """Check that columns are attributes.

    Raises:
        UsageError: for a function (which Mesa's collector accepts), or a method of the model.
    """
    for column, name in columns.items():
        if not isinstance(name, str):
            raise UsageError(
                f"The {kind} column {column!r} is given by the name of an attribute, not by "
                f"{name!r}: make the function a property of the {kind}, and give its name."
            )
        if kind == "model" and name in NO_COLUMNS:
            raise UsageError(
                f"The model column {column!r} is the attribute {name!r}, which SmartModel needs "
                "and which is no value: choose another name."
            )


def _no_column(model: Any) -> ScenarioError | None:
    """The error for the first column without an attribute in a model or agent, or None."""
    holders = [
        *((model, "model", *pair) for pair in model.columns().items()),
        *(
            (agent, "agent", *pair)
            for agent in model.agents
            if isinstance(agent, SmartAgent)
            for pair in model.columns_of(type(agent)).items()
        ),
    ]
    for holder, kind, column, name in holders:
        try:
            attrgetter(name)(holder)
        except AttributeError:
            return ScenarioError(
                f"The {kind} column {column!r} is the attribute {name!r}, which "
                f"{type(holder).__name__} does not have."
            )
    return None


def _of_failures(index: int, agent: Any) -> int:
    failures: Failures = agent.model.usage.by_agent.get(agent.unique_id, NO_FAILURES)
    return failures[index]
