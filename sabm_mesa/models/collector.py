"""Mesa's DataCollector, with one row a round."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import mesa
import pandas as pd


class RoundCollector(mesa.DataCollector):
    """Collects the columns of a scenario once a round.

    Mesa before 3.5 keys agent records by steps from 1 but looks them up by steps from 0 in
    `batch_run`, so that agent rows would be those of the round before; here both are keyed alike.

    Args:
        model_columns: column → attribute of the model.
        agent_columns: column → attribute of the agents.
    """

    def __init__(self, model_columns: Mapping[str, str], agent_columns: Mapping[str, str]) -> None:
        reporters = {column: attrgetter(name) for column, name in agent_columns.items()}
        super().__init__(  # type: ignore[no-untyped-call]  # Mesa does not annotate it
            model_reporters=dict(model_columns), agent_reporters=reporters
        )

    def collect(self, model: Any) -> None:
        """Collect the data of the round that has just been played.

        Args:
            model: the model.
        """
        super().collect(model)  # type: ignore[no-untyped-call]  # Mesa does not annotate it
        if not hasattr(self, "_collection_steps") and model.steps in self._agent_records:
            self._agent_records[model.steps - 1] = self._agent_records.pop(model.steps)

    def last_model_row(self) -> list[Any]:
        """The values of the model columns in the last round."""
        return [values[-1] for values in self.model_vars.values()]

    def last_agent_rows(self) -> list[list[Any]]:
        """For each agent its id and the values of the agent columns in the last round."""
        return [list(record[1:]) for record in list(self._agent_records.values())[-1]]

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
