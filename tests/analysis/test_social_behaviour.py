"""Likelihoods of social preferences and of types of cooperation, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.analysis.estimation import CHI_SQUARE, fit
from sabm_mesa.analysis.social_behaviour import (
    AdaptiveCooperator,
    ConditionalCooperator,
    CooperationByChance,
    FreeRider,
    HumpShapedCooperator,
    InequityAversion,
    UnconditionalCooperator,
    cooperation_mixture,
    inequity_types,
)

A = Decider(0, 1, "x")


def giving(units: list[float], others: list[float]) -> Panel:
    pairs = enumerate(zip(units, others, strict=True))
    return Panel.of(Row(A, t, given, {"others": seen, "steps": 20.0}) for t, (given, seen) in pairs)


def test_the_error_of_a_conditional_cooperator_is_rounded_and_cut_off() -> None:
    panel = giving([10, 0, 20], [0.6, 0.2, 1.0])
    found = ConditionalCooperator().log_likelihood(np.array([-0.1, 1.0, 0.1]), panel)

    # Means 0.5, 0.1 and 0.9: within 0.025 of the mean; below 0.025; above 0.975.
    assert np.exp(found) == pytest.approx([0.19741, 0.22663, 0.22663], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "vector"),
    [(ConditionalCooperator(), [0.1, 0.6, 0.3]), (FreeRider(), [0.4])],
    ids=lambda each: getattr(each, "name", ""),
)
def test_amounts_are_drawn_as_often_as_they_are_likely(model, vector: list[float]) -> None:
    rows = [Row(A, t, 0.0, {"others": 0.5, "steps": 4.0}) for t in range(40_000)]
    drawn = model.draw(np.array(vector), Panel.of(rows), np.random.default_rng(0))
    each = Panel.of([replace(rows[k], decision=5.0 * k) for k in range(5)])

    shares = [float((drawn == 5 * k).mean()) for k in range(5)]
    assert np.exp(model.log_likelihood(np.array(vector), each)) == pytest.approx(shares, abs=0.01)
    assert sum(shares) == pytest.approx(1)


def test_a_hump_shaped_cooperator_is_a_conditional_one_up_to_half() -> None:
    vector, panel = np.array([0.1, 0.6, 0.1]), giving([4] * 4, [0.2, 0.5, 0.8, 1.0])
    line = ConditionalCooperator().log_likelihood(vector, panel)
    hump = HumpShapedCooperator().log_likelihood(vector, panel)

    assert hump[:2] == pytest.approx(line[:2])
    assert hump[2] == pytest.approx(line[0])
    assert hump[3] == pytest.approx(
        UnconditionalCooperator().log_likelihood(vector[[0, 2]], panel)[3]
    )


def test_a_free_rider_slips_to_each_other_amount_alike() -> None:
    found = FreeRider().log_likelihood(np.array([0.2]), giving([0, 1, 20], [0.5] * 3))

    assert np.exp(found) == pytest.approx([0.8, 0.01, 0.01])


def test_inequity_aversion_weighs_envy_and_guilt() -> None:
    # A responder with 2 of 10, or nothing for both; in shares of a spread of 10.
    facts = {"own": [0.2, 0.0], "behind": [0.6, 0.0], "ahead": [0.0, 0.0]}
    panel = Panel.of([Row(A, 0, 1.0, facts)])
    rejects = InequityAversion().probabilities(np.array([5.0, 0.5, 0.3]), panel)[0, 1]

    assert rejects == pytest.approx(1 / (1 + math.exp(5 * (0.2 - 0.5 * 0.6))))
    assert InequityAversion(selfish=True).probabilities(np.array([5.0]), panel)[
        0, 1
    ] == pytest.approx(1 / (1 + math.exp(5 * 0.2)))


@pytest.mark.slow
def test_shares_of_types_are_recovered() -> None:
    rng, mixture = np.random.default_rng(0), cooperation_mixture(hump=True)
    seen = rng.uniform(0, 1, (60, 10))
    panel = Panel.of(
        Row(Decider(0, i, "x"), t, 0.0, {"others": seen[i, t], "steps": 20.0})
        for i in range(60) for t in range(10)
    )  # fmt: skip
    true = np.array([0.5, 0.2, 0.15, 0.15, 0.0, 0.8, 0.15, 0.05, 0.5])
    kind = np.repeat(np.arange(4), [30, 12, 9, 9])[panel.player]
    each = [mixture.draw_type(k, true, panel, rng) for k in range(4)]
    found = fit(mixture, panel.with_decisions(np.choose(kind, each)))

    assert list(found.by_name)[:4] == [
        "share_conditional", "share_free_rider", "share_unconditional", "share_hump_shaped",
    ]  # fmt: skip
    assert found.parameters[:4] == pytest.approx(true[:4], abs=0.03)
    assert found.parameters[4:7] == pytest.approx(true[4:7], abs=0.05)


def test_a_belief_that_moves_all_the_way_is_the_last_observation() -> None:
    panel = giving([12, 8, 5, 4], [0.5, 0.6, 0.2, 0.1])
    last = ConditionalCooperator().log_likelihood(np.array([0.1, 0.7, 0.2]), panel)
    whole = AdaptiveCooperator().log_likelihood(np.array([0.1, 0.7, 1.0, 0.5, 0.0, 0.2]), panel)

    assert whole == pytest.approx(last)


def test_a_belief_moves_by_its_share_of_the_distance() -> None:
    panel = giving([10, 10, 10], [0.5, 0.9, 0.1])
    vector = np.array([0.0, 1.0, 0.25, 0.5, 0.0, 0.1])
    found = AdaptiveCooperator().by_type(vector, panel)[2]  # of the mean first belief

    # Beliefs 0.5, then 0.5 + 0.4 / 4 = 0.6, then 0.6 - 0.5 / 4 = 0.475.
    beliefs = giving([10, 10, 10], [0.5, 0.6, 0.475])
    line = ConditionalCooperator().log_likelihood(np.array([0.0, 1.0, 0.1]), beliefs)
    assert found == pytest.approx(line)


@pytest.mark.slow
def test_the_slope_of_players_with_adaptive_beliefs_is_found_again() -> None:
    rng, n, rounds = np.random.default_rng(2), 40, 12
    belief, gifts, seen = np.clip(rng.normal(0.5, 0.2, n), 0, 1), [], [np.full(n, 0.49)]
    for _ in range(rounds):
        gift = np.clip(0.9 * belief + rng.normal(0, 0.1, n), 0, 1)
        gifts.append(np.rint(20 * gift))
        groups = rng.permutation(n).reshape(-1, 4)
        others = np.empty(n)
        others[groups] = (gift[groups].sum(axis=1, keepdims=True) - gift[groups]) / 3
        seen.append(others)
        belief = belief + 0.4 * (others - belief)
    panel = Panel.of(
        Row(Decider(0, i, "x"), t, gifts[t][i], {"others": seen[t][i], "steps": 20.0})
        for i in range(n) for t in range(rounds)
    )  # fmt: skip
    adaptive, last = (
        fit(model, panel) for model in (AdaptiveCooperator(), ConditionalCooperator())
    )

    assert adaptive.bic < last.bic
    for name, true in {"slope": 0.9, "update": 0.4}.items():
        fixed = fit(adaptive.model, panel, fixed={name: true}, start=adaptive.parameters)
        assert 2 * (adaptive.log_likelihood - fixed.log_likelihood) < CHI_SQUARE
    fixed = fit(last.model, panel, fixed={"slope": 0.9})  # the last observation is not the belief
    assert 2 * (last.log_likelihood - fixed.log_likelihood) > CHI_SQUARE


def test_amounts_by_chance_and_mixed_fairness() -> None:
    panel = giving([0, 10, 20], [0.5] * 3)
    assert np.exp(CooperationByChance().log_likelihood(np.zeros(0), panel)) == pytest.approx(1 / 21)
    drawn = CooperationByChance().draw(np.zeros(0), giving([0] * 5_000, [0.5] * 5_000),
                                       np.random.default_rng(0))  # fmt: skip
    assert set(drawn) == set(range(21))

    facts = {"own": [0.2, 0.0], "behind": [0.6, 0.0], "ahead": [0.0, 0.0]}
    rejects = Panel.of([Row(A, 0, 1.0, facts)])
    mixture = inequity_types()
    vector = mixture.check(
        {"share_selfish": 0.25, "share_averse": 0.75, "lambda": 5.0, "alpha": 0.5, "beta": 0.3}
    )
    parts = 1 / (1 + math.exp(1.0)), 1 / (1 + math.exp(5 * (0.2 - 0.3)))
    assert np.exp(mixture.log_likelihood(vector, rejects)) == pytest.approx(
        0.25 * parts[0] + 0.75 * parts[1]
    )
