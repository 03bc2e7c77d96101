"""Likelihoods of the types of cooperation, by hand."""

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.analysis.cooperation import (
    ConditionalCooperator,
    FreeRider,
    cooperation_facts,
    cooperation_models,
)
from sabm_mesa.analysis.estimation import fit


def giving(shares: list[float], others: list[float]) -> Panel:
    return Panel.of(
        Row(Decider(0, 1, "x"), time, share, cooperation_facts([seen], 20))
        for time, (share, seen) in enumerate(zip(shares, others, strict=True))
    )


def test_the_error_of_a_conditional_cooperator_is_rounded_and_cut_off() -> None:
    panel = giving([0.5, 0, 1], [0.6, 0.2, 1.0])
    found = ConditionalCooperator().log_likelihood(np.array([-0.1, 1.0, 0.1]), panel)

    # Means 0.5, 0.1 and 0.9: within 0.025 of the mean; below 0.025; above 0.975.
    assert np.exp(found) == pytest.approx([0.19741, 0.22663, 0.22663], abs=1e-5)


def test_a_free_rider_slips_to_each_other_amount_alike() -> None:
    found = FreeRider().log_likelihood(np.array([0.2]), giving([0, 0.05, 1], [0.5] * 3))

    assert np.exp(found) == pytest.approx([0.8, 0.01, 0.01])


def test_a_player_that_knows_nothing_expects_the_first_belief_of_people() -> None:
    assert cooperation_facts([], 20)["others"] == 0.5
    assert cooperation_facts([0.2, 0.4], 5) == pytest.approx(
        {"others": 0.3, "low": 0.0, "high": 1.0, "step": 0.2}
    )


@pytest.mark.slow
def test_shares_of_types_are_recovered() -> None:
    rng, mixture = np.random.default_rng(0), cooperation_models()[0]
    seen = rng.uniform(0, 1, (60, 10))
    panel = Panel.of(
        Row(Decider(0, i, "x"), t, 0.0, cooperation_facts([seen[i, t]], 20))
        for i in range(60) for t in range(10)
    )  # fmt: skip
    true = {"share_conditional": 0.6, "share_free_rider": 0.25, "share_unconditional": 0.15,
            "intercept": 0.0, "slope": 0.8, "sigma": 0.15, "slip": 0.05, "level": 0.5}  # fmt: skip
    found = fit(mixture, mixture.simulate(mixture.check(true), panel, rng)).by_name

    for name, value in true.items():
        assert found[name] == pytest.approx(value, abs=0.12 if "share" in name else 0.06)
