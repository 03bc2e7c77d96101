"""How often are the verdicts wrong? ``python -m benchmarks.calibration [--draws N]``.

For each estimand, distribution and number of runs, studies with a known truth are simulated:

- *size*: how often a false claim agrees when the truth is at its limit (the larger of both sides);
- *coverage*: how often neither of both limits is rejected, so that the 95 % interval, which has the
  limits that are not rejected, contains the truth;
- *power*: how often a true claim agrees when its limit is half a standard deviation away (for a
  share of runs, 0.2 or half of the share).

The table in ``benchmarks/calibration.md`` has, for each estimand, the worst size and coverage of
all distributions, and the power for its first distribution. Distributions are given by their
quantile functions, so that mean and median are known without sampling.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import beta, binom, expon, gamma, lognorm, norm, pareto, t

from sabm_mesa.analysis.intervals import LEVEL, Floats, Side
from sabm_mesa.analysis.tests import Estimand, samples_of

Quantiles = Callable[[Floats], Floats]
"""The value of a measure at each cumulative probability."""
PAGE = Path(__file__).parent / "calibration.md"
BEGIN, END = "<!-- calibration -->", "<!-- end of calibration -->"
DRAWS = 2_000
"""The number of studies per cell."""
NUMBERS = (5, 8, 15, 30, 60)
"""Numbers of runs per group."""


def _clipped(quantiles: Quantiles) -> Quantiles:
    return lambda u: np.clip(quantiles(u), 0.0, 1.0)


def _steady(mean: float) -> Quantiles:
    return _clipped(norm(mean, 0.02).ppf)


BOUNDED: Mapping[str, Quantiles] = {
    "uniform": lambda u: u,
    "bell (beta 2, 2)": beta(2, 2).ppf,
    "U-shaped (beta ½, ½)": beta(0.5, 0.5).ppf,
    "skewed up (beta ½, 4½)": beta(0.5, 4.5).ppf,
    "skewed down (beta 4½, ½)": beta(4.5, 0.5).ppf,
    "0 or 1, one in 2": lambda u: (u > 0.5).astype(float),
    "0 or 1, one in 10": lambda u: (u > 0.9).astype(float),
    "0 or 1, one in 20": lambda u: (u > 0.95).astype(float),
    "steady (normal, SD 0.02)": _steady(0.5),
    "lognormal, cut at its 99 %": _clipped(lambda u: lognorm(1).ppf(u) / 10.24),
    "ratings of 0 to 10": lambda u: binom(10, 0.3).ppf(u) / 10,
    "mostly 0": lambda u: np.where(u < 0.6, 0.0, 0.2 + 2.0 * (u - 0.6)),
    "heavy tails (t of 3)": _clipped(lambda u: 0.5 + 0.05 * t(3).ppf(u)),
}
UNBOUNDED: Mapping[str, Quantiles] = {
    "normal": norm.ppf,
    "uniform": lambda u: u,
    "exponential": expon.ppf,
    "lognormal": lognorm(1).ppf,
    "lognormal, σ 1.5": lognorm(1.5).ppf,
    "gamma ½": gamma(0.5).ppf,
    "t of 3": t(3).ppf,
    "t of 2": t(2).ppf,
    "Pareto 3": pareto(3).ppf,
    "two modes": lambda u: norm.ppf(u, 0, 0.3) + 4.0 * (u > 0.5),
    "U-shaped (beta ½, ½)": beta(0.5, 0.5).ppf,
    "skewed down (beta 4½, ½)": beta(4.5, 0.5).ppf,
}
SHARES = (0.5, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


class Case(NamedTuple):
    """A claim with its true value, and the distribution of each group."""

    claim: str
    name: str
    estimand: Estimand
    groups: Sequence[Quantiles]
    truth: float
    step: float


class Cell(NamedTuple):
    """Errors, as in the docstring of the module; a power of NaN: too few runs for the test."""

    size: float
    coverage: float
    power: float


def cases() -> Iterator[Case]:
    """Yield the estimands of claims, each with a dozen distributions."""
    unit = (0.0, 1.0)
    for name, quantiles in BOUNDED.items():
        mean, sd, _ = _moments(quantiles)
        other = _steady(mean)
        apart, step = mean - _moments(other)[0], sd / 2
        bounded = Estimand("mean", bounds=unit)
        yield Case("mean, with bounds", name, bounded, [quantiles], mean, step)
        pairs = Estimand("mean", 2, bounds=unit, paired=True)
        yield Case("difference of means, in pairs", name, pairs, [quantiles, other], apart, step)
    for name, quantiles in UNBOUNDED.items():
        _, sd, median = _moments(quantiles)
        yield Case("median", name, Estimand(), [quantiles], median, sd / 2)
        both, pairs = [quantiles, quantiles], Estimand(n_groups=2, paired=True)
        yield Case("median difference, in pairs", name, pairs, both, 0.0, sd / 2)
        apart = Estimand(n_groups=2)
        yield Case("difference of means, independent runs", name, apart, both, 0.0, sd / 2)
    for share in SHARES:
        quantiles, step = partial(_is_below, share=share), min(0.2, share / 2)
        yield Case("share of runs", f"{share:g}", Estimand("share"), [quantiles], share, step)


def _is_below(u: Floats, share: float) -> Floats:
    return (u < share).astype(np.float64)


@cache
def _moments(quantiles: Quantiles) -> tuple[float, float, float]:
    """Return mean, standard deviation and median of a distribution."""
    values = quantiles((np.arange(2_000_000) + 0.5) / 2_000_000)
    return float(values.mean()), float(values.std()), float(np.median(values))


def cell(case: Case, n: int, draws: int) -> Cell:
    """Draw studies with n runs per group, and count the errors.

    Args:
        case: the estimand and its truth.
        n: the number of runs per group.
        draws: the number of studies.
    """
    rng = np.random.default_rng([n, *map(ord, case.name)])
    tests: list[tuple[float, Side]] = [
        (case.truth, "above"), (case.truth, "below"), (case.truth - case.step, "above"),
    ]  # fmt: skip
    rejected = np.zeros(3)
    for _ in range(draws):
        drawn = samples_of(case.estimand, [quantiles(rng.random(n)) for quantiles in case.groups])
        rejected += [case.estimand.p(drawn, *test) <= LEVEL for test in tests]
    above, below, power = rejected / draws
    claim = replace(case.estimand, above=case.truth)
    few = n < (claim.fewest_runs() or math.inf)
    return Cell(max(above, below), 1 - above - below, math.nan if few else power)


def table(draws: int) -> str:
    """Return a row for each estimand and a column for each number of runs, in Markdown.

    Args:
        draws: the number of studies per cell.
    """
    rows: dict[str, list[list[Cell]]] = {}
    for case in cases():
        rows.setdefault(case.claim, []).append([cell(case, n, draws) for n in NUMBERS])
    lines = [f"| Claim about | {' | '.join(f'n = {n}' for n in NUMBERS)} |"]
    lines.append(f"|---|{'--:|' * len(NUMBERS)}")
    for claim, cells in rows.items():
        entries = []
        for column in zip(*cells, strict=True):
            power = "–" if math.isnan(column[0].power) else f"{100 * column[0].power:.0f}"
            size, coverage = (
                max(each.size for each in column),
                min(each.coverage for each in column),
            )
            entries.append(f"{100 * size:.1f} / {100 * coverage:.1f} / {power}")
        lines.append(f"| {claim} ({len(cells)}) | {' | '.join(entries)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration")
    parser.add_argument("--draws", type=int, default=DRAWS, help="studies per cell")
    draws: int = parser.parse_args().draws
    text = f"{draws:,} draws per cell.\n\n{table(draws)}"
    print(text)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
