"""The Bertrand competition: whole runs with numbers computed by hand."""

import math
import re

import mesa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import BertrandCompetition, ScriptedMind
from sabm_mesa.agents.bertrand_competition import figure
from sabm_mesa.agents.bertrand_memory import Memory, Stretch
from sabm_mesa.analysis.price_talk import stated_prices
from sabm_mesa.errors import MindError, ParameterError, UnknownName, UsageError
from sabm_mesa.minds.classical.bertrand_competition import QLearning
from sabm_mesa.models.bertrand_setup import PHASE_ORDERS
from sabm_mesa.prompts import PromptBook
from sabm_mesa.registry import scenario
from tests.llm_server import LLMServer

# Prices of two firms from round 0 on; the second one's answers of round 3 cannot be read. Demand
# is 1400 − 200 p_i + 100 p_j, the reference prices are 6 and 8 with profits of 3200 and 3600.
PRICES = [(2, 3), (7, 6.5), (7, 7), (7.5, None), (8, 8), (8.5, 8), (6, 6), (14, 2)]
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


def follow(ask):
    """The script: the prices above, and nothing to be read where there is none."""
    if ask.name == "communicate":
        return "How about 7?" if ask.key.agent == 1 else "I agree."
    if ask.name == "plan":
        return f"Plan of {ask.key.agent} in {ask.key.round}."
    price = PRICES[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if price is None else str(price)


def market(answer=follow, **given):
    """A market of scripted firms without a stop."""
    base = {"n_rounds": 8, "minds": ScriptedMind(answer), "rng": 7, "stop_after": None}
    return BertrandCompetition(**{**base, **given})


def played(answer=follow, **given):
    model = market(answer, **given)
    model.run_model()
    return model


def recorded(n_rounds, answer=None, **given):
    """The asks of a run in which everybody charges 7, or what `answer` says."""
    asks = []

    def script(ask):
        asks.append(ask)
        if answer is not None:
            return answer(ask)
        return 7 if ask.name == "act" else f"Words of {ask.key.agent}."

    model = played(script, n_rounds=n_rounds, **given)
    return model, asks


def prompt(ask) -> str:
    return "\n".join(message["content"] for message in ask.messages())


# Rules.
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
    assert data["collusion_index"].tolist() == pytest.approx(INDEX)
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


def test_agreements_count_only_after_a_price_has_been_named() -> None:
    """Firm 1 names a price, firm 2 agrees: 6 messages, or 5 where firm 2 opens the talk."""
    counts = played(initial_prices=[2, 3]).model_frame()["price_messages"]

    assert counts[0] == 0
    assert set(counts[1:]) == {5, 6}


def test_nobody_is_asked_in_round_0_and_the_default_start_is_the_cost() -> None:
    for demand, cost in (("linear", 2), ("logit", 1)):
        model = market(demand=demand)
        model.step()
        assert (model.round, model.price_1, model.price_2) == (0, cost, cost)
        assert model.total.asks == 0


@pytest.mark.parametrize("demand", ["linear", "logit"])
def test_reference_prices_by_demand(demand: str) -> None:
    reference = BertrandCompetition(demand=demand).reference
    bertrand, cartel = {"linear": (6, 8), "logit": (1.473, 1.925)}[demand]

    assert reference.bertrand_price == pytest.approx(bertrand, abs=5e-4)
    assert reference.cartel_price == pytest.approx(cartel, abs=5e-4)


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
    assert BertrandCompetition().terms.stop_after == 200


def test_an_interruption_starts_the_spell_anew() -> None:
    def script(ask):
        return 5 if ask.key.round == 3 else 7

    model = played(script, n_rounds=50, communication=False, stop_after=5)

    assert model.round == 8
    assert model.model_frame()["spell"].tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5]


def test_a_run_in_equilibrium_does_not_stop() -> None:
    model = BertrandCompetition(initial_prices=8, communication=False, n_rounds=400)
    model.run_model()

    assert model.round == 399
    assert model.model_frame()["collusion"].sum() < 20


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


def test_later_speakers_hear_the_talk_of_this_round_alone() -> None:
    _, asks = recorded(4, lambda ask: 7 if ask.name == "act" else f"{ask.key}, {ask.key.call}")
    for k in (1, 2, 3):
        before = 0
        for ask in (ask for ask in asks if ask.key.round == k):
            said = ask.observation.said
            assert len(said) == before
            assert all(message.text.startswith(f"round {k},") for message in said)
            before += ask.name == "communicate"
        assert before == 6


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


