"""The theory of Bertrand: demand systems, reference prices by formula and by search."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.bertrand.theory import (
    TICK,
    HomogeneousMarket,
    LinearMarket,
    LogitMarket,
    Market,
    collusion_index,
    linear_market,
)
from tests.models.bertrand.search import (
    solve_bertrand_price,
    solve_best_response,
    solve_cartel_price,
)
from tests.models.bertrand.support import CALVANO, PAPER, linear, logit


# With the paper's numbers demand is 1400 − 200 p_i + 100 p_j.
@pytest.mark.parametrize(
    ("prices", "demands", "profits"),
    [
        ((6, 6), (800, 800), (3200, 3200)),
        ((7, 7), (700, 700), (3500, 3500)),
        ((8, 8), (600, 600), (3600, 3600)),
        ((7, 6.5), (650, 800), (3250, 3600)),
        ((2, 2), (1200, 1200), (0, 0)),
        ((14, 2), (0, 2400), (0, 0)),
        ((14, 14), (0, 0), (0, 0)),
        # Below the cost a firm loses money; above 14 it sells nothing, and the other firm sells
        # as much as beside a price of 14.
        ((1, 6), (1800, 300), (-1800, 1200)),
        ((0, 0), (1400, 1400), (-2800, -2800)),
        ((1000, 2), (0, 2400), (0, 0)),
        ((1000, 6), (0, 1600), (0, 6400)),
        ((1e300, 1e300), (0, 0), (0, 0)),
    ],
)
def test_linear_demand_of_the_paper(prices, demands, profits) -> None:
    assert PAPER.demands(prices) == pytest.approx(demands, abs=1e-9)
    assert PAPER.profits(prices) == pytest.approx(profits, abs=1e-9)


@given(st.floats(2, 14), st.floats(2, 14))
def test_linear_demand_is_the_authors_formula(p: float, other: float) -> None:
    a, beta, d = 14, 1 / 150, 1 / 300
    q = ((a * beta - a * d) - beta * p + d * other) / (beta**2 - d**2)

    assert PAPER.demands([p, other])[0] == pytest.approx(max(0, q), abs=1e-6)


@given(st.integers(2, 6), st.floats(0, 1), st.data())
def test_linear_demand_solves_the_inverse_demand(n: int, share: float, data) -> None:
    beta, d = 1.0, share * 0.95
    market = LinearMarket(n, 1, 10, beta, d)
    prices = data.draw(st.lists(st.floats(1, 10), min_size=n, max_size=n))
    sold = market.demands(prices)
    if min(sold) > 0:
        inverse = [10 - beta * q - d * (sum(sold) - q) for q in sold]
        assert inverse == pytest.approx(prices, abs=1e-9)


@given(st.sampled_from([PAPER, CALVANO, linear(5), linear(3, 1 / 150), logit(4)]), st.data())
def test_demand_is_never_negative(market: Market, data) -> None:
    prices = data.draw(
        st.lists(st.floats(0, 1e9) | st.floats(0, market.a), min_size=market.n, max_size=market.n)
    )
    sold, most = market.demands(prices), 1.0
    if not isinstance(market, LogitMarket):
        most = market.demands([0.0] + [market.a] * (market.n - 1))[0]

    for price, quantity, profit in zip(prices, sold, market.profits(prices), strict=True):
        assert 0 <= quantity <= most * (1 + 1e-9)
        assert profit == 0 or (profit > 0) == (price > market.cost)
        if not isinstance(market, LogitMarket) and price >= market.a:
            assert quantity == 0


def test_reference_prices_of_the_paper() -> None:
    assert PAPER.bertrand_price() == pytest.approx(6, abs=1e-12)
    assert PAPER.cartel_price() == pytest.approx(8, abs=1e-12)
    assert PAPER.common_profit(6) == pytest.approx(3200)
    assert PAPER.common_profit(8) == pytest.approx(3600)
    assert solve_bertrand_price(PAPER) == pytest.approx(6, abs=1e-5)
    assert solve_cartel_price(PAPER) == pytest.approx(8, abs=1e-5)


def test_reference_prices_of_calvano() -> None:
    assert CALVANO.bertrand_price() == pytest.approx(1.473, abs=5e-4)
    assert CALVANO.cartel_price() == pytest.approx(1.925, abs=5e-4)
    assert solve_bertrand_price(CALVANO) == pytest.approx(1.473, abs=5e-4)
    assert solve_cartel_price(CALVANO) == pytest.approx(1.925, abs=5e-4)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("make", [linear, logit])
def test_formula_and_search_agree(make, n: int) -> None:
    market = make(n)

    assert market.bertrand_price() == pytest.approx(solve_bertrand_price(market), abs=1e-5)
    assert market.cartel_price() == pytest.approx(solve_cartel_price(market), abs=1e-5)


@pytest.mark.parametrize(
    "market", [PAPER, CALVANO, linear(4), logit(3), linear(2, 0), linear(2, 1 / 151)]
)
def test_the_best_response_is_the_best(market: Market) -> None:
    for price in np.linspace(market.cost, market.a, 7):
        rivals = [price] * (market.n - 1)
        assert market.best_response(rivals) == pytest.approx(
            solve_best_response(market, rivals), abs=1e-5
        )
    nash = market.bertrand_price()
    assert market.best_response([nash] * (market.n - 1)) == pytest.approx(nash)


def test_independent_goods_leave_nothing_to_gain_by_a_cartel() -> None:
    market = linear(2, 0)

    assert market.bertrand_price() == market.cartel_price() == 8
    assert math.isnan(collusion_index([1, 2], 5, 5))


# The limit beta = d.
def test_homogeneous_goods_are_sold_by_the_cheapest() -> None:
    market = linear(2, 1 / 150)

    assert isinstance(market, HomogeneousMarket)
    assert market.demands([5, 6]) == pytest.approx([9 * 150, 0])
    assert market.demands([5, 5]) == pytest.approx([675, 675])
    assert linear(3, 1 / 150).demands([6, 5, 5]) == pytest.approx([0, 675, 675])
    assert market.demands([14, 14]) == [0, 0]


def test_the_limit_of_reference_prices_and_common_demand() -> None:
    near, limit = linear(2, (1 - 1e-6) / 150), linear(2, 1 / 150)

    assert limit.bertrand_price() == 2
    assert near.bertrand_price() == pytest.approx(2, abs=1e-4)
    assert near.cartel_price() == limit.cartel_price() == 8
    assert near.demands([7, 7]) == pytest.approx(limit.demands([7, 7]), rel=1e-5)
    assert near.demands([6, 7])[1] == limit.demands([6, 7])[1] == 0


def test_replies_to_homogeneous_rivals() -> None:
    market = linear(2, 1 / 150)

    assert market.best_response([12]) == 8
    assert market.best_response([5]) == pytest.approx(5 - TICK)
    assert market.best_response([2]) == 2


@pytest.mark.parametrize(
    ("n", "cost", "beta", "d"), [(1, 2, 1, 0.5), (2, 14, 1, 0.5), (2, 2, 1, 1.5), (2, 2, 1, -0.5)]
)
def test_what_is_no_market_is_refused(n: int, cost: float, beta: float, d: float) -> None:
    with pytest.raises(ValueError, match="need"):
        linear_market(n, cost, 14, beta, d)


@pytest.mark.parametrize(
    ("profits", "index"),
    [((3200, 3200), 0), ((3600, 3600), 1), ((3250, 3600), 0.5625), ((0, 0), -8)],
)
def test_the_collusion_index(profits, index: float) -> None:
    assert collusion_index(profits, 3200, 3600) == pytest.approx(index)
