"""The checked scenario and its runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
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
            if "default" in (known := model.classical_of(agent_class)) or len(known) == 1
            else DrawingMind()
            for agent_class in model.agent_classes()
        }
        return free if len(free) > 1 else next(iter(free.values()))

    def made(self, **given: Any) -> SmartModel:
        """A model before its first round: with a seed, and not recorded."""
        return self.scenario(**{"rng": SEED, **self.parameters, "recording": False, **given})

    def played(self, **given: Any) -> SmartModel:
        """A model at its end."""
        model = self.made(**given)
        model.run_model()
        return model

    @cached_property
    def recorded(self) -> tuple[SmartModel, Path]:
        """A finished model with late and paid answers, and its recording."""
        path = Path(self.folder, "recording.sqlite")
        return self.played(minds=DrawingMind(SOME, paid=True, late=1), recording=path), path

    def batch(self, **given: Any) -> tuple[Seed, list[dict[str, Any]]]:
        """The last round from `mesa.batch_run`: the seed, and one row per agent."""
        fixed = {**self.parameters, "recording": False, **given}
        seed = fixed.pop("rng", SEED)
        parameters: dict[str, Any] = {name: [value] for name, value in fixed.items()}
        options: dict[str, Any] = {"number_processes": 1, "display_progress": False}
        if "rng" in inspect.signature(mesa.batch_run).parameters:
            options["rng"] = [seed]
        else:  # before Mesa 3.5 the seed is a parameter like any other
            parameters["rng"] = [seed]
        return seed, list(mesa.batch_run(self.scenario, parameters, **options))