@pytest.mark.parametrize("communication", [True, False])
@pytest.mark.parametrize("order", PHASE_ORDERS)
def test_the_scenario_tells_the_order_of_the_phases(order: str, communication: bool) -> None:
    _, asks = recorded(21, phase_order=order, communication=communication)
    for ask in asks:
        text = ask.messages()[0]["content"]
        places = [text.find(words) for words in ("talk with one another", "writes down a strategy")]
        if not communication:
            assert places == [-1, -1]
        else:
            assert 0 < min(places) < text.find("set their prices at the same")
            assert (places[0] > places[1]) == order.startswith("planning")


@pytest.mark.parametrize("order", PHASE_ORDERS)
def test_who_plans_is_told_statistics_and_strategies_but_no_talk(order: str) -> None:
    def script(ask):
        if ask.name == "plan":
            return "A plan."
        return 7 if ask.name == "act" else "Good morning."

    _, asks = recorded(41, script, phase_order=order)
    plans = [ask for ask in asks if ask.name == "plan"]
    assert len(plans) == 4
    for ask in plans:
        assert ask.observation.said == ()
        assert "Good morning" not in prompt(ask)
        assert "has been said" not in prompt(ask)
        assert "Round 19: 7, 700, 3500, 7" in prompt(ask) or ask.key.round == 40
    assert "Round 20: A plan." in prompt(plans[-1])
    acting = [ask for ask in asks if ask.name == "act" and ask.key.round == 40]
    assert all(prompt(ask).count("Good morning") == 6 for ask in acting)


def test_nobody_is_led_to_talk_about_prices_or_profit() -> None:
    question = PromptBook("bertrand").entries["communicate"]

    assert "whatever you like" in question
    assert not [word for word in ("profit", "price", "agree") if word in question.lower()]


def test_planning_every_20_rounds_from_round_20_on() -> None:
    model, asks = recorded(81, communication=False)
    planned = [ask.key.round for ask in asks if ask.name == "plan"]

    assert planned == [20, 20, 40, 40, 60, 60, 80, 80]
    assert [each.round for each in model.firms[0].strategies] == [20, 40, 60, 80]


def test_strategies_are_told_to_their_author_alone() -> None:
    _, asks = recorded(
        61, lambda ask: f"Plan {ask.key.agent}-{ask.key.round}" if ask.name == "plan" else 7,
        communication=False,
    )  # fmt: skip
    last = {(ask.name, ask.key.agent): ask for ask in asks}
    for me, other in ((1, 2), (2, 1)):
        planning, acting = prompt(last["plan", me]), prompt(last["act", me])
        assert f"Plan {me}-20" in planning
        assert f"Plan {me}-40" in planning
        assert f"Plan {me}-60" in acting
        assert f"Plan {me}-40" not in acting
        assert f"Plan {other}-" not in planning + acting


def test_an_unreadable_plan_or_message_changes_nothing() -> None:
    def script(ask):
        if ask.name == "plan" and ask.key.round == 40:
            return "  "
        if ask.name == "communicate":
            return "" if ask.key.agent == 1 else "Hello."
        return 7 if ask.name == "act" else "First plan."

    model = played(script, n_rounds=41)

    assert [each.round for each in model.firms[0].strategies] == [20]
    assert [message.speaker for message in model.said] == [2, 2, 2]
    assert model.model_frame()["invalid"].iloc[[1, 20, 40]].tolist() == [3, 3, 5]


# Changes during a run.
@pytest.mark.parametrize("key", [5, "5"], ids=["number", "text"])
def test_communication_can_end_at_a_round(key) -> None:
    model, asks = recorded(10, changes={key: {"communication": False}})
    talked = {ask.key.round for ask in asks if ask.name == "communicate"}

    assert talked == {1, 2, 3, 4}
    assert model.model_frame()["communication"].tolist() == [True] * 5 + [False] * 5
    before, after = (prompt(next(a for a in asks if a.key.round == k)) for k in (4, 5))
    assert "three parts" in before
    assert "three parts" not in after
    assert "said" not in after


