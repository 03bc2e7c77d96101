"""The test of gradual change: what it measures, and how often it errs."""

import math

import numpy as np
import pytest

from sabm_mesa.analysis.gradualness import excess_beyond_step, largest_step
from sabm_mesa.analysis.inference import Estimand

RAMP, STEP = [0.0, 1, 2, 3, 4, 5], [0.0, 0, 0, 5, 5, 5]


@pytest.mark.parametrize(
    ("path", "excess", "step"),
    [
        (RAMP, 5, -5),
        (STEP, -5, 5),
        ([0.0, 5, 5, 5, 5, 5], -5, 5),  # at the first round with talk
        ([3.0] * 6, 0, 0),
        ([0.0, 1, 2, 8, 9, 10], 0, 0),  # half and half: a line of 5 and a step of 5
    ],
)
def test_the_excess_of_courses_without_noise(path: list[float], excess: float, step: float) -> None:
    assert excess_beyond_step(path) == pytest.approx(excess, abs=1e-9)
    assert largest_step(path) == pytest.approx(step, abs=1e-9)
    fallen = [-value for value in path]
    assert excess_beyond_step(fallen, falling=True) == pytest.approx(excess, abs=1e-9)
    assert largest_step(fallen, falling=True) == pytest.approx(step, abs=1e-9)


def test_a_step_back_and_a_slope_forth_are_no_change() -> None:
    assert excess_beyond_step([0.0, 1, 2, -3, -2, -1, 0]) <= 1e-9


def test_three_rounds_tell_no_line_from_a_step() -> None:
    assert math.isnan(excess_beyond_step([1.0, 2, 3]))
    assert math.isnan(largest_step([1.0, 2, 3]))


def accepted(truth: str, rounds: int, noise: float, seed: int) -> tuple[float, float]:
    """The shares of 300 simulated studies of 8 runs that accept the claim, and its opposite."""
    rng, studies, runs = np.random.default_rng(seed), 300, 8
    time = np.linspace(0, 1, rounds)
    found = np.empty((2, studies, runs))
    for place in np.ndindex(studies, runs):
        step = (np.arange(rounds) >= rng.integers(1, rounds)).astype(float)
        course = {"none": 0 * time, "step": step, "half": (time + step) / 2, "ramp": time}[truth]
        path = course + noise * rng.normal(size=rounds)
        found[(0, *place)], found[(1, *place)] = excess_beyond_step(path), largest_step(path)
    shares = [float((Estimand("median").p([each], 0.0, "above") <= 0.025).mean()) for each in found]
    return shares[0], shares[1]


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "noise"), [(4, 0.2), (4, 1.0), (20, 0.5)])
def test_the_type_one_error_of_the_claim_and_of_its_opposite(rounds: int, noise: float) -> None:
    """The level is 2.5 %; 300 studies estimate it with a standard error of 0.9 points."""
    most = 0.025 + 2 * 0.009
    for seed, truth in enumerate(("none", "step", "half")):
        assert accepted(truth, rounds, noise, seed)[0] <= most
    for seed, truth in enumerate(("none", "ramp")):
        assert accepted(truth, rounds, noise, seed)[1] <= most


@pytest.mark.slow
def test_ramps_and_steps_are_told_where_noise_is_small() -> None:
    assert accepted("ramp", 4, 0.05, 0) == (1, 0)
    assert accepted("step", 4, 0.05, 0) == (0, 1)
    assert accepted("ramp", 20, 0.1, 0) == (1, 0)
    assert accepted("step", 20, 0.1, 0) == (0, 1)
