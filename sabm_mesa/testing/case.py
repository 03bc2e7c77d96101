"""The scenario that is checked, and how it is played."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mesa

from sabm_mesa.testing.minds import DrawingMind

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

SEED = 1


@dataclass(frozen=True)
class Case:
    """A scenario with the parameters of the runs.

    Attributes:
        scenario: the model class.
        parameters: the parameters.
    """

    scenario: type[SmartModel]
    parameters: Mapping[str, Any]

    @property
    def free_minds(self) -> str | DrawingMind:
        """The scenario's own classical minds, or others that cost nothing."""
        return "classical" if "default" in self.scenario.classical_minds else DrawingMind()

    def made(self, **given: Any) -> SmartModel:
        """A model at its beginning: with a seed, and not recorded.

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

    def batch(self, **given: Any) -> list[dict[str, Any]]:
        """The rows of `mesa.batch_run`: the last round, one row an agent.

        Args:
            given: parameters that differ.
        """
        fixed = {**self.parameters, "recording": False, **given}
        seed = fixed.pop("rng", SEED)
        parameters: dict[str, Any] = {name: [value] for name, value in fixed.items()}
        options: dict[str, Any] = {"number_processes": 1, "display_progress": False}
        if "rng" in inspect.signature(mesa.batch_run).parameters:
            options["rng"] = [seed]
        else:  # before Mesa 3.5 the seed is a parameter like any other
            parameters["rng"] = [seed]
        return list(mesa.batch_run(self.scenario, parameters, **options))