def test_other_terms_can_change_too() -> None:
    changes = {0: {"tolerance": 2}, 2: {"cost": 4}, 3: {"d": 0, "a": 12, "stop_after": 1}}
    model = played(lambda _: 7, n_rounds=9, communication=False, changes=changes)
    data = model.model_frame()

    # With cost 4: Nash (14 + 2·4)/3 and cartel (14 + 4)/2; then independent goods: (12 + 4)/2.
    assert data["bertrand_price"].tolist() == pytest.approx([6, 6, 22 / 3, *[8] * 6])
    assert data["cartel_price"].tolist() == pytest.approx([8, 8, 9, *[8] * 6])
    assert data["profit_1"].tolist()[1:4] == pytest.approx([3500, 2100, 3 * 5 * 150])
    assert math.isnan(data["collusion_index"].iloc[-1])


def test_a_change_leaves_the_rounds_before_it_alone() -> None:
    given = {"minds": "classical:tit_for_tat", "n_rounds": 60, "rng": 5, "stop_after": None}
    whole, cut = (
        BertrandCompetition(**given, changes=changes)
        for changes in (None, {40: {"communication": False}})
    )
    whole.run_model()
    cut.run_model()

    assert whole.model_frame().head(40).equals(cut.model_frame().head(40))
    assert not whole.model_frame()["messages"].equals(cut.model_frame()["messages"])


# What a firm is told.
def test_the_memory_holds_20_rounds_and_20_periods() -> None:
    memory = Memory()
    for k in range(441):
        memory.add(Stretch(k, k, k, 2 * k, 3 * k, (4 * k,)))

    assert [each.first for each in memory.recent] == list(range(421, 441))
    spans = [(each.first, each.last) for each in memory.periods]
    assert spans == [*((k, k + 19) for k in range(40, 420, 20)), (420, 420)]
    first = memory.periods[0]
    means = [first.price, first.demand, first.profit, *first.rivals]
    assert means == pytest.approx([49.5, 99, 148.5, 198])


def test_the_statistics_are_told_line_by_line() -> None:
    def script(ask):
        return "Plan." if ask.name == "plan" else 6 + ask.key.agent + ask.key.round % 2

    _, asks = recorded(43, script, communication=False, initial_prices=[7, 8])
    last = prompt([ask for ask in asks if ask.key.agent == 1][-1])

    # At 7 and 8 firm 1 sells 800 and earns 4000; at 8 and 9 it sells 700 and earns 4200.
    lines = ["Rounds 0 to 19: 7.5, 750, 4100, 8.5", "Rounds 20 to 21: 7.5, 750, 4100, 8.5"]
    lines += [
        f"Round {k}: {'8, 700, 4200, 9' if k % 2 else '7, 800, 4000, 8'}" for k in range(22, 42)
    ]
    told = [line for line in last.splitlines() if line.startswith("Round")]
    assert told == lines
    assert "(your price, your demand, your profit, price of Gill):" in last


def shape(text: str) -> str:
    """A text with every number as one sign, so that widths of digits do not count."""
    return re.sub(r"\d+(\.\d+)?", "#", text)


@pytest.mark.parametrize("communication", [True, False])
def test_the_prompt_does_not_grow_after_round_421(communication: bool) -> None:
    """But for the width of the numbers, the prompts of rounds 421 and 1200 are equally long."""
    model, asks = recorded(1201, communication=communication)
    assert model.round == 1200
    by_round = {
        k: [a for a in asks if a.key.round == k and a.key.agent == 1]
        for k in (421, 440, 1180, 1200)
    }
    for early, late, name in ((421, 1200, "act"), (440, 1180, "act"), (440, 1200, "plan")):
        texts = [
            shape(prompt([a for a in by_round[k] if a.name == name][-1])) for k in (early, late)
        ]
        assert len(texts[1]) == len(texts[0])
    raw = [len(prompt([a for a in by_round[k] if a.name == "act"][-1])) for k in (421, 1200)]
    numbers = 20 + 2 * 20 + 1  # rounds, periods, and the round that is played
    assert raw[1] - raw[0] <= numbers


