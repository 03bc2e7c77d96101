"""Inference over runs: one interface for verdicts, intervals and sample sizes.

`infer` takes an estimand and the runs of one, two or four groups. It returns an estimate with its
95 % interval, p-values, a verdict, the effect size and the minimum number of runs for any test. The
unit is the run: one number per run, since rounds and agents within a run are dependent. Runs
without a value (NaN or None) are left out and counted, together with their pairs.

Every method is valid for any number of runs and any distribution. The interval is the set of values
that the two one-sided tests at `LEVEL` do not reject. So a claim "above a limit" agrees at `LEVEL`
exactly when the interval lies above that limit.

share
    The share of runs in which something holds (each run is 0 or 1). Binomial test, with the
    interval of Clopper and Pearson.
median
    Sign test; the interval lies between two order statistics. A run that equals the limit counts
    against the claim. No assumption about the shape. (The signed-rank test is more powerful, but
    assumes a symmetric distribution, which measures of runs seldom have.)
mean
    For a measure with known bounds: betting on the runs against the limit of the claim. Without
    bounds no test of a mean is valid: a single rare run can move the mean anywhere.
difference, equivalence
    For two conditions. If run i of both shares a seed (`paired`), the test for one group is applied
    to the differences within pairs. For independent runs, means are compared by bets on both groups
    at every common value. Medians are compared by differences of runs in the given order, cut to
    the smaller group, which is valid but less powerful. For medians, the quantity is the median of
    the differences, not the difference of the medians.
equal_effects
    For four groups a, b, c, d: the difference of differences (a − b) − (c − d). With a margin, it
    is an equivalence test; without a margin, the verdict is `DIFFER` or `NO_DIFFERENCE`.

Betting: runs are scaled to [0, 1], and the null hypothesis is that the mean is at most m. A bet of
the fraction f multiplies the stake by 1 + f (x / m − 1), whose expectation is then at most 1. The
total wealth of several such bettors is an e-value: it exceeds 1 / p with probability at most p
(Markov). The stakes (`BETS`) favour the largest bet, which is best when runs differ little. The
order of the runs does not matter.

Sources:
    Clopper and Pearson (1934), Biometrika 26(4): the exact interval of a share.
    Dixon and Mood (1946), "The Statistical Sign Test", Journal of the American Statistical
    Association 41; Conover (1999), "Practical Nonparametric Statistics", sections 3.1 and 3.4.
    Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting",
    Journal of the Royal Statistical Society B 86(1), section 4 and appendix B ("diversified Kelly
    betting": several constant bets at once). The product over two groups, and its smallest value
    over a common mean, follow from it: at the true mean both factors are e-values.
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15: to lie between two
    limits is to be above one and below the other; both tests must reject.
    Holm (1979), Scandinavian Journal of Statistics 6(2): several verdicts at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.statistics import Floats, known_values, mean_interval

Values = Iterable[float | None]
Kind = Literal["mean", "median", "share", "difference", "equivalence", "equal_effects"]
Of = Literal["mean", "median", "share"]
Side = Literal["above", "below"]
Verdict = Literal[
    "agrees",
    "disagrees",
    "inconclusive",
    "too few runs",
    "effects differ",
    "no difference detected",
]
AGREES: Verdict = "agrees"
DISAGREES: Verdict = "disagrees"
INCONCLUSIVE: Verdict = "inconclusive"
TOO_FEW: Verdict = "too few runs"
DIFFER: Verdict = "effects differ"
NO_DIFFERENCE: Verdict = "no difference detected"
LEVEL = 0.025
"""The level of each one-sided test; two-sided verdicts and the interval have 5 %."""
BETS: Sequence[tuple[float, float]] = (
    (0.1, 0.1), (0.25, 0.1), (0.5, 0.15), (0.75, 0.15), (1.0, 0.5),
)  # fmt: skip
"""(Fraction of the largest bet, share of the stake)."""
MOST_RUNS = 500
"""Maximum number of runs in planning."""
FROM_MIDDLE = "distance from the middle, in half widths"
DELTA, DELTA_WITHIN = "Cliff's delta", "Cliff's delta within pairs"
NO_BOUNDS = (
    "no test of a mean is valid without bounds of the measure: name them, or claim a median or a "
    "share"
)
EXACT = 2**14
"""Maximum number of splits for exhaustive enumeration."""
_COMMON, _COMMON_OF_MANY = 160, 32
"""Number of common values at which the bets of two groups are compared, for one experiment and for
each of many. A finer grid adds little power; a coarser one remains valid.
"""
_SAME = 1e-10
_GROUPS: dict[str, tuple[int, ...]] = {
    "mean": (1,), "median": (1,), "share": (1,), "difference": (2,),
    "equivalence": (2,), "equal_effects": (4,),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Estimand:
    """The quantity of a claim, and the limits that the claim sets.

    Attributes:
        kind: see the module docstring.
        of: the compared statistic of two or four groups: ``mean``, ``median`` or ``share``.
        above: the claimed lower limit; None: none.
        below: the claimed upper limit; None: none. Without both, the question is whether the groups
            differ at all (a difference of 0).
        bounds: the minimum and maximum possible value of the measure; (0, 1) for shares.
        paired: whether run i of all groups shares a seed; ``"within"``: for four groups, only
            within a, b and within c, d.

    Raises:
        ValueError: for an invalid kind or invalid limits.
    """

    kind: Kind
    of: Of = "mean"
    above: float | None = None
    below: float | None = None
    bounds: tuple[float, float] | None = None
    paired: bool | Literal["within"] = False

    def __post_init__(self) -> None:
        if self.kind not in _GROUPS:
            raise ValueError(f"the estimand is one of {', '.join(_GROUPS)}, not {self.kind!r}")
        if self.of not in get_args(Of):
            raise ValueError(f"of is one of {', '.join(get_args(Of))}, not {self.of!r}")
        limits = [limit for limit in (self.above, self.below) if limit is not None]
        if not all(math.isfinite(limit) for limit in limits):
            raise ValueError("every limit must be finite; leave out the one that is open")
        if len(limits) == 2 and not limits[0] < limits[1]:
            raise ValueError(f"a claim between two limits needs above < below, not {limits}")
        if self.kind == "equivalence" and len(limits) != 2:
            raise ValueError("equivalence needs a margin")
        if self.bounds is not None and not (
            all(map(math.isfinite, self.bounds)) and self.bounds[0] < self.bounds[1]
        ):
            raise ValueError(f"bounds are two finite numbers, low < high, not {self.bounds}")

    @property
    def quantity(self) -> Of:
        """``mean``, ``median`` or ``share``: the statistic of each group."""
        return cast("Of", self.kind) if self.kind in get_args(Of) else self.of

    @property
    def n_groups(self) -> int:
        """The number of groups: 1, 2 or 4."""
        return _GROUPS[self.kind][0]

    @property
    def range(self) -> tuple[float, float] | None:
        """The bounds of the measure of a run, or None if they are unknown."""
        return (0.0, 1.0) if self.quantity == "share" else self.bounds

    @property
    def testable(self) -> bool:
        """Whether a valid test exists; there is none for a mean without bounds."""
        return self.quantity == "median" or self.range is not None

    def p_values(self, *groups: Floats) -> tuple[Floats, Floats]:
        """The one-sided p-values for the claim and for its opposite.

        For the opposite of a claim with two limits, the smaller p of both sides is doubled
        (Bonferroni). Without limits, the first is the two-sided p-value of a difference, and the
        second is NaN.

        Args:
            groups: the runs of each group, shape (..., n).

        Returns:
            Two arrays of shape (...).
        """
        if self.above is None and self.below is None:
            one, other = (self.p(groups, 0.0, side) for side in get_args(Side))
            return np.minimum(1.0, 2 * np.minimum(one, other)), np.full_like(one, math.nan)
        limits: list[tuple[float, Side]] = []
        if self.above is not None:
            limits.append((self.above, "above"))
        if self.below is not None:
            limits.append((self.below, "below"))
        towards = [self.p(groups, limit, side) for limit, side in limits]
        against = [self.p(groups, limit, _other(side)) for limit, side in limits]
        least = np.min(against, axis=0)
        return np.max(towards, axis=0), np.minimum(1.0, len(limits) * least)

    def p(self, groups: Sequence[Floats], limit: float, side: Side) -> Floats:
        """The p-value that the estimand is above (or below) a limit.

        Args:
            groups: the runs of each group, shape (..., n).
            limit: the limit.
            side: the side of the limit.

        Returns:
            Shape (...); NaN if no valid test exists, or without runs.
        """
        return self._courses(groups, limit, side, last=True)[..., -1]

    def _courses(
        self, groups: Sequence[Floats], limit: float, side: Side, *, last: bool = False
    ) -> Floats:
        """The p-values after each run, shape (..., n), or of bets after the last run only."""
        if min(group.shape[-1] for group in groups) == 0 or not self.testable:
            return np.full((*groups[0].shape[:-1], 1), math.nan)
        reduced, bounds = self._reduced(groups)
        if len(reduced) == 2:
            low, high = cast("tuple[float, float]", bounds)
            common = _common(low, high, reduced[0])
            return _two_groups(
                reduced[0], reduced[1], common, common + limit, (low, high), side, last=last
            )
        match self.quantity:
            case "median":
                return _signs(reduced[0], limit, side)
            case "share" if self.n_groups == 1:
                return _binomial(reduced[0], limit, side)
            case _:
                return _bet(reduced[0], limit, side, cast("tuple[float, float]", bounds))

    def _reduced(
        self, groups: Sequence[Floats]
    ) -> tuple[Sequence[Floats], tuple[float, float] | None]:
        """One or two groups whose location or difference is the estimand."""
        bounds = self.range
        if self.n_groups == 1:
            return groups, bounds
        width = math.nan if bounds is None else bounds[1] - bounds[0]
        if self.n_groups == 2 and not self.paired and self.quantity != "median":
            return groups, bounds
        differences = [a - b for a, b in zip(*_halves(groups), strict=True)]
        if len(differences) == 1:
            return differences, (-width, width)
        if self.paired is True or self.quantity == "median":
            one, other = _cut(*differences)
            return [one - other], (-2 * width, 2 * width)
        return differences, (-width, width)

    def estimate(self, *groups: Floats) -> float:
        """The estimate: sample mean, median or share, or a comparison of them; NaN without runs.

        Args:
            groups: the runs of each group, shape (n,).
        """
        if min(group.size for group in groups) == 0:
            return math.nan
        if self.quantity == "median":
            return float(np.median(self._reduced(groups)[0][0]))
        means = [float(group.mean()) for group in groups]
        return means[0] - sum(means[1:2]) - (means[2] - means[3] if len(means) == 4 else 0.0)

    def interval(self, *groups: Floats, level: float = LEVEL) -> tuple[float, float]:
        """The values that neither one-sided test at `level` rejects.

        Args:
            groups: the runs of each group, shape (n,).
            level: the level of each side.

        Returns:
            The two ends; NaN if the runs exclude nothing or no valid interval exists.
        """
        if min(group.size for group in groups) == 0 or not self.testable:
            return math.nan, math.nan
        if self.quantity == "median":
            x = np.sort(self._reduced(groups)[0][0])
            out = int((_binomial_tail(np.arange(x.size + 1), x.size, 0.5) <= level).sum())
            return (float(x[out - 1]), float(x[x.size - out])) if out else (math.nan, math.nan)
        least, most = self._possible()

        def end(side: Side) -> float:
            """The last limit on this side that the test does not reject."""
            inside, outside = (most, least) if side == "above" else (least, most)
            if not float(self.p(groups, outside, side)) <= level:
                return outside
            for _ in range(60):
                middle = (inside + outside) / 2
                if float(self.p(groups, middle, side)) <= level:
                    outside = middle
                else:
                    inside = middle
            return inside

        return end("above"), end("below")

    def _possible(self) -> tuple[float, float]:
        """The minimum and maximum possible value of the estimand."""
        low, high = cast("tuple[float, float]", self.range)
        width = (self.n_groups // 2) * (high - low)
        return (-width, width) if width else (low, high)

    def described(self, *groups: Floats) -> tuple[float, float]:
        """The interval of `mean_interval`, not used for verdicts; NaN for independent groups.

        Args:
            groups: the runs of each group, shape (n,).
        """
        whole = self.n_groups == 1 or self.paired is True
        return mean_interval(self._reduced(groups)[0][0]) if whole else (math.nan, math.nan)

    def best_chance(self) -> float:
        """The maximum probability of the most favourable run (one per group) if the claim is false.

        No valid test rejects with n runs at a level below this to the power n, since all runs may
        be equal although the claim is false. It is 1 if the claim cannot be shown at all.
        """
        if not self.testable:
            return 1.0
        if self.quantity == "median":
            return 0.5
        low, high = cast("tuple[float, float]", self.range)
        above, below = self.above, self.below
        if above is None and below is None:
            above = 0.0
        if self.n_groups > 1:
            low, high = self._possible()
        # The scaled claim: above s and below t, for a quantity between 0 and 1.
        s, t = ((0.0 if x is None else (x - low) / (high - low)) for x in (above, below))
        if above is not None and below is not None:
            # All runs are at the point c at which both sides are equally hard to exclude.
            c = s / (1 - t + s) if 1 - t + s > 0 else 0.5
            chance = s / c if c > 0 else 0.0
        else:
            chance = s if above is not None else 1 - t
        independent = self.n_groups == 2 and not self.paired
        independent |= self.n_groups == 4 and self.paired is not True
        chance = chance**2 if independent else chance
        return min(1.0, max(0.0, chance))

    def fewest_runs(self, level: float = LEVEL) -> int:
        """The minimum number of runs per group with which a valid test could show the claim.

        A share of at least 0.9 needs 36 runs at 2.5 %, and a mean below 0.5 of a measure from 0
        to 20 needs 146.

        Args:
            level: the level.

        Returns:
            The number; 0 if no number is enough.
        """
        if self.kind == "share" and self.above is not None and self.below is not None:
            return next((n for n in range(1, 10 * MOST_RUNS) if self.least_p(n) <= level), 0)
        chance = self.best_chance()
        if chance >= 1:
            return 0
        return 1 if chance == 0 else max(1, math.ceil(math.log(level) / math.log(chance) - 1e-9))

    def least_p(self, n: int) -> float:
        """The smallest one-sided p-value of any valid test with n runs per group.

        Args:
            n: the number of runs.
        """
        if self.kind != "share" or self.above is None or self.below is None:
            return self.best_chance() ** n
        counts = np.arange(n + 1)
        both = _binomial_tail(counts, n, self.above)
        return float(np.maximum(both, _binomial_tail(n - counts, n, 1 - self.below)).min())


@dataclass(frozen=True, slots=True)
class Inference:
    """The result of `infer`: the evidence of runs about an estimand.

    Attributes:
        estimand: the estimand, and the claim about it.
        verdict: ``agrees``, ``disagrees``, ``inconclusive`` or ``too few runs`` (no valid test
            could show the claim with so few); without a claim ``effects differ`` or ``no difference
            detected``, or ``inconclusive`` for a single group.
        estimate: in units of the measure (a share from 0 to 1).
        low: lower end of its 95 % interval; NaN without one.
        high: upper end.
        p_for: one-sided p-value for the claim; without a claim the two-sided one of a difference.
        p_against: one-sided p-value for the opposite of the claim; NaN without a claim.
        e: e-value for the claim, for betting methods; NaN for others.
        method: the test and the interval, in words.
        n: number of runs with a value in each group.
        missing: number of runs, over all groups, without a value.
        effect: effect size, without unit.
        effect_name: name of the measure of effect size.
        fewest: minimum number of runs per group with which a valid test could show the claim at the
            level; 0 if there is no such number.
        why: the reason for a missing verdict or interval, or ``""``.
    """

    estimand: Estimand
    verdict: Verdict
    estimate: float
    low: float
    high: float
    p_for: float
    p_against: float
    e: float
    method: str
    n: tuple[int, ...]
    missing: int
    effect: float
    effect_name: str
    fewest: int
    why: str = ""

    @property
    def paired(self) -> bool:
        """Whether runs of several groups were compared pair by pair."""
        return bool(self.estimand.paired) and self.estimand.n_groups > 1

    @property
    def p(self) -> float:
        """The two-sided p-value: twice the smaller one-sided one; NaN without runs."""
        if math.isnan(self.p_against):
            return self.p_for
        return min(1.0, 2 * min(self.p_for, self.p_against))


def infer(
    kind: Kind,
    *groups: Values,
    of: Of = "mean",
    above: float | None = None,
    below: float | None = None,
    margin: float | None = None,
    bounds: tuple[float, float] | None = None,
    paired: bool | Literal["within"] = False,
    level: float = LEVEL,
) -> Inference:
    """Estimate a quantity of runs and judge a claim about it; all verdicts use this function.

    Examples of claims::

        infer("share", got_out, above=0.9)  # of runs, each 0 or 1
        infer("mean", price, above=6.5, below=7.5, bounds=(0, 20))
        infer("median", change, below=0)
        infer("difference", talking, silent, of="median", below=0, paired=True)
        infer("equivalence", one, other, margin=0.5, bounds=(0, 20))
        infer("equal_effects", a, b, c, d, of="median", paired=True)  # no margin: do they differ?

    Args:
        kind: see the module docstring.
        groups: one, two or four groups, each with one number per run.
        of: see `Estimand`.
        above: see `Estimand`.
        below: see `Estimand`.
        margin: short for above = −margin, below = margin.
        bounds: see `Estimand`.
        paired: see `Estimand`.
        level: the level of each one-sided test of the verdict. The interval always has 95 %.

    Returns:
        The inference. Its verdict is at `level`, not corrected for other claims; see `holm`.

    Raises:
        ValueError: for a wrong number of groups, pairs of different length, a run outside the
            bounds, a share that is neither 0 nor 1, an infinite number, or invalid limits.
    """
    if margin is not None:
        if not 0 < margin < math.inf:
            raise ValueError(f"the margin must be positive and finite, not {margin}")
        above, below = -margin, margin
    estimand = Estimand(kind, of, above, below, bounds, paired)
    return infer_of(estimand, *groups, level=level)


def infer_of(estimand: Estimand, *groups: Values, level: float = LEVEL) -> Inference:
    """`infer` for an existing estimand.

    Args:
        estimand: the estimand.
        groups: one number per run of each group.
        level: see `infer`.

    Raises:
        ValueError: see `infer`.
    """
    samples, missing = _known(estimand, groups)
    n = tuple(group.size for group in samples)
    towards, against = (float(p) for p in estimand.p_values(*samples))
    low, high = estimand.interval(*samples)
    why = "" if estimand.testable else NO_BOUNDS
    if not estimand.testable:
        low, high = estimand.described(*samples)
    fewest = estimand.fewest_runs(level)
    effect, name = _effect(estimand, samples)
    claims = estimand.above is not None or estimand.below is not None
    word: Verdict = INCONCLUSIVE if claims or estimand.n_groups == 1 else NO_DIFFERENCE
    if not why and min(n) == 0:
        why = "no run has a value"
    elif not why and claims and towards <= level:
        word = AGREES
    elif not why and claims and against <= level:
        word = DISAGREES
    elif not why and not claims and estimand.n_groups > 1 and towards <= 2 * level:
        word = DIFFER
    elif not why and claims and min(n) < (fewest or math.inf):
        word = TOO_FEW
        why = (
            f"no valid test can show this with fewer than {fewest} runs"
            if fewest
            else "no number of runs can show this"
        )
    bets = estimand.quantity == "mean" or (estimand.quantity == "share" and estimand.n_groups > 1)
    e = 1 / towards if bets and claims and towards > 0 else math.inf if towards == 0 else math.nan
    return Inference(
        estimand, word, estimand.estimate(*samples), low, high, towards, against, e,
        _method(estimand), n, missing, effect, name, fewest, why,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunsNeeded:
    """The number of runs per group that a claim needs, as a range estimated from a pilot.

    Attributes:
        low: the number for the largest effect that fits the pilot (10 % point); None: more than
            `MOST_RUNS`.
        likely: the median number; None: as `low`.
        high: the number for the smallest effect that fits the pilot (90 % point); None: as `low`.
    """

    low: int | None
    likely: int | None
    high: int | None

    def __str__(self) -> str:
        if self.low is None:
            return f"more than {MOST_RUNS} runs"
        if self.high is None:
            return f"{self.low} runs or more"
        if self.low == self.high:
            return f"{self.low} runs"
        return f"{self.low} to {self.high} runs"


def runs_needed(
    estimand: Estimand,
    pilot: Sequence[npt.ArrayLike],
    level: float = LEVEL,
    power: float = 0.8,
    most: int = MOST_RUNS,
    *,
    pilots: int = 40,
    experiments: int = 100,
    seed: int = 0,
) -> RunsNeeded:
    """The number of runs per group that most likely gives a verdict on a claim.

    The uncertainty of the pilot is simulated. Each of `pilots` draws takes a mean and a spread that
    are compatible with the pilot (from a normal sample; for shares, from Jeffreys' posterior), and
    simulates experiments with runs like those of the pilot, rescaled to this mean and spread. The
    number of a draw is the smallest at which the share `power` of its experiments shows the claim
    or its opposite. The result is the 10 %, 50 % and 90 % point over the draws. The range contains
    the number needed under the truth for about four of five pilots.

    Args:
        estimand: the estimand, with a claim.
        pilot: the runs of each group, one number per run; NaN is left out.
        level: of the one-sided tests.
        power: the share of experiments that must be decided, between 0 and 1.
        most: the largest number of runs that is tried, at least 2.
        pilots: the number of draws of the truth.
        experiments: number of simulated experiments per draw.
        seed: the seed of all draws.

    Returns:
        The range; all three numbers are None if no valid test exists or a group has fewer than two
        runs.

    Raises:
        ValueError: if `level`, `power` or `most` is out of range, or the groups do not fit.
    """
    if not (0 < level < 1 and 0 < power < 1 and most >= 2):
        raise ValueError(
            f"need level and power between 0 and 1, and most >= 2, not {level}, {power}, {most}"
        )
    samples, _ = _known(estimand, [np.asarray(group, dtype=np.float64) for group in pilot])
    if min(group.size for group in samples) < 2 or not estimand.testable:
        return RunsNeeded(None, None, None)
    if estimand.paired:
        n = min(group.size for group in samples)
        samples = [group[:n] for group in samples]
    rng = np.random.default_rng(seed)
    two_groups = estimand.n_groups > 1 and not estimand.paired and estimand.quantity != "median"
    draws, tries = (max(8, pilots // 4), max(25, experiments // 4)) if two_groups else (
        pilots, experiments)  # fmt: skip
    longest = min(most, 200) if two_groups else most
    numbers = [
        _needed(estimand, _redrawn(estimand, samples, (tries, longest), rng), level, power)
        for _ in range(draws)
    ]
    low, likely, high = np.quantile(
        [math.inf if n is None else n for n in numbers], [0.1, 0.5, 0.9], method="inverted_cdf"
    )
    return RunsNeeded(*(None if math.isinf(n) else int(n) for n in (low, likely, high)))


def runs_for_share(
    share: float, level: float = LEVEL, power: float = 0.8, most: int = MOST_RUNS
) -> int | None:
    """The number of runs for a sign test to detect that more than half are on one side of a limit.

    Args:
        share: the true share of runs on that side.
        level: of the one-sided test.
        power: the probability of detection.
        most: the largest number of runs.

    Returns:
        The smallest number with this power; None if it is more than `most`.
    """
    few = 0
    for n in range(1, most + 1):
        counts = np.arange(n + 1)
        rejected = counts[_binomial_tail(counts, n, 0.5) <= level]
        if not rejected.size or float(_binomial_tail(rejected[0], n, share)) < power:
            few = n
    return few + 1 if few < most else None


def _needed(
    estimand: Estimand, experiments: Sequence[Floats], level: float, power: float
) -> int | None:
    """The smallest number of runs at which the claim or its opposite is shown often enough."""
    limits: list[tuple[float, Side]] = []
    if estimand.above is not None:
        limits.append((estimand.above, "above"))
    if estimand.below is not None:
        limits.append((estimand.below, "below"))
    courses = estimand._courses  # noqa: SLF001  # of this module
    if not limits:
        both = [courses(experiments, 0.0, side) <= level for side in get_args(Side)]
        shown = [both[0], both[1]]
    else:
        towards = [courses(experiments, limit, side) <= level for limit, side in limits]
        away = level / len(limits)
        against = [courses(experiments, limit, _other(side)) <= away for limit, side in limits]
        shown = [np.all(towards, axis=0), np.any(against, axis=0)]
    share = np.max([flags.mean(axis=0) for flags in shown], axis=0)
    too_few = np.flatnonzero(share < power)
    needed = int(too_few[-1]) + 2 if too_few.size else 1
    return needed if needed <= share.size else None


def _redrawn(
    estimand: Estimand, groups: Sequence[Floats], shape: tuple[int, int], rng: np.random.Generator
) -> list[Floats]:
    """Experiments from one truth compatible with the pilot: per group, shape (experiments, n)."""
    if estimand.quantity == "share":
        if not estimand.paired:
            chances = [rng.beta(g.sum() + 0.5, g.size - g.sum() + 0.5) for g in groups]
            return [(rng.random(shape) < chance).astype(np.float64) for chance in chances]
        rows = np.array(list(product((0.0, 1.0), repeat=len(groups))))
        counts = (np.stack(groups, axis=1)[:, None] == rows).all(axis=2).sum(axis=0)
        drawn_rows = rows[rng.choice(len(rows), size=shape, p=rng.dirichlet(counts + 0.25))]
        return [drawn_rows[..., number] for number in range(len(groups))]
    n = groups[0].size
    common_places = rng.integers(n, size=shape) if estimand.paired else None
    shift, spread = rng.standard_normal(), rng.chisquare(max(1, n - 1))
    redrawn = []
    for number, group in enumerate(groups):
        size = group.size
        if common_places is None:
            shift, spread = rng.standard_normal(), rng.chisquare(size - 1)
        places = rng.integers(size, size=shape) if common_places is None else common_places
        drawn = group[places]
        if not estimand.paired:
            sd = float(group.std(ddof=1))
            truth = sd * math.sqrt((size - 1) / spread)
            scale = truth / sd if sd else 1.0
            drawn = group.mean() + shift * truth / math.sqrt(size) + (drawn - group.mean()) * scale
        elif number == 0:  # for pairs, the difference is uncertain: the first group is moved
            rest = groups[0] - sum(
                (sign * other for sign, other in zip((1, 1, -1), groups[1:], strict=False)),
                np.zeros(n),
            )
            sd = float(rest.std(ddof=1))
            truth = sd * math.sqrt((n - 1) / spread)
            scale = truth / sd if sd else 1.0
            moved = shift * truth / math.sqrt(n) + (rest[places] - rest.mean()) * (scale - 1)
            drawn = drawn + moved
        redrawn.append(drawn)
    if estimand.range is not None:
        redrawn = [np.clip(group, *estimand.range) for group in redrawn]
    return redrawn


def holm(p_values: Iterable[float]) -> Floats:
    """P-values adjusted for the number of tests, which control the family-wise error rate.

    Source: Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
    Journal of Statistics 6(2).

    Args:
        p_values: one per test; tests without a result (NaN) do not count.

    Returns:
        Array of the same length and order, with NaN at the same positions.

    Raises:
        ValueError: for a p-value outside 0 to 1.
    """
    p = np.array(list(p_values), dtype=np.float64)
    made = np.flatnonzero(~np.isnan(p))
    if ((p[made] < 0) | (p[made] > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, not {p[made].tolist()}")
    order = made[np.argsort(p[made], kind="stable")]
    stepped = p[order] * np.arange(order.size, 0, -1)
    p[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return p


def splits(
    total: int, n: int, draws: int, rng: np.random.Generator | int = 0
) -> tuple[Floats, bool]:
    """Choices of n of `total` positions as 0/1 rows: all of them up to `EXACT`, otherwise a sample.

    Args:
        total: the number of positions.
        n: the number of chosen positions.
        draws: the size of the sample if there are more than `EXACT` choices.
        rng: generator or seed of the sample.

    Returns:
        One choice per row, and whether the rows are all choices.
    """
    if math.comb(total, n) <= EXACT:
        return _all_splits(total, n), True
    return _some_splits(total, n, draws, np.random.default_rng(rng)), False


def _known(estimand: Estimand, groups: Sequence[Values]) -> tuple[list[Floats], int]:
    """The runs with a value, by group, and the number of runs without a value."""
    if len(groups) != estimand.n_groups:
        raise ValueError(
            f"{estimand.kind} needs {estimand.n_groups} group"
            f"{'s' * (estimand.n_groups > 1)} of runs (got {len(groups)})"
        )
    given = [
        np.array([math.nan if value is None else value for value in group], dtype=np.float64)
        for group in groups
    ]
    missing = sum(known_values(group)[1] for group in given)
    tied = [given] if estimand.paired is True else [given[:2], given[2:]]
    if estimand.paired and estimand.n_groups > 1:
        samples: list[Floats] = []
        for groups_ in filter(None, tied):
            if len({group.size for group in groups_}) > 1:
                sizes = " and ".join(str(group.size) for group in groups_)
                raise ValueError(f"paired runs need groups of equal size, not {sizes}")
            whole = ~np.isnan(groups_).any(axis=0)
            samples += [group[whole] for group in groups_]
    else:
        samples = [group[~np.isnan(group)] for group in given]
    for group in samples:
        if estimand.quantity == "share" and not np.isin(group, (0.0, 1.0)).all():
            raise ValueError("a share of runs needs a 0 or a 1 of each run")
        if estimand.range is not None and group.size:
            low, high = estimand.range
            slack = 1e-9 * (high - low)
            if group.min() < low - slack or group.max() > high + slack:
                worst = group[np.argmax(np.maximum(low - group, group - high))]
                raise ValueError(f"a run has {worst:g}, outside the bounds {low:g} to {high:g}")
            np.clip(group, low, high, out=group)
    return samples, missing


def _effect(estimand: Estimand, groups: Sequence[Floats]) -> tuple[float, str]:
    """The size of the effect, and its name."""
    above, below = estimand.above, estimand.below
    if above is not None and below is not None:
        middle, half = (above + below) / 2, (below - above) / 2
        return (estimand.estimate(*groups) - middle) / half, FROM_MIDDLE
    if min(group.size for group in groups) == 0:
        return math.nan, DELTA
    limit = above if above is not None else below if below is not None else 0.0
    if estimand.n_groups == 1:
        return _delta(groups[0], np.array([limit])), DELTA
    if estimand.n_groups == 4 or estimand.paired:
        halves = _halves(groups)
        differences = [a - b for a, b in zip(*halves, strict=True)]
        if len(differences) == 2 and estimand.paired == "within":
            return _delta(*differences), DELTA
        one = differences[0] if len(differences) == 1 else np.subtract(*_cut(*differences))
        return _delta(one, np.array([limit])), DELTA_WITHIN
    return _delta(groups[0] - limit, groups[1]), DELTA


def _method(estimand: Estimand) -> str:
    """The method in words."""
    if not estimand.testable:
        return "none (a mean without bounds)"
    one = estimand.n_groups == 1
    if estimand.quantity == "median":
        where = "" if one else " of pairs" if estimand.paired else " of runs in their order"
        return f"sign test{where}"
    if estimand.quantity == "share" and one:
        return "binomial test"
    return "bets" if one else "bets on pairs" if estimand.paired else "bets on both groups"


def _signs(x: Floats, limit: float, side: Side) -> Floats:
    """Sign test of the median being above (or below) a limit, after each run."""
    slack = _SAME * np.maximum(np.abs(x), abs(limit))
    beyond = x > limit + slack if side == "above" else x < limit - slack
    n = np.arange(1, x.shape[-1] + 1)
    return _binomial_tail(beyond.cumsum(axis=-1), n, 0.5)


def _binomial(x: Floats, limit: float, side: Side) -> Floats:
    """Binomial test of a share being above (or below) a limit, after each run."""
    n = np.arange(1, x.shape[-1] + 1)
    count = x.cumsum(axis=-1)
    if side == "below":
        count, limit = n - count, 1 - limit
    return _binomial_tail(count, n, limit)


def _binomial_tail(count: npt.ArrayLike, n: npt.ArrayLike, chance: float) -> Floats:
    """The probability of at least `count` successes in n."""
    from scipy.special import betainc

    count, n = np.broadcast_arrays(np.asarray(count, float), np.asarray(n, float))
    if chance <= 0:
        return np.asarray(count <= 0, dtype=np.float64)
    some = np.maximum(count, 1.0)
    tail = betainc(some, n - some + 1, min(chance, 1.0))
    return np.asarray(np.where(count <= 0, 1.0, tail), dtype=np.float64)


def _bet(x: Floats, limit: float, side: Side, bounds: tuple[float, float]) -> Floats:
    """Bets that a mean is above (or below) a limit, after each run."""
    low, high = bounds
    scaled, m = (x - low) / (high - low), (limit - low) / (high - low)
    if side == "below":
        scaled, m = 1 - scaled, 1 - m
    return _p_of_wealth(_log_wealth(scaled, np.array([m]))[..., 0, :])


def _common(low: float, high: float, a: Floats) -> Floats:
    return np.linspace(low, high, (_COMMON if a.ndim == 1 else _COMMON_OF_MANY) + 1)


def _two_groups(
    a: Floats, b: Floats, of_b: Floats, of_a: Floats, bounds: tuple[float, float], side: Side,
    *, last: bool,
) -> Floats:  # fmt: skip
    """Bets against every pair of means at the border of the hypothesis, after each run.

    Args:
        a: shape (..., n_a).
        b: shape (..., n_b).
        of_b: means of the second group, rising, from one bound to the other.
        of_a: the corresponding means of the first group, rising.
        bounds: the bounds of both groups.
        side: ``"above"``: the mean of the first group is above `of_a` if the mean of the second is
            at `of_b`.
        last: whether to return only the wealth after the last run; required for groups of different
            size.

    Returns:
        Shape (..., n), or (..., 1) with `last`.
    """
    low, high = bounds
    first, second = ((x - low) / (high - low) for x in (a, b))
    means_a, means_b = ((m - low) / (high - low) for m in (of_a, of_b))
    if side == "below":
        first, second, means_a, means_b = (
            1 - first,
            1 - second,
            1 - means_a[::-1],
            1 - means_b[::-1],
        )
    # Wealth decreases with the mean that it bets against, so its value at the ends of a grid step
    # is a lower limit within the step.
    wealth_a = _log_wealth(first, np.minimum(means_a[1:], 1.0), last=last)
    wealth_b = _log_wealth(1 - second, 1 - means_b[:-1], last=last)
    with np.errstate(invalid="ignore"):
        wealth = wealth_a + wealth_b
    wealth = np.where(np.isnan(wealth), -math.inf, wealth)
    return _p_of_wealth(wealth.min(axis=-2))


def _log_wealth(x: Floats, means: Floats, *, last: bool = False) -> Floats:
    """The log of the wealth of bets that the mean is above each of `means`, after each run.

    Args:
        x: shape (..., n), from 0 to 1.
        means: shape (k,). Means below 0 are impossible, so the wealth is infinite there.
        last: whether to return only the wealth after the last run.

    Returns:
        Shape (..., k, n), or (..., k, 1) with `last`.
    """
    nil, none = np.abs(means) <= _SAME, means < -_SAME
    m = np.where(nil | none, 1.0, means)[:, None]
    wealth = np.full((*x.shape[:-1], means.size, 1 if last else x.shape[-1]), -math.inf)
    with np.errstate(divide="ignore"):
        for fraction, stake in BETS:
            gains = np.log1p(fraction * (x[..., None, :] / m - 1))
            total = gains.sum(axis=-1, keepdims=True) if last else gains.cumsum(axis=-1)
            np.logaddexp(wealth, math.log(stake) + total, out=wealth)
    wealth[..., none, :] = math.inf
    if nil.any():
        seen = np.where(np.maximum.accumulate(x, axis=-1) > 0, math.inf, 0.0)
        wealth[..., nil, :] = (seen[..., -1:] if last else seen)[..., None, :]
    return wealth


def _p_of_wealth(log_wealth: Floats) -> Floats:
    return np.asarray(np.exp(-np.maximum(log_wealth, 0.0)), dtype=np.float64)


def _halves(groups: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """The first and the second group of each pair of groups, cut to the same number of runs."""
    pairs = [_cut(a, b) for a, b in zip(groups[::2], groups[1::2], strict=True)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _cut(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Two groups, cut to the number of runs of the smaller one."""
    n = min(a.shape[-1], b.shape[-1])
    return a[..., :n], b[..., :n]


def _other(side: Side) -> Side:
    return "below" if side == "above" else "above"


def _delta(a: Floats, b: Floats) -> float:
    """Cliff's delta: the share of pairs with a above b, minus the share with a below b.

    Source: Cliff (1993), "Dominance Statistics", Psychological Bulletin 114(3).
    """
    largest = max(np.abs(a).max(), np.abs(b).max()) or 1.0
    one, other = (np.round(values / largest, 10) for values in (a, b))
    return float(np.sign(one[:, None] - other).mean())


def _all_splits(total: int, n: int) -> Floats:
    """All choices of n of `total` positions, as one 0/1 row per choice."""
    chosen = np.array(list(combinations(range(total), n)))
    splits = np.zeros((len(chosen), total))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits


def _some_splits(total: int, n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Random choices of n of `total` positions, shape (draws, total)."""
    chosen = rng.random((draws, total)).argpartition(n - 1, axis=1)[:, :n]
    splits = np.zeros((draws, total))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits
