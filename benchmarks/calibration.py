"""How often are the verdicts wrong? ``python -m benchmarks.calibration [--draws N]``.

For each estimand, distribution and number of runs, studies with a known truth are simulated:

- *size*: how often a false claim agrees when the truth is at its limit (the larger of both sides);
- *coverage*: how often the 95 % interval contains the truth;
- *power*: how often a true claim agrees when its limit is half a standard deviation away (for a
  share of runs, 0.2 or half of the share).

The table in ``docs/calibration.md`` has, for each estimand, the worst size and coverage of all
distributions, and the power for its first distribution. Distributions are given by their quantile
functions, so that mean and median are known without sampling.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom, expon, gamma, lognorm, norm, pareto, t

from sabm_mesa.analysis.inference import LEVEL, Estimand, Side

Floats = npt.NDArray[np.float64]
Quantiles = Callable[[Floats], Floats]
"""The value of a measure at each cumulative probability."""
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
BEGIN, END = "<!-- calibration -->", "<!-- end of calibration -->"
DRAWS, CHUNK = 10_000, 250
"""The number of studies per cell, and how many are drawn at once, which limits the memory."""
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
    """An estimand with its true value, and the distribution of each group."""

    claim: str
    name: str
    estimand: Callable[..., Estimand]
    groups: tuple[Quantiles, ...]
    truth: float
    step: float


class Cell(NamedTuple):
    """Errors, as in the docstring of the module; a power of NaN: no test is valid with so few."""

    size: float
    coverage: float
    power: float


def cases() -> Iterator[Case]:
    """Yield the estimands of claims, each with a dozen distributions."""
    bounded = partial(Estimand, bounds=(0.0, 1.0))
    paired = partial(bounded, paired=True)
    for name, quantiles in BOUNDED.items():
        mean, sd, _ = _moments(quantiles)
        other = _steady(mean)
        apart = mean - _moments(other)[0]
        yield Case("mean, with bounds", name, partial(bounded, "mean"), (quantiles,), mean, sd / 2)
        groups = quantiles, other
        for kind, estimand in (("in pairs", paired), ("independent runs", bounded)):
            claim, of_groups = f"difference of means, {kind}", partial(estimand, "difference")
            yield Case(claim, name, of_groups, groups, apart, sd / 2)
    for name, quantiles in UNBOUNDED.items():
        _, sd, median = _moments(quantiles)
        yield Case("median", name, partial(Estimand, "median"), (quantiles,), median, sd / 2)
        pairs = partial(Estimand, "difference", "median", paired=True)
        yield Case("median difference, in pairs", name, pairs, (quantiles, quantiles), 0.0, sd / 2)
    for share in SHARES:
        quantiles, step = partial(_is_below, share=share), min(0.2, share / 2)
        yield Case(
            "share of runs", f"{share:g}", partial(Estimand, "share"), (quantiles,), share, step
        )


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
    wrong: dict[Side, int] = {"above": 0, "below": 0}
    right, bare = 0, case.estimand()
    for begin in range(0, draws, CHUNK):
        shape = (min(CHUNK, draws - begin), n)
        drawn = [quantiles(rng.random(shape)) for quantiles in case.groups]
        for side in wrong:
            wrong[side] += int((bare.p(drawn, case.truth, side) <= LEVEL).sum())
        right += int((bare.p(drawn, case.truth - case.step, "above") <= LEVEL).sum())
    refused = n < case.estimand(above=case.truth).fewest_runs()
    coverage = 1 - sum(wrong.values()) / draws
    return Cell(max(wrong.values()) / draws, coverage, math.nan if refused else right / draws)


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
