"""Mesa's DataCollector, with one row a round, and what asks cost and what went wrong in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

import mesa
import pandas as pd

from sabm_mesa.usage import NO_FAILURES, Failures

COLUMNS_OF_ASKS = (
    "asks", *Failures._fields, "prompt_tokens", "completion_tokens", "cost_usd",
)  # fmt: skip
"""Model columns of every scenario, after its own."""


class RoundCollector(mesa.DataCollector):
    """Collects the columns of a scenario once a round.

    Mesa before 3.5 keys agent records by steps from 1 but looks them up by steps from 0 in
    `batch_run`, so that agent rows would be those of the round before; here both are keyed alike.

    Besides the columns of the scenario there are those of every model (`COLUMNS_OF_ASKS`) and of
    every agent (its mind, and `Failures`). Agents have rows as long as they are in the model; what
    went wrong with the asks of one that left it during a round is in the model's row of that round.

    Args:
        model_columns: column → attribute of the model.
        agent_columns: column → attribute of the agents.

    Attributes:
        without_row: agent → what went wrong with its asks in rounds in which it left the model.
    """

    def __init__(self, model_columns: Mapping[str, str], agent_columns: Mapping[str, str]) -> None:
        of_asks = {name: partial(_of_tally, name) for name in COLUMNS_OF_ASKS}
        failed = {name: partial(_of_failures, i) for i, name in enumerate(Failures._fields)}
        own = {"mind": "mind.spec", **agent_columns}
        reporters = {column: attrgetter(name) for column, name in own.items()}
        self._own_values = attrgetter("unique_id", *own.values())
        super().__init__(  # type: ignore[no-untyped-call]  # Mesa does not annotate it
            model_reporters={**model_columns, **of_asks}, agent_reporters={**reporters, **failed}
        )
        self.without_row: dict[int, Failures] = {}

    def collect(self, model: Any) -> None:
        """Collect the data of the round that has just been played.

        Args:
            model: the model.
        """
        super().collect(model)  # type: ignore[no-untyped-call]  # Mesa does not annotate it
        if not hasattr(self, "_collection_steps") and model.steps in self._agent_records:
            self._agent_records[model.steps - 1] = self._agent_records.pop(model.steps)
        if model.tally.by_agent:
            here = {record[1] for record in self._last_records()}
            for agent in sorted(model.tally.by_agent.keys() - here):
                known = self.without_row.get(agent, NO_FAILURES)
                self.without_row[agent] = known.plus(model.tally.by_agent[agent])

    def _record_agents(self, model: Any) -> Iterator[tuple[Any, ...]]:
        """The records of Mesa's own method, without a call for each agent and column."""
        steps, failures, values = model.steps, model.tally.by_agent, self._own_values
        for agent in model.agents:
            own = values(agent)
            yield (steps, *own, *failures.get(own[0], NO_FAILURES))

    def last_rows(self) -> tuple[list[Any], list[tuple[Any, ...]]]:
        """The last round: the values of the model columns; id and agent columns of each agent."""
        of_model = [values[-1] for values in self.model_vars.values()]
        return of_model, [record[1:] for record in self._last_records()]

    def _last_records(self) -> list[Any]:
        last: list[Any] = list(self._agent_records.values())[-1]
        return last

    def model_frame(self, run: int = 0) -> pd.DataFrame:
        """One row a round: ``run``, ``round`` and the model columns.

        Args:
            run: the number of the run.
        """
        frame = pd.DataFrame(self.model_vars)
        frame.insert(0, "round", range(len(frame)))
        frame.insert(0, "run", run)
        return frame

    def agent_frame(self, run: int = 0) -> pd.DataFrame:
        """One row an agent and round: ``run``, ``round``, ``agent`` and the agent columns.

        Args:
            run: the number of the run.
        """
        rows = [
            (run, round_, *record[1:])
            for round_, records in enumerate(self._agent_records.values())
            for record in records
        ]
        return pd.DataFrame(rows, columns=["run", "round", "agent", *self.agent_reporters])


def _of_tally(name: str, model: Any) -> Any:
    return getattr(model.tally, name)


def _of_failures(place: int, agent: Any) -> int:
    failures: Failures = agent.model.tally.by_agent.get(agent.unique_id, NO_FAILURES)
    return failures[place]
