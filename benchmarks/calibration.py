"""How often are the verdicts wrong? ``python -m benchmarks.calibration [PART …] [--draws N]``.

For each estimand, distribution and number of runs, studies with a known truth are simulated:

- *size*: how often a false claim agrees when the truth is at its limit (the larger of both sides);
- *coverage*: how often the 95 % interval contains the truth;
- *power*: how often a true claim agrees when its limit is half a standard deviation away.

The tables are written into ``docs/calibration.md``, and that of the probe into
``docs/how-to/probe.md``, between the marks of their part. Distributions are given by their quantile
functions, so that mean and median are known without sampling.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom, expon, gamma, lognorm, norm, pareto, t, uniform

from benchmarks.probe_players import probes
from sabm_mesa.analysis.inference import LEVEL, Estimand, Side, runs_for_share, runs_needed
from sabm_mesa.analysis.statistics import mean_interval

Floats = npt.NDArray[np.float64]
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
DRAWS = 10_000
NUMBERS = (5, 8, 15, 30, 60)
"""Numbers of runs per group."""
CHUNK = 250
"""The number of studies to draw at once, which limits the memory."""
UNIT = (0.0, 1.0)
HIGHEST_SIZE = 0.03


@dataclass(frozen=True)
class Distribution:
    """A distribution of a measure over runs.

    Attributes:
        name: its name in the tables.
        quantiles: the value at each cumulative probability.
    """

    name: str
    quantiles: Callable[[Floats], Floats]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw runs.

        Args:
            rng: the generator.
            shape: the shape of the result.
        """
        return self.quantiles(rng.random(shape))

    @cache  # noqa: B019  # few distributions, which live as long as the program
    def moments(self) -> tuple[float, float, float]:
        """Return mean, standard deviation and median."""
        values = self.quantiles((np.arange(2_000_000) + 0.5) / 2_000_000)
        return float(values.mean()), float(values.std()), float(np.median(values))


