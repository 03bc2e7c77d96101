"""The tests of the screening, in sets, and what is published of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import whole
from sabm_mesa.registry import SCENARIOS, UNLISTED, model_at

PLAY, COMMONS = "play", "commons"
SETS = {PLAY: "screening.toml", COMMONS: "commons.toml"}
"""Set → the file that describes it."""
_PROBLEMS = "n_problems"


@dataclass(frozen=True)
class Test:
    """One test: a short run of a scenario in which one mind decides for everybody.

    Attributes:
        name: its name.
        title: its name in reports.
        scenario: the scenario, or the name of an unlisted model.
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
        found = model_at({**SCENARIOS, **UNLISTED}[self.scenario])
        assert found is not None
        return found

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
        mind: the mind, or several.
        found: what was found, in our own words.
        source: where it stands.
        test: the name of the test; ``""`` for all tests of the set.
        measure: what was measured, where that is a number.
        value: the number; None where there is none.
    """

    mind: str
    found: str
    source: str
    test: str = ""
    measure: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Battery:
    """A set of tests.

    Attributes:
        name: its name: one of `SETS`.
        title: its name in reports.
        stem: the name of the files with its report, without ending.
        source: where it is described.
        about: what it says of a mind, and which choices are ours.
        tests: the tests, in the order in which they are reported.
        published: what is published, test by test.
    """

    name: str
    title: str
    stem: str
    source: str
    about: str
    tests: Sequence[Test]
    published: Sequence[Published]


def battery(name: str = PLAY, problems: int | None = None) -> Battery:
    """A set of tests.

    Args:
        name: one of `SETS`.
        problems: problems of each kind, for a set that has any; None: as published.

    Raises:
        UnknownName: when there is no set of that name.
        ParameterError: for a number of problems that cannot be used.
    """
    if name not in SETS:
        raise UnknownName("set of tests", name, SETS)
    found = _read(name)
    if problems is None:
        return found
    if not all(_PROBLEMS in test.set for test in found.tests):
        raise ParameterError(f"The tests {name!r} have no problems to count: leave --problems out.")
    given = {_PROBLEMS: whole("the number of problems", problems, 1)}
    return replace(found, tests=[replace(t, set={**t.set, **given}) for t in found.tests])


@cache
def _read(name: str) -> Battery:
    data = tomllib.loads(files(__package__).joinpath(SETS[name]).read_text("utf-8"))
    return Battery(
        name=name,
        title=data["title"],
        stem=data["stem"],
        source=data["source"],
        about=data["about"],
        tests=tuple(Test(**each) for each in data["tests"]),
        published=tuple(Published(**each) for each in data["published"]),
    )
