"""The firms of the Bertrand competition: their memories and prompts."""

import re

import pytest

from sabm_mesa import BertrandCompetition
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.models.bertrand.agents import PriceHistory, period_summary
from sabm_mesa.models.bertrand.model import PHASE_ORDERS
from sabm_mesa.models.bertrand.theory import market_of
from tests.models.bertrand.support import prompt, recorded


@pytest.mark.parametrize("communication", [True, False])
@pytest.mark.parametrize("order", PHASE_ORDERS)
def test_the_scenario_tells_the_order_of_the_phases(order: str, communication: bool) -> None:
    _, asks = recorded(21, phase_order=order, communication=communication)
    for ask in asks:
        text = ask.messages()[0]["content"]
        places = [text.find(words) for words in ("talk with one another", "writes down a strategy")]
        assert 0 < places[1] < text.find("set their prices at the same")
        if communication:
            assert (places[0] > places[1]) == order.startswith("planning")
        else:
            assert places[0] == -1


def test_firms_plan_every_twenty_rounds_or_in_every_round() -> None:
    often, seldom = (
        [ask for ask in recorded(22, plan_every=every)[1] if ask.name == "plan"]
        for every in (1, 20)
    )

    assert [ask.key.round for ask in often] == sorted([*range(1, 22)] * 2)
    assert [ask.key.round for ask in seldom] == [20, 20]
    assert "strategy for this round?" in prompt(often[0])
    assert "strategy for the coming rounds?" in prompt(seldom[0])
    assert "1. The players talk with one another.\n2. Each player writes down" in prompt(often[0])
    assert "2. From time to time each player writes down" in prompt(seldom[0])


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
        assert ask.facts.said == ()
        assert "Good morning" not in prompt(ask)
        assert "has been said" not in prompt(ask)
        assert "Round 19: 7, 700, 3500, 7" in prompt(ask) or ask.key.round == 40
    assert "Round 20: A plan." in prompt(plans[-1])
    acting = [ask for ask in asks if ask.name == "act" and ask.key.round == 40]
    assert all(prompt(ask).count("Good morning") == 6 for ask in acting)


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


def test_the_memory_holds_20_rounds_and_20_periods() -> None:
    memory = PriceHistory()
    for k in range(441):
        memory.add(period_summary(k, k, k, 2 * k, 3 * k, (4 * k,)))

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


def test_nobody_is_told_how_demand_comes_about_or_what_the_rival_earns() -> None:
    def script(ask):
        if ask.name == "plan":
            return "Plan."
        return (7.25, 6.5)[ask.key.agent - 1] if ask.name == "act" else "Hello."

    model, asks = recorded(45, script, initial_prices=[7.25, 6.5])
    rival = {f"{model.demand_2:g}", f"{model.profit_2:g}"}
    assert rival == {"825", "3712.5"}
    for ask in asks:
        assert ask.facts.market is None
        if ask.key.agent == 1:
            told = set(re.findall(r"\d+(?:\.\d+)?", prompt(ask)))
            assert not told & {*rival, "0.0066667", "0.0033333", "150", "300", "1400"}
            assert "Gill" in prompt(ask)


def test_only_the_minds_of_theory_know_the_demand_system() -> None:
    model = BertrandCompetition(
        minds=["classical:best_response", "classical:tit_for_tat"], n_rounds=2
    )
    model.run_model()
    informed, other = (firm.facts()["market"] for firm in model.firms)

    assert market_of(informed) == model.market
    assert other is None


FORBIDDEN = ("collusion", "collude", "cartel", "price war", "bertrand", "oligopol", "nash")


@pytest.mark.parametrize("condition", ["baseline", "cooperative", "uncooperative", "greedy"])
def test_no_prompt_names_what_is_studied(condition: str) -> None:
    book = PromptBook(BertrandCompetition.prompt_file, condition)
    for text in (*book.entries.values(), *book.personas.values()):
        assert not [word for word in FORBIDDEN if word in text.lower()]


def test_firms_have_names() -> None:
    _, asks = recorded(2, firm_names="Acme, Brill")
    text = next(prompt(ask) for ask in asks if ask.key.agent == 2)

    assert "You run the firm Brill; the other player runs the firm Acme." in text
    _, asks = recorded(2, n_firms=3)
    assert "the other players run the firms Firm 1, Firm 3." in "".join(
        prompt(ask) for ask in asks if ask.key.agent == 2
    )


@pytest.mark.parametrize("answer_format", ["paper", "json"])
def test_the_range_of_prices_is_told_where_it_holds(answer_format) -> None:
    def attempts(answer, **told):
        asks = recorded(
            2, lambda ask: answer if ask.name == "act" else "Hello.", answer_format=answer_format,
            **told,
        )[1]  # fmt: skip
        return [ask for ask in asks if ask.name == "act"]

    for ask in attempts("-1"):
        assert "a number of at least 0" in prompt(ask)
        assert not re.findall(r"\b14\b", prompt(ask)), prompt(ask)
        assert ask.spec.schema() == {"type": "number", "minimum": 0}
    for answer in ("1000", "0", "1.5"):
        assert not [ask.rejected for ask in attempts(answer) if ask.rejected]
    told = attempts("99", told_range=True)
    assert all("a number from 0 to 14" in prompt(ask) for ask in told)
    assert told[0].spec.schema() == {"type": "number", "minimum": 0, "maximum": 14}
    assert answer_format == "json" or "outside the range from 0 to 14" in told[-1].rejected[0][1]
    assert not [ask for ask in attempts("1", told_range=True) if ask.rejected]