def _clipped(of: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda u: np.clip(of(u), 0.0, 1.0)


def _mixed(u: Floats) -> Floats:
    """Quantiles: four fifths near 0.2, one fifth near 0.8."""
    low, high = norm.ppf(u / 0.8, 0.2, 0.03), norm.ppf((u - 0.8) / 0.2, 0.8, 0.03)
    return np.asarray(np.where(u < 0.8, low, high), dtype=np.float64)


BOUNDED = [
    Distribution("uniform", lambda u: u),
    Distribution("bell (beta 2, 2)", beta(2, 2).ppf),
    Distribution("U-shaped (beta ½, ½)", beta(0.5, 0.5).ppf),
    Distribution("skewed up (beta ½, 4½)", beta(0.5, 4.5).ppf),
    Distribution("skewed down (beta 4½, ½)", beta(4.5, 0.5).ppf),
    Distribution("0 or 1, even", lambda u: (u > 0.5).astype(float)),
    Distribution("0 or 1, one in 10", lambda u: (u > 0.9).astype(float)),
    Distribution("0 or 1, one in 20", lambda u: (u > 0.95).astype(float)),
    Distribution("steady (normal, SD 0.02)", _clipped(norm(0.5, 0.02).ppf)),
    Distribution("lognormal, cut at its 99 %", _clipped(lambda u: lognorm(1).ppf(u) / 10.24)),
    Distribution("two modes, 4 to 1", _clipped(_mixed)),
    Distribution("ratings of 0 to 10", lambda u: binom(10, 0.3).ppf(u) / 10),
    Distribution("mostly 0", lambda u: np.where(u < 0.6, 0.0, 0.2 + 2.0 * (u - 0.6))),
    Distribution("heavy tails (t of 3)", _clipped(lambda u: 0.5 + 0.05 * t(3).ppf(u))),
]
UNBOUNDED = [
    Distribution("normal", norm.ppf),
    Distribution("uniform", uniform.ppf),
    Distribution("exponential", expon.ppf),
    Distribution("lognormal", lognorm(1).ppf),
    Distribution("lognormal, σ 1.5", lognorm(1.5).ppf),
    Distribution("gamma ½", gamma(0.5).ppf),
    Distribution("t of 3", t(3).ppf),
    Distribution("Laplace-like (t of 2)", t(2).ppf),
    Distribution("Pareto 3", pareto(3).ppf),
    Distribution("two modes", lambda u: norm.ppf(u, 0, 0.3) + 4.0 * (u > 0.5)),
    Distribution("U-shaped (beta ½, ½)", beta(0.5, 0.5).ppf),
    Distribution("skewed down (beta 4½, ½)", beta(4.5, 0.5).ppf),
]


@dataclass(frozen=True)
class Cell:
    """The errors of one estimand, distribution and number of runs.

    Attributes:
        size: see the module.
        coverage: see the module.
        power: see the module; NaN where no test is valid with so few runs.
    """

    size: float
    coverage: float
    power: float


def cell(
    estimand: Callable[..., Estimand],
    groups: Sequence[Distribution],
    truth: float,
    step: float,
    n: int,
    draws: int,
) -> Cell:
    """Draw studies, and count the errors.

    Args:
        estimand: makes the estimand, given above or below.
        groups: the distribution of each group.
        truth: the true value of the estimand.
        step: the distance of the limit of a true claim.
        n: the number of runs per group.
        draws: the number of studies.
    """
    rng = np.random.default_rng([n, *map(ord, groups[0].name)])
    wrong: dict[Side, int] = {"above": 0, "below": 0}
    right = 0
    bare = estimand()
    for begin in range(0, draws, CHUNK):
        shape = (min(CHUNK, draws - begin), n)
        drawn = [each.draw(rng, shape) for each in groups]
        for side in wrong:
            wrong[side] += int((bare.p(drawn, truth, side) <= LEVEL).sum())
        right += int((bare.p(drawn, truth - step, "above") <= LEVEL).sum())
    refused = n < estimand(above=truth).fewest_runs()
    size = max(wrong.values()) / draws
    return Cell(size, 1 - sum(wrong.values()) / draws, math.nan if refused else right / draws)


def _one_group(draws: int) -> Iterator[tuple[str, str, list[Cell]]]:
    for each in BOUNDED:
        mean, sd, _ = each.moments()

        def of_mean(**limits: Any) -> Estimand:
            return Estimand("mean", bounds=UNIT, **limits)

        yield (
            "mean, with bounds",
            each.name,
            [cell(of_mean, [each], mean, 0.5 * sd, n, draws) for n in NUMBERS],
        )
    for each in UNBOUNDED:
        _, _, median = each.moments()
        sd = float(np.diff(each.quantiles(np.array([0.16, 0.84])))[0]) / 2

        def of_median(**limits: Any) -> Estimand:
            return Estimand("median", **limits)

        yield (
            "median",
            each.name,
            [cell(of_median, [each], median, 0.5 * sd, n, draws) for n in NUMBERS],
        )
    for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):

        def zero_or_one(u: Floats, share: float = share) -> Floats:
            return (u < share).astype(np.float64)

        def of_share(**limits: Any) -> Estimand:
            return Estimand("share", **limits)

        yield "share of runs", f"{share:g}", [
            cell(of_share, [Distribution(f"{share:g}", zero_or_one)], share,
                 min(0.2, share / 2), n, draws)
            for n in NUMBERS
        ]  # fmt: skip


def _steady(mean: float) -> Distribution:
    return Distribution("steady", _clipped(norm(mean, 0.02).ppf))


