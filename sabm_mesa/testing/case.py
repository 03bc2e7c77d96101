"""The checked scenario and its runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mesa

from sabm_mesa.core.streams import Seed
from sabm_mesa.testing.minds import DrawingMind

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

SEED = 1
SOME = 0.2
"""The share of attempts with an unusable answer."""


@dataclass(frozen=True)
class Case:
    """A scenario with the parameters of the runs.

    Attributes:
        scenario: the model class.
        parameters: the parameters.
        folder: a folder for its recordings.
        usual_rounds: the rounds of the one long run.
    """

    scenario: type[SmartModel]
    parameters: Mapping[str, Any]
    folder: Path
    usual_rounds: int

    @cached_property
    def free_minds(self) -> Any:
        """The scenario's own classical minds, or others that cost nothing; by class if several."""
        model = self.made(minds=DrawingMind())
        free = {
            agent_class.__name__: "classical"
            if "default" in model.classical_of(agent_class)
            else DrawingMind()
            for agent_class in model.agent_classes()
        }
        return free if len(free) > 1 else next(iter(free.values()))

    def made(self, **given: Any) -> SmartModel:
        """A model before its first round: with a seed, and not recorded.

        Args:
            given: parameters that differ.
        """
        return self.scenario(**{"rng": SEED, **self.parameters, "recording": False, **given})

    def played(self, **given: Any) -> SmartModel:
        """A model at its end.

        Args:
            given: parameters that differ.
        """
        model = self.made(**given)
        model.run_model()
        return model

    @cached_property
    def recorded(self) -> tuple[SmartModel, Path]:
        """A finished model with late and paid answers, and its recording."""
        path = Path(self.folder, "recording.sqlite")
        return self.played(minds=DrawingMind(SOME, paid=True, late=1), recording=path), path

    def batch(self, **given: Any) -> tuple[Seed, list[dict[str, Any]]]:
        """The last round from Mesa's own runner: the seed, and one row per agent.

        Up to Mesa 3 `mesa.batch_run` plays it. Mesa 4 creates a model from a `Scenario`, and
        `run_until` plays it; the state of the scenario's random stream is the seed.

        Args:
            given: parameters that differ.
        """
        fixed = {**self.parameters, "recording": False, **given}
        seed = fixed.pop("rng", SEED)
        if not hasattr(mesa, "batch_run"):
            return self._by_scenario(seed, fixed)
        parameters: dict[str, Any] = {name: [value] for name, value in fixed.items()}
        options: dict[str, Any] = {"number_processes": 1, "display_progress": False}
        if "rng" in inspect.signature(mesa.batch_run).parameters:
            options["rng"] = [seed]
        else:  # before Mesa 3.5 the seed is a parameter like any other
            parameters["rng"] = [seed]
        return seed, list(mesa.batch_run(self.scenario, parameters, **options))

    def _by_scenario(self, seed: Seed, fixed: dict[str, Any]) -> tuple[Seed, list[dict[str, Any]]]:
        of_mesa = import_module("mesa.experimental.scenarios").Scenario(rng=seed, **fixed)
        given: dict[str, Any] = {"scenario": of_mesa}
        model: Any = self.scenario(**given)
        model.run_until(model.n_rounds)
        collected = model.datacollector
        of_model = collected.get_model_vars_dataframe().iloc[-1].to_dict()
        of_agents = collected.get_agent_vars_dataframe().loc[model.round + 1 :].reset_index()
        return model.entropy, [of_model | row for row in of_agents.to_dict("records")]