def test_nobody_is_told_how_demand_comes_about_or_what_the_rival_earns() -> None:
    def script(ask):
        if ask.name == "plan":
            return "Plan."
        return (7.25, 6.5)[ask.key.agent - 1] if ask.name == "act" else "Hello."

    model, asks = recorded(45, script, initial_prices=[7.25, 6.5])
    rival = {figure(model.demand_2), figure(model.profit_2)}
    assert rival == {"825", "3712.5"}
    for ask in asks:
        assert ask.observation.market is None
        if ask.key.agent == 1:
            told = set(re.findall(r"\d+(?:\.\d+)?", prompt(ask)))
            assert not told & {*rival, figure(1 / 150), figure(1 / 300), "150", "300", "1400"}
            assert "Gill" in prompt(ask)


def test_only_the_minds_of_theory_know_the_demand_system() -> None:
    model = BertrandCompetition(
        minds=["classical:best_response", "classical:tit_for_tat"], n_rounds=2
    )
    model.run_model()
    informed, other = (firm.observe() for firm in model.firms)

    assert informed.market is model.market
    assert other.market is None
    assert "market" not in informed.placeholders(model.book)


FORBIDDEN = ("collusion", "collude", "cartel", "price war", "bertrand", "oligopol", "nash")


@pytest.mark.parametrize("condition", ["baseline", "cooperative", "uncooperative"])
def test_no_prompt_names_what_is_studied(condition: str) -> None:
    book = PromptBook("bertrand", condition)
    for text in (*book.entries.values(), *book.personas.values()):
        assert not [word for word in FORBIDDEN if word in text.lower()]


def test_conditions_change_the_attitude_alone() -> None:
    def systems(condition):
        asks = recorded(2, condition=condition)[1]
        return asks[0].messages()[0]["content"]

    base = systems("baseline")
    assert "cooperate" not in base
    assert "selfish" not in base
    assert "encouraged to cooperate" in systems("cooperative")
    assert "selfish and dishonest" in systems("uncooperative")
    assert systems("cooperative").startswith(base.split("\n\n1.")[0])


@pytest.mark.parametrize(
    "persona", ["explorer", "aggressive", "greedy", "uncooperative", "cooperative", "agreeable"]
)
def test_each_firm_has_its_own_persona(persona: str) -> None:
    model, asks = recorded(22, personas=[persona, "none"])
    text = model.book.persona(persona)
    assert text
    for ask in asks:
        assert (text in prompt(ask)) == (ask.key.agent == 1)


def test_the_scenario_text_is_the_stable_prefix() -> None:
    _, asks = recorded(45)
    systems = {ask.messages()[0]["content"] for ask in asks if ask.key.agent == 2}

    assert len(systems) == 1


def test_firms_have_names() -> None:
    _, asks = recorded(2, firm_names="Acme, Brill")
    text = next(prompt(ask) for ask in asks if ask.key.agent == 2)

    assert "You run the firm Brill; the other player runs the firm Acme." in text
    _, asks = recorded(2, n_firms=3)
    assert "the other players run the firms Firm 1, Firm 3." in "".join(
        prompt(ask) for ask in asks if ask.key.agent == 2
    )


def test_the_range_of_prices_is_told_or_not() -> None:
    def first(variant):
        return next(prompt(a) for a in recorded(2, variant=variant)[1] if a.name == "act")

    assert "Answer with nothing but a number:" in first("default")
    assert "14" not in first("default")
    assert "Answer with nothing but a number from 2 to 14:" in first("told_range")


# Answers that cannot be used.
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("1.99", '1.99" is outside the range from 2 to 14'),
        ("14.01", "outside the range from 2 to 14"),
        ("-7", "outside the range"),
        ("seven", "is not a number"),
        ("$7", "is not a number"),
        ("between 6 and 8", "holds more than one number"),
        ("7\n8", "on one line"),
        ("", "empty"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        (1.5, "outside the range"),
        (True, "not a number"),
        (float("inf"), '"inf" is not a number'),
    ],
)
def test_a_price_that_cannot_be_used_is_asked_again_and_then_the_firm_keeps_its_own(
    answer, reason: str
) -> None:
    asks = []

    def script(ask):
        asks.append((ask.key.agent, ask.rejected))
        return answer if ask.key.agent == 1 else 6.5

    model = played(script, n_rounds=2, communication=False, initial_prices=[5, 5])
    rejected = [found for agent, found in asks if agent == 1]

    assert (model.price_1, model.price_2) == (5, 6.5)
    assert len(rejected) == 3
    assert reason in rejected[-1][-1][1]
    assert model.total.invalid == 1
    assert [firm.kept for firm in model.firms] == [True, False]