def _pairs(draws: int) -> Iterator[tuple[str, str, list[Cell]]]:
    """Return cells for pairs of runs with different distributions and known differences."""
    for each in BOUNDED:
        mean, sd, _ = each.moments()
        for name, other in (("the same", each), ("steady", _steady(mean))):
            second, second_sd, _ = other.moments()

            def of_difference(**limits: Any) -> Estimand:
                return Estimand("difference", bounds=UNIT, paired=True, **limits)

            apart = math.hypot(sd, second_sd) / 2
            yield (
                "difference of means, in pairs",
                f"{each.name}; {name}",
                [
                    cell(of_difference, [each, other], mean - second, apart, n, draws)
                    for n in NUMBERS
                ],
            )
    for each in UNBOUNDED:
        u = np.random.default_rng(0).random((2, 2_000_000))
        difference = each.quantiles(u[0]) - norm.ppf(u[1])
        truth = float(np.median(difference))
        spread = float(np.diff(np.quantile(difference, [0.16, 0.84]))[0]) / 2

        def of_pairs(**limits: Any) -> Estimand:
            return Estimand("difference", "median", paired=True, **limits)

        yield (
            "median difference, in pairs",
            f"{each.name}; normal",
            [
                cell(
                    of_pairs, [each, Distribution("normal", norm.ppf)], truth, spread / 2, n, draws
                )
                for n in NUMBERS
            ],
        )


def _independent(draws: int) -> Iterator[tuple[str, str, list[Cell]]]:
    """Return cells for independent groups: a distribution, and a steady one with its mean."""
    for each in BOUNDED:
        mean, sd, _ = each.moments()
        steady = _steady(mean)
        second = steady.moments()[0]

        def of_difference(**limits: Any) -> Estimand:
            return Estimand("difference", bounds=UNIT, **limits)

        def of_ratio(**limits: Any) -> Estimand:
            return Estimand("ratio", bounds=UNIT, **limits)

        def of_effects(**limits: Any) -> Estimand:
            return Estimand("equal_effects", bounds=UNIT, **limits)

        for kind, make, distributions, truth, step in (
            ("difference of means", of_difference, [each, steady], mean - second, sd / 2),
            ("ratio of means", of_ratio, [each, steady], mean / second, sd / 2 / second),
            ("difference of differences", of_effects, [each, steady] * 2, 0.0, sd / 2),
        ):
            yield (
                f"{kind}, independent runs",
                f"{each.name}; steady",
                [cell(make, distributions, truth, step, n, draws) for n in NUMBERS],
            )


Rows = list[tuple[str, str, list[Cell]]]
"""Estimand, distribution, and a cell for each of `NUMBERS`."""


def all_rows(draws: int) -> Rows:
    """Return all cells of verdicts.

    Args:
        draws: the number of studies per cell.
    """
    return [*_one_group(draws), *_pairs(draws), *_independent(draws)]


def estimands(draws: int) -> str:
    """Return the tables of verdicts on one group of runs, or on pairs of runs, in Markdown.

    Args:
        draws: the number of studies per cell.
    """
    return f"{draws:,} draws per cell.\n\n{tables([*_one_group(draws), *_pairs(draws)])}"


def groups(draws: int) -> str:
    """Return the tables of verdicts on independent groups of runs, in Markdown.

    Args:
        draws: the number of studies per cell.
    """
    return f"{draws:,} draws per cell.\n\n{tables(list(_independent(draws)))}"


def tables(rows: Rows) -> str:
    """Return the tables of some cells, in Markdown.

    Args:
        rows: the cells.
    """
    text = []
    for kind in dict.fromkeys(kind for kind, _, _ in rows):
        mine = [(name, cells) for of, name, cells in rows if of == kind]
        size = max(each.size for _, cells in mine for each in cells)
        coverage = min(each.coverage for _, cells in mine for each in cells)
        text += [f"### {kind[0].upper()}{kind[1:]}", ""]
        text.append(
            f"{len(mine) * len(NUMBERS)} cells; largest size {_percent(size)}, lowest coverage "
            f"{_percent(coverage)}. Each entry shows size / coverage / power in per cent; a dash "
            "means too few runs for any valid test of this claim."
        )
        text += ["", f"| Distribution | {' | '.join(f'n = {n}' for n in NUMBERS)} |"]
        text.append(f"|---|{'--:|' * len(NUMBERS)}")
        text += [f"| {name} | {' | '.join(map(_entry, cells))} |" for name, cells in mine]
        text.append("")
    return "\n".join(text).rstrip()


