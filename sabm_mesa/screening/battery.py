"""The tests of the screening, and what is published of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.path_test import PathTest
from sabm_mesa.registry import scenario

SOURCE = "Wu et al. 2024, arXiv 2402.12327, appendix B"


@dataclass(frozen=True)
class Test:
    """One test: a short run of a scenario in which one mind decides for everybody.

    Attributes:
        name: its name.
        title: its name in reports.
        scenario: the scenario, or ``"path-test"``.
        source: where it is described.
        rule: when a mind passes; the limits are ours.
        set: the parameters that differ from the scenario's defaults.
    """

    name: str
    title: str
    scenario: str
    source: str
    rule: str
    set: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> type[SmartModel]:
        """The model class."""
        if self.scenario == PathTest.scenario_name:
            return PathTest
        return scenario(self.scenario)

    def parameters(self, mind: str) -> dict[str, Any]:
        """The parameters of a run, without the seed.

        Args:
            mind: the spec of the mind.
        """
        return {**self.set, "minds": mind}


@dataclass(frozen=True)
class Published:
    """What is published of a mind in a test.

    Attributes:
        test: the name of the test.
        mind: the mind, or several.
        found: what was found, in our own words.
        source: where it stands.
    """

    test: str
    mind: str
    found: str
    source: str


@cache
def tests() -> Sequence[Test]:
    """The tests, in the order in which they are reported."""
    return tuple(Test(**each) for each in _data()["tests"])


@cache
def published() -> Sequence[Published]:
    """What is published, test by test."""
    return tuple(Published(**each) for each in _data()["published"])


def _data() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("screening.toml").read_text("utf-8"))