def test_a_second_answer_counts() -> None:
    def script(ask):
        return "about 7" if not ask.rejected else "7"

    model = played(script, n_rounds=2, communication=False)

    assert (model.price_1, model.price_2) == (7, 7)
    assert (model.total.invalid, model.total.reasks) == (0, 2)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"initial_prices": 1.9}, "initial_prices has to be a number from 2 to 14"),
        ({"initial_prices": [2, 14.5]}, "initial_prices has to be a number from 2 to 14"),
        ({"initial_prices": [5]}, "1 are given for 2 firms"),
        ({"initial_prices": "high"}, "initial_prices has to be a number from 2 to 14, not"),
        ({"initial_prices": math.nan}, "initial_prices"),
        ({"demand": "logit", "initial_prices": 3}, "from 1 to 2"),
        ({"n_firms": 1}, "n_firms"),
        ({"n_firms": 27}, "n_firms has to be a whole number from 2 to 26 (got 27)."),
        ({"n_rounds": 0}, "n_rounds"),
        ({"demand": "cubic"}, "Unknown demand 'cubic'"),
        ({"communication": "off"}, "communication has to be true or false, not 'off'"),
        ({"cost": 14}, "a has to be above the cost"),
        ({"cost": -1}, "cost"),
        ({"cost": math.inf}, "cost"),
        ({"a": "x"}, "a has to be"),
        ({"d": 0.01}, "d has to be"),
        ({"beta": 0}, "beta"),
        ({"mu": 0}, "mu"),
        ({"a_0": math.inf}, "a_0 has to be a number from -1e+09 to 1e+09, not"),
        ({"a": 1e308}, "a has to be a number from 0 to 1e+09 (got 1e+308)"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"stop_after": 0}, "stop_after"),
        ({"phase_order": "action,planning,communication"}, "Unknown phase order"),
        ({"firm_names": "Ed"}, "2 different names"),
        ({"firm_names": 5}, "a list, or a text with commas, not 5"),
        ({"phase_order": 5}, "a list, or a text with commas, not 5"),
        ({"firm_names": ["Ed", "ed"]}, "2 different names"),
        ({"firm_names": ["Ed", "G\nill"]}, "2 different names"),
        ({"changes": [400]}, "changes have to be a mapping"),
        ({"changes": {400: False}}, "changes have to be a mapping"),
        ({"changes": {-1: {}}}, "a round in changes"),
        ({"changes": {"late": {}}}, "a round in changes"),
        ({"changes": {5: {}, "5": {}}}, "each round once"),
        ({"changes": {5: {"n_firms": 3}}}, "can change during a run 'n_firms'"),
        ({"changes": {5: {"cost": 20}}}, "changes at round 5: a has to be above the cost"),
        ({"condition": "friendly"}, "Unknown condition"),
        ({"personas": ["rude", "none"]}, "Unknown persona"),
        ({"minds": "classical:dynamic"}, "Unknown classical mind of bertrand"),
    ],
)
def test_wrong_parameters_are_refused(parameters, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        BertrandCompetition(**parameters)


def test_errors_have_their_kind() -> None:
    with pytest.raises(UnknownName):
        BertrandCompetition(demand="cubic")
    with pytest.raises(ParameterError):
        BertrandCompetition(initial_prices=20)


def test_many_logit_firms_may_reach_the_cartel_price() -> None:
    model = BertrandCompetition(demand="logit", n_firms=10)

    assert BertrandCompetition(demand="logit").legal_price.high == 2
    assert model.legal_price.high > model.reference.cartel_price > 2


# Classical minds.
@settings(max_examples=25)
@given(st.floats(2, 14), st.floats(2, 14), st.booleans())
def test_best_responses_converge_to_the_bertrand_price(p: float, q: float, talk: bool) -> None:
    model = BertrandCompetition(
        initial_prices=[p, q], communication=talk, n_rounds=25, minds="classical:best_response"
    )
    model.run_model()

    assert (model.price_1, model.price_2) == pytest.approx((6, 6), abs=1e-9)
    assert model.total.invalid == 0


def test_best_responses_reach_the_other_equilibria() -> None:
    for given_, nash in (
        ({"demand": "logit"}, 1.473),
        ({"demand": "logit", "n_firms": 3}, 1.370),
        ({"n_firms": 4}, 4.4),
        ({"d": 1 / 150, "initial_prices": 3}, 2),
    ):
        model = BertrandCompetition(n_rounds=150, communication=False, **given_)
        model.run_model()
        assert model.price_1 == pytest.approx(nash, abs=5e-4)
        assert model.price_1 == pytest.approx(model.reference.bertrand_price, abs=1e-6)


def test_the_default_mind_is_the_best_response() -> None:
    frames = []
    for minds in ("classical", "classical:best_response"):
        model = BertrandCompetition(minds=minds, n_rounds=10, initial_prices=[3, 9], rng=1)
        model.run_model()
        frames.append(model.model_frame())

    assert frames[0].equals(frames[1])
    # Best replies to 9 and 3: (1400 + 100 p + 400)/400.
    assert frames[0].loc[1, ["price_1", "price_2"]].tolist() == pytest.approx([6.75, 5.25])


@pytest.mark.parametrize("seed", range(5))
def test_trial_and_error_finds_the_joint_optimum(seed: int) -> None:
    model = BertrandCompetition(
        minds="classical:win_continue_lose_reverse", communication=False, rng=seed, stop_after=None
    )
    model.run_model()

    assert 7.5 < model.end_measures()["convergence_price"] < 8.3
    assert 0.8 < model.end_measures()["collusion_index"] <= 1


def test_trial_and_error_goes_on_or_turns_round() -> None:
    """One step is 0.12. Against a rival at 6 the best price is 6; profit falls beyond it."""
    model = BertrandCompetition(
        minds=["classical:win_continue_lose_reverse", "fixed:6"], initial_prices=[5, 6],
        communication=False, n_rounds=200, rng=3, stop_after=None,
    )  # fmt: skip
    model.run_model()
    path = model.model_frame()["price_1"].to_numpy()

    assert np.abs(np.diff(path)) == pytest.approx(0.12)
    assert abs(path[50:].mean() - 6) < 0.3


def test_tit_for_tat_charges_what_the_rival_charged() -> None:
    model = BertrandCompetition(
        minds={"classical:tit_for_tat": 1, ScriptedMind([9, 4, 7.5]): 1},
        initial_prices=[3, 5], communication=False, n_rounds=4,
    )  # fmt: skip
    model.run_model()

    assert model.model_frame()["price_1"].tolist() == [3, 5, 9, 4]


def test_tit_for_tat_climbs_to_the_cartel_price_by_talk_alone() -> None:
    ends = {}
    for talk in (True, False):
        model = BertrandCompetition(
            minds="classical:tit_for_tat", communication=talk, initial_prices=5, n_rounds=100
        )
        model.run_model()
        ends[talk] = model.end_measures()["convergence_price"]

    assert ends[True] == pytest.approx(8, abs=0.1)
    assert ends[False] == 5


def test_tit_for_tat_knows_no_cartel_price_and_so_cycles_around_it() -> None:
    """It is not informed of demand: only a lower profit tells it that it went too far."""
    model = BertrandCompetition(minds="classical:tit_for_tat", rng=1, n_rounds=400)
    model.run_model()
    rows = model.model_frame()

    assert rows["price_1"].tolist()[-8:] == pytest.approx([8, 7.88, 8, 8.12] * 2)
    assert rows["spell"].max() < 20
    assert model.round == 399


@pytest.mark.parametrize("given_", [{"condition": "uncooperative"}, {"personas": "uncooperative"}])
def test_uncooperative_firms_keep_no_agreement(given_) -> None:
    model = BertrandCompetition(
        minds="classical:tit_for_tat", initial_prices=5, n_rounds=30, **given_
    )
    model.run_model()

    assert model.price_1 == model.price_2 == 5


def test_tit_for_tat_answers_a_broken_agreement_for_one_round() -> None:
    """The rival promises whatever it is offered, and breaks its word in round 2 alone."""

    def rival(ask):
        if ask.name == "communicate":
            named = [m.text for m in ask.observation.said if m.speaker == 1]
            return f"I agree: {stated_prices(named[-1], 2, 14)[-1]}" if named else "Hello."
        agreed = stated_prices(ask.observation.said[-1].text, 2, 14)[-1]
        return 4 if ask.key.round == 2 else agreed

    model = BertrandCompetition(
        minds=["classical:tit_for_tat", ScriptedMind(rival)], initial_prices=5, n_rounds=5, rng=1
    )
    model.run_model()
    own = model.model_frame()["price_1"].tolist()

    assert own[1:4] == pytest.approx([5.12, 5.24, 4])
    assert own[4] != 4


@pytest.mark.parametrize(
    "mind", ["best_response", "win_continue_lose_reverse", "tit_for_tat", "q_learning"]
)
def test_classical_firms_talk_in_prices(mind: str) -> None:
    model = BertrandCompetition(minds=f"classical:{mind}", n_rounds=41, initial_prices=7, rng=2)
    texts = []
    while model.running:
        model.step()
        texts += [message.text for message in model.said]

    assert len(texts) == 6 * 40
    assert model.model_frame()["price_messages"].sum() == 6 * 40
    assert any(text.startswith("I suggest that all of us set a price of") for text in texts)
    assert all(firm.strategies[-1].text.startswith("I will go on") for firm in model.firms)
    assert model.total.invalid == 0


def test_firms_of_theory_say_what_they_will_charge_and_agree_where_it_is_the_same() -> None:
    model = BertrandCompetition(minds="classical:best_response", n_rounds=20, initial_prices=5)
    model.run_model()
    texts = [message.text for message in model.said]

    assert (
        texts == ["I suggest that all of us set a price of 6."] + ["I agree to a price of 6."] * 5
    )


# Demand is linear, so the start value of a price p of the grid is its profit against the mean price
# of the grid, 7, for ever: 20 (p − 2)(2100 − 200 p), the largest at 6.3143, the next at 6.1429.
GREEDY, NEXT = 5.8 + 3 * 2.4 / 14, 5.8 + 2 * 2.4 / 14
START, NEXT_START = 72233.4694, 72204.0816


def test_q_learning_changes_its_price_by_what_it_learns() -> None:
    """It is greedy after its first price. Against 6, a price of 6.3143 earns 3180.2449."""
    mind = QLearning("q_learning", decay=1e9)
    model = BertrandCompetition(
        minds=[mind, "fixed:6"], communication=False, n_rounds=6, initial_prices=6, rng=2
    )
    model.run_model()
    rows = model.model_frame()
    first = mind.learner.place(rows.loc[1, "price_1"])
    assert first not in (2, 3)

    # The state (3, 1) is met in rounds 3, 4 and 5. What it learned of its price in round 3, when
    # it asks itself in round 4, is 0.85 START + 0.15 (3180.2449 + 0.95 START), below NEXT_START.
    assert rows["price_1"].tolist()[2:5] == pytest.approx([GREEDY, GREEDY, NEXT])
    assert mind.learner.values((3, 1))[3] == pytest.approx(72168.7653)
    assert mind.learner.values((3, 1))[2] == pytest.approx(
        0.85 * NEXT_START + 0.15 * (rows.loc[4, "profit_1"] + 0.95 * START)
    )
    assert mind.learner.values((first, 1))[3] == pytest.approx(
        0.85 * START + 0.15 * (3180.2449 + 0.95 * START)
    )
    assert mind.learner.values((2, 1))[3] == pytest.approx(START)


@pytest.mark.parametrize("name", ["q_learning", "q_learning_fast"])
def test_q_learning_learns_from_its_own_profit(name: str) -> None:
    model = BertrandCompetition(
        minds=f"classical:{name}", communication=False, n_rounds=3, initial_prices=[6, 8], rng=4
    )
    model.run_model()
    last = model.model_frame().loc[1]
    for me, state in ((1, (1, 13)), (2, (13, 1))):
        learner = model.firms[me - 1].mind.learner
        price = last[f"price_{me}"]
        start = 20 * (price - 2) * (2100 - 200 * price)
        learned = learner.values(state)[learner.place(price)]
        assert learned == pytest.approx(0.85 * start + 0.15 * (last[f"profit_{me}"] + 0.95 * START))
        assert abs(learned - start) > 1


def test_1200_rounds_of_fast_q_learning_have_not_learned_to_collude() -> None:
    """Without learning, the greedy reply to the start values has a Δ of 0.29."""
    found = []
    for seed in range(4):
        model = BertrandCompetition(
            minds="classical:q_learning_fast", communication=False, rng=seed, stop_after=None
        )
        model.run_model()
        found.append(model.end_measures()["collusion_index"])
        assert set(model.model_frame()["price_1"].round(6)[1:]) <= {
            round(price, 6) for price in model.firms[0].mind.learner.grid
        }
        assert model.total.invalid == 0

    assert 0.15 < np.mean(found) < 0.28


def test_q_learning_needs_few_firms() -> None:
    model = BertrandCompetition(minds="classical:q_learning", n_firms=8, communication=False)
    with pytest.raises(MindError, match="choose another mind"):
        model.run_model()


def test_informed_minds_of_other_grids_stay_legal_after_a_change() -> None:
    model = BertrandCompetition(
        minds="classical:q_learning_fast", communication=False, n_rounds=20,
        changes={5: {"cost": 7}}, rng=1,
    )  # fmt: skip
    model.run_model()

    assert model.total.invalid == 0
    assert model.model_frame()["price_1"].iloc[5:].min() >= 7


# Runs.
def test_the_registry_knows_the_scenario() -> None:
    assert scenario("bertrand") is BertrandCompetition


def test_the_same_seed_gives_the_same_run() -> None:
    frames = []
    for seed in (3, 3, 4):
        model = BertrandCompetition(
            minds=["classical:q_learning_fast", "classical:win_continue_lose_reverse"],
            n_rounds=60, rng=seed,
        )  # fmt: skip
        model.run_model()
        frames.append(model.model_frame())

    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])