def _entry(found: Cell) -> str:
    power = "–" if math.isnan(found.power) else f"{100 * found.power:.0f}"
    return f"{100 * found.size:.1f} / {100 * found.coverage:.1f} / {power}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def interval_coverage(each: Distribution, n: int, draws: int) -> float:
    """Return how often the interval of a mean without bounds contains the mean.

    Args:
        each: the distribution.
        n: the number of runs.
        draws: the number of studies.
    """
    rng = np.random.default_rng([n, *map(ord, each.name)])
    mean = each.moments()[0]
    runs = each.draw(rng, (draws, n))
    ends = [mean_interval(one, rng=i, n_resamples=1000) for i, one in enumerate(runs)]
    return float(np.mean([low <= mean <= high for low, high in ends]))


def intervals(draws: int) -> str:
    """Return the coverage of intervals of means whose bounds are not known, in Markdown.

    Args:
        draws: the number of studies per cell; a tenth is used, since each needs a bootstrap.
    """
    few = max(100, draws // 10)
    lines = [
        f"{few:,} draws per cell.", "",
        f"| Distribution | {' | '.join(f'n = {n}' for n in NUMBERS)} |",
        f"|---|{'--:|' * len(NUMBERS)}",
    ]  # fmt: skip
    for each in UNBOUNDED:
        shares = [interval_coverage(each, n, few) for n in NUMBERS]
        lines.append(f"| {each.name} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
    return "\n".join(lines)


def pilots(draws: int) -> str:
    """Return how often the range from a pilot of six runs contains the needed number of runs.

    Args:
        draws: the number of studies; a fiftieth is used, since each plans many others.
    """
    few = max(20, draws // 50)
    lines = [
        f"{few} pilots of 6 runs per row; power 0.8.", "",
        "| Claim | True number of runs | Range contains it | Upper end is enough |",
        "|---|--:|--:|--:|",
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    for shift in (0.5, 0.8, 1.2):
        needs = runs_for_share(float(norm.cdf(shift))) or 0
        found = [
            runs_needed(Estimand("median", above=0), [rng.normal(shift, 1, 6)], seed=i)
            for i in range(few)
        ]
        high = [math.inf if each.high is None else each.high for each in found]
        low = [math.inf if each.low is None else each.low for each in found]
        held = np.mean([a <= needs <= b for a, b in zip(low, high, strict=True)])
        enough = np.mean([b >= needs for b in high])
        lines.append(
            f"| median above 0, normal runs with mean {shift:g} SD | {needs} | {_percent(held)} | "
            f"{_percent(enough)} |"
        )
    return "\n".join(lines)


PARTS: dict[str, Callable[[int], str]] = {
    "estimands": estimands,
    "groups": groups,
    "intervals": intervals,
    "pilots": pilots,
    "probe": probes,
}
"""Part of the page → its tables in Markdown, from a number of draws per cell."""
PAGES = {"probe": PAGE.parent / "how-to" / "probe.md"}
"""Part → its page, for parts that are not on `PAGE`."""


def put(page: str, part: str, text: str) -> str:
    """Return a page with the text of a part between its marks.

    Args:
        page: the page.
        part: the part.
        text: its new text.

    Raises:
        SystemExit: when the page has no such marks.
    """
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"The page has no marks {begin} … {end}")
    return f"{head}{begin}\n\n{text}\n\n{end}{tail}"


def main() -> None:
    """Compute the parts and write them into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--draws", type=int, default=DRAWS, help="number of studies per cell")
    given = parser.parse_args()
    for part in given.parts or PARTS:
        if part not in PARTS:
            raise SystemExit(f"Unknown part {part!r}. Known: {', '.join(PARTS)}.")
        began = time.perf_counter()
        text = PARTS[part](given.draws)
        page = PAGES.get(part, PAGE)
        page.write_text(put(page.read_text("utf-8"), part, text), "utf-8")
        print(f"{part}: {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
