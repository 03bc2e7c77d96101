"""Behavioural models of prices."""

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.models.bertrand.study import STEP, Reaction, facts
from sabm_mesa.models.bertrand.theory import LinearMarket

MARKET = LinearMarket(2, 2.0, 14.0, 1 / 150, 1 / 300)
"""The default market: Bertrand price 6, cartel price 8."""


def test_a_firm_that_replies_best_has_the_intercept_0_and_the_slope_of_theory() -> None:
    known = [facts(MARKET, 6.0, [rival]) for rival in (2.0, 6.0, 8.0, 10.0)]

    assert [each["rivals"][0] for each in known] == pytest.approx([-2, 0, 1, 2])
    assert [each["reply"] for each in known] == pytest.approx([-0.5, 0, 0.25, 0.5])


def test_a_reaction_is_a_normal_error_around_a_line() -> None:
    panel = Panel.of([Row(Decider(0, 1, "x"), 1, 0.3, facts(MARKET, 6.0, [8.0]))])
    vector = np.array([0.1, 0.2, STEP / 2])  # the mean is that price

    assert np.exp(Reaction().log_likelihood(vector, panel)) == pytest.approx([0.6826895])