def test_batch_run() -> None:
    rows = mesa.batch_run(
        BertrandCompetition,
        {"communication": [True, False], "n_rounds": 12, "changes": [{"6": {"tolerance": 1}}]},
        number_processes=1, data_collection_period=-1, display_progress=False,
    )  # fmt: skip

    assert len(rows) == 2 * 2
    for column in ("price_1", "price"):
        assert [row[column] for row in rows] == pytest.approx([6] * 4, abs=1e-4)


def test_a_language_model_plays_over_http(tmp_path) -> None:
    seen = []

    def brain(messages, body):
        seen.append((messages, body))
        question = messages[-1]["content"]
        if "Set the price" in question or "could not be used" in question:
            first_try_of_ed = len(messages) == 2 and "the firm Ed;" in messages[0]["content"]
            return "I charge 7.5." if first_try_of_ed else "7.5"
        return "Let us charge 7.5."

    with LLMServer(brain=brain) as server:
        model = BertrandCompetition(
            minds=f"llm:test@{server.url}", n_rounds=22, recording=tmp_path / "run.sqlite", rng=1
        )
        model.run_model()

    assert (model.price_1, model.price_2) == (7.5, 7.5)
    assert model.collusion
    assert model.spell == 21
    assert model.total.asks == 21 * 8 + 2
    assert (model.total.invalid, model.total.reasks) == (0, 21)
    assert len(seen) == model.total.asks + 21
    assert all(body["temperature"] == 0.7 and body["max_tokens"] == 128 for _, body in seen)
    assert model.model_frame()["price_messages"].iloc[1:].tolist() == [6] * 21


