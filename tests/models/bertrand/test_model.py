"""The rounds of the Bertrand competition: whole runs with numbers computed by hand."""

import math
import re

import pytest

from sabm_mesa import BertrandCompetition
from sabm_mesa.errors import UsageError
from tests.models.bertrand.support import PRICES, market, played, recorded

DEMAND = [
    (1300, 1000), (650, 800), (700, 700), (600, 750), (600, 600), (500, 650), (800, 800), (0, 2400),
]  # fmt: skip
PROFIT = [
    (0, 1000), (3250, 3600), (3500, 3500), (3300, 3750), (3600, 3600), (3250, 3900), (3200, 3200),
    (0, 0),
]  # fmt: skip
COLLUSION = [False, True, True, True, True, False, False, False]
SPELL = [0, 1, 2, 3, 4, 0, 0, 0]
INDEX = [-6.75, 0.5625, 0.75, 0.8125, 1, 0.9375, 0, -8]


@pytest.mark.parametrize("communication", [True, False])
def test_a_whole_run(communication: bool) -> None:
    model = played(communication=communication, initial_prices=[2, 3])
    data, agents = model.model_frame(), model.agent_frame()

    prices = [(2, 3), (7, 6.5), (7, 7), (7.5, 7), *PRICES[4:]]
    for name, rows in (("price", prices), ("demand", DEMAND), ("profit", PROFIT)):
        for i in (0, 1):
            expected = [row[i] for row in rows]
            assert data[f"{name}_{i + 1}"].tolist() == pytest.approx(expected, abs=1e-6)
            own = agents[agents["agent"] == i + 1][name]
            assert own.tolist() == pytest.approx(expected, abs=1e-6)
    assert data["collusion"].tolist() == COLLUSION
    assert data["spell"].tolist() == SPELL
    assert math.isnan(data["collusion_index"][0])  # nobody decided round 0
    assert data["collusion_index"].tolist()[1:] == pytest.approx(INDEX[1:])
    assert data["bertrand_price"].unique() == pytest.approx([6])
    assert data["cartel_price"].unique() == pytest.approx([8])
    assert data["bertrand_profit"].unique() == pytest.approx([3200])
    assert data["cartel_profit"].unique() == pytest.approx([3600])
    assert data["communication"].tolist() == [communication] * 8
    talk = [0] + [6 * communication] * 7
    assert data["messages"].tolist() == talk
    assert data["asks"].tolist() == [0] + [2 + 6 * communication] * 7
    assert data["invalid"].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    kept = agents[agents["kept"]]
    assert kept[["round", "agent"]].to_numpy().tolist() == [[3, 2]]


def test_nobody_is_asked_in_round_0_and_the_default_start_is_the_cost() -> None:
    for demand, cost in (("linear", 2), ("logit", 1)):
        model = market(demand=demand)
        model.step()
        assert (model.round, model.price_1, model.price_2) == (0, cost, cost)
        assert model.total.asks == 0


def test_more_firms_have_more_columns() -> None:
    model = played(lambda ask: 5 + ask.key.agent, n_firms=3, n_rounds=2, communication=False)
    data = model.model_frame()

    for name in ("price", "demand", "profit"):
        assert {f"{name}_{i}" for i in (1, 2, 3)} <= set(data.columns)
    assert data.loc[1, ["price_1", "price_2", "price_3"]].tolist() == [6, 7, 8]
    assert model.names == ("Firm 1", "Firm 2", "Firm 3")
    # The three sell so that the inverse demand p_i = 14 − q_i/150 − (the others' q)/300 holds.
    sold = data.loc[1, ["demand_1", "demand_2", "demand_3"]].tolist()
    inverse = [14 - q / 150 - (sum(sold) - q) / 300 for q in sold]
    assert inverse == pytest.approx([6, 7, 8])


# Collusion and the stop.
def prices_of_both(first: float, second: float):
    return lambda ask: (first, second)[ask.key.agent - 1]


