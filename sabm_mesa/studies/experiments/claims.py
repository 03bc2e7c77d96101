"""Claims about a measure of runs: one class for each kind.

A claim is about one number per run: a measure in a condition, or its difference to another one in
runs of the same seed (`Claim.places`). It sets `limits` on a quantity of these numbers. The keys of
each kind are in ``docs/experiments.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from sabm_mesa.analysis.tests import Estimand, Inference, Of, Values, infer_of
from sabm_mesa.studies.page import exact


def as_tuple(value: Any) -> Any:
    """A list as a tuple; a single value as a tuple of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def as_pair(value: Any) -> Any:
    """A list of two values as a tuple."""
    values = as_tuple(value)
    if len(values) != 2:
        raise PydanticCustomError("rule", "must be a list of 2 (got {got}).", {"got": str(value)})
    return values


class Entry(BaseModel):
    """A table of an experiment file: no other keys, no conversion between types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Claim(Entry):
    """A published statement about a measure that runs can support or not."""

    text: str
    source: str
    measure: str
    condition: str
    estimand: Literal["", "mean", "median", "share"] = ""
    ours: str = ""
    assumption: str = ""

    said: ClassVar[str]
    """The words after the measure and its condition."""

    @property
    def places(self) -> list[tuple[str, str]]:
        """(measure, condition) of the claim, and those it is compared with: one, two or four."""
        return [(self.measure, self.condition)]

    def limits(self) -> list[tuple[int, float]]:
        """(1, limit) for each lower limit of the quantity, (−1, limit) for each upper one."""
        raise NotImplementedError

    def words(self, measures: Mapping[str, str], conditions: Mapping[str, str]) -> str:
        """The test in words."""
        numbers = {name: exact(value) for name, value in self if isinstance(value, float)}
        compared = [
            " of ".join(
                filter(None, (
                    f"“{measures[measure]}”" if measure != self.measure else "",
                    f"“{conditions[name]}”" if name != self.condition else "",
                ))
            )
            for measure, name in self.places[1:]
        ]  # fmt: skip
        side = "below" if any(side < 0 for side, _ in self.limits()) else "above"
        said = self.said.format(*compared, side=side, **numbers)
        return f"{measures[self.measure]}: “{conditions[self.condition]}” {said}"

    def quantity(self, of: Of, bounds: tuple[float, float] | None) -> Estimand:
        """The quantity of the claim with its limits."""
        above = next((limit for side, limit in self.limits() if side > 0), None)
        below = next((limit for side, limit in self.limits() if side < 0), None)
        return Estimand(of, len(self.places), above, below, bounds, len(self.places) > 1)

    def test(
        self, *runs: Values, of: Of, bounds: tuple[float, float] | None, level: float
    ) -> Inference:
        """Test the claim; the result has its interval, too."""
        return infer_of(self.quantity(of, bounds), *runs, level=level)


class Below(Claim):
    """The measure is below `value`."""

    said = "below {value}"
    kind: Literal["below"]
    value: float = 0.0

    def limits(self) -> list[tuple[int, float]]:
        """One upper limit."""
        return [(-1, self.value)]


class Above(Claim):
    """The measure is above `value`."""

    said = "above {value}"
    kind: Literal["above"]
    value: float = 0.0

    def limits(self) -> list[tuple[int, float]]:
        """One lower limit."""
        return [(1, self.value)]


class TrendClaim(Claim):
    """The measure, which is a ``trend``, is above `value`, or, if `falling`, below it."""

    said = "with a trend {side} {value}"
    kind: Literal["trend"]
    value: float = 0.0
    falling: bool = False

    def limits(self) -> list[tuple[int, float]]:
        """One limit, on the side of the trend."""
        return [(-1 if self.falling else 1, self.value)]


class Within(Claim):
    """The measure is within `low` and `high`."""

    said = "from {low} to {high}"
    kind: Literal["within"]
    low: float = -math.inf
    high: float = math.inf

    def limits(self) -> list[tuple[int, float]]:
        """The limits that are finite."""
        return [(side, end) for side, end in ((1, self.low), (-1, self.high)) if math.isfinite(end)]


class Compared(Claim):
    """A comparison of two conditions, or of two measures."""

    than: str = ""
    than_measure: str = ""

    @model_validator(mode="after")
    def _names_another(self) -> Self:
        if not (self.than or self.than_measure):
            raise PydanticCustomError("rule", "the entry 'than' is missing.")
        return self

    @property
    def places(self) -> list[tuple[str, str]]:
        """The claim's, and the compared one."""
        other = self.than_measure or self.measure, self.than or self.condition
        return [(self.measure, self.condition), other]


class Less(Compared):
    """The measure is less than that of `than`."""

    said = "less than {0}"
    kind: Literal["less"]

    def limits(self) -> list[tuple[int, float]]:
        """The difference is below 0."""
        return [(-1, 0.0)]


class More(Compared):
    """The measure is more than that of `than`."""

    said = "more than {0}"
    kind: Literal["more"]

    def limits(self) -> list[tuple[int, float]]:
        """The difference is above 0."""
        return [(1, 0.0)]


class Like(Compared):
    """The measure is that of `than`, up to `margin`."""

    said = "like {0}, up to {margin}"
    kind: Literal["like"]
    margin: Annotated[float, Field(gt=0)]

    def limits(self) -> list[tuple[int, float]]:
        """The difference is within the margin."""
        return [(1, -self.margin), (-1, self.margin)]


class EqualEffects(Compared):
    """The difference to `than` is that between the two conditions of `other_effect`.

    Without a margin, the verdict is whether the differences differ.
    """

    said = "against {0}, as {1} against {2}, up to {margin}"
    kind: Literal["equal_effects"]
    other_effect: Annotated[tuple[str, str], BeforeValidator(as_pair)]
    margin: Annotated[float, Field(ge=0)] = 0.0

    @property
    def places(self) -> list[tuple[str, str]]:
        """The pair of the claim, and the other pair."""
        return [*super().places, *((self.measure, name) for name in self.other_effect)]

    def limits(self) -> list[tuple[int, float]]:
        """The difference of differences is within the margin, if there is one."""
        return [(1, -self.margin), (-1, self.margin)] if self.margin else []


AnyClaim = Annotated[
    Below | Above | Within | Less | More | Like | EqualEffects | TrendClaim,
    Field(discriminator="kind"),
]