def test_the_stub_of_the_test_server_can_play() -> None:
    with LLMServer() as server:
        model = BertrandCompetition(
            minds=f"llm:stub@{server.url}", n_rounds=4, recording=False, communication=False
        )
        model.run_model()

    assert model.total.invalid == 0
    assert model.model_frame()["price_1"].between(2, 14).all()


def test_tit_for_tat_waits_for_one_price_that_all_have_named() -> None:
    """The rival names 9 whatever it hears, and so does not agree to a step upwards from 5."""

    def rival(ask):
        return "I want 9." if ask.name == "communicate" else 5

    def stubborn(ask):
        return "Let it be 4." if ask.name == "communicate" else 5

    for talk, own in ((rival, 9), (stubborn, 5)):
        model = BertrandCompetition(
            minds=["classical:tit_for_tat", ScriptedMind(talk)], initial_prices=5, n_rounds=2, rng=1
        )
        model.run_model()
        assert model.price_1 == own


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (20 / 3, "6.6667"), (123456.7, "123457"), (99_999.6, "100000"), (0, "0")],
)
def test_figures_have_five_digits_and_no_exponent(value: float, text: str) -> None:
    assert figure(value) == text


def test_q_learning_where_the_reference_prices_are_the_same() -> None:
    model = BertrandCompetition(
        minds="classical:q_learning", d=0, communication=False, n_rounds=5, rng=1
    )
    model.run_model()

    assert model.price_1 == pytest.approx(8)