@pytest.mark.parametrize(
    ("prices", "tolerance", "found"),
    [
        ((7, 7), None, True),
        ((6, 6), None, False),
        ((6.01, 6.01), None, True),
        ((8, 8), None, True),
        ((8.01, 8), None, False),
        ((6.5, 7), None, True),
        ((6.5, 7.01), None, False),
        ((6.5, 7.01), 1, True),
        ((7, 7), 0, True),
        ((7, 7.01), 0, False),
        ((5.9, 6.1), None, False),
    ],
)
def test_what_counts_as_collusion(prices, tolerance, found: bool) -> None:
    answer = prices_of_both(*prices)
    model = played(answer, n_rounds=2, communication=False, tolerance=tolerance)

    assert model.collusion is found
    assert model.spell == found


def test_the_run_stops_after_200_rounds_of_collusion() -> None:
    model = played(lambda _: 7, n_rounds=1200, communication=False, stop_after=200)

    assert model.round == 200
    assert model.spell == 200
    assert not model.running
    assert len(model.model_frame()) == 201
    assert BertrandCompetition().market_parameters.stop_after == 200


def test_an_interruption_starts_the_spell_anew() -> None:
    def script(ask):
        return 5 if ask.key.round == 3 else 7

    model = played(script, n_rounds=50, communication=False, stop_after=5)

    assert model.round == 8
    assert model.model_frame()["spell"].tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5]
    assert model.model_frame()["collusive_share"].tolist()[1:] == (
        [1, 1, 2 / 3, 3 / 4, 4 / 5, 5 / 6, 6 / 7, 7 / 8]
    )
    assert model.end_measures()["collusive_share"] == 7 / 8


# Phases.
def order_of_asks(asks, round_: int):
    return [(ask.name, ask.key.agent) for ask in asks if ask.key.round == round_]


def test_three_turns_each_in_an_order_shuffled_every_round() -> None:
    _, asks = recorded(40)
    firsts = set()
    for k in range(1, 20):
        talk = [agent for name, agent in order_of_asks(asks, k) if name == "communicate"]
        assert talk in ([1, 2] * 3, [2, 1] * 3)
        firsts.add(talk[0])
    assert firsts == {1, 2}


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("communication,planning,action", ["communicate"] * 6 + ["plan"] * 2 + ["act"] * 2),
        (("planning", "communication", "action"), ["plan"] * 2 + ["communicate"] * 6 + ["act"] * 2),
    ],
)
def test_the_order_of_the_phases(order, names) -> None:
    _, asks = recorded(21, phase_order=order)

    assert [name for name, _ in order_of_asks(asks, 20)] == names


def test_an_unreadable_plan_or_message_changes_nothing() -> None:
    def script(ask):
        if ask.name == "plan" and ask.key.round == 40:
            return "  "
        if ask.name == "communicate":
            return "" if ask.key.agent == 1 else "Hello."
        return 7 if ask.name == "act" else "First plan."

    model = played(script, n_rounds=41)

    assert [each.round for each in model.firms[0].strategies] == [20]
    assert [message.sender for message in model.said] == [2, 2, 2]
    assert model.model_frame()["invalid"].iloc[[1, 20, 40]].tolist() == [3, 3, 5]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"initial_prices": -0.1}, "initial_prices must be a number from 0 to 1e+09"),
        ({"initial_prices": [5]}, "1 are given for 2 firms"),
        ({"n_firms": 27}, "n_firms must be a whole number from 2 to 26 (got 27)."),
        ({"cost": 14}, "a must be above the cost"),
        ({"d": 0.01}, "d must be"),
        ({"phase_order": "action,planning,communication"}, "Unknown phase order"),
        ({"firm_names": "Ed"}, "2 different names"),
        ({"firm_names": 5}, "a list, or a text with commas (got 5)"),
        ({"firm_names": ["Ed", "G\nill"]}, "2 different names"),
    ],
)
def test_wrong_parameters_are_refused(parameters, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        BertrandCompetition(**parameters)


def test_many_logit_firms_may_reach_the_cartel_price() -> None:
    model = BertrandCompetition(demand="logit", n_firms=10)

    assert BertrandCompetition(demand="logit").highest_price == 2
    assert model.highest_price > model.benchmarks.cartel_price > 2
