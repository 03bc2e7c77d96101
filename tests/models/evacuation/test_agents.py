"""The facts and prompts of evacuees."""

import math
import re

import numpy as np
import pytest

from sabm_mesa import EmergencyEvacuation, ScriptedMind
from sabm_mesa.core.streams import agent_random
from sabm_mesa.models.evacuation.agents import LETTERS
from sabm_mesa.models.evacuation.room import DIAGONAL, STRAIGHT
from tests.models.evacuation.support import LEFT, tiny, walkers


def test_a_person_hears_who_spoke_before_it_within_five_cells() -> None:
    heard = {}

    def answer(ask):
        if ask.name == "communicate":
            heard[ask.key.agent] = [message.sender for message in ask.facts.said]
            return f"I am number {LETTERS[ask.key.agent]}."
        return walkers({})(ask)

    cells = [(1, 1), (1, 6), (1, 7), (4, 5), (5, 4), (13, 13)]
    model = EmergencyEvacuation(
        n_people=6, positions=cells, minds=ScriptedMind(answer), width=15, height=15,
        exits=LEFT, rng=3,
    )  # fmt: skip
    model.step()
    order = [message.sender for message in model.said]
    assert sorted(order) == [1, 2, 3, 4, 5, 6]
    for i, number in enumerate(order):
        here = cells[number - 1]
        near = {n: math.dist(here, cells[n - 1]) for n in order[:i]}
        # The nearest speaker comes first; of two as near the earlier one.
        assert heard[number] == sorted((n for n in near if near[n] <= 5), key=near.__getitem__)
    # (1, 1) hears (1, 6) and (4, 5) and (5, 4), which are exactly 5 away, and none of the others.
    known = [message.sender for message in model.people[0].conversation()]
    assert known == [n for n in order if n in {1, 2, 4, 5}]


def test_a_fifth_of_the_people_plans_again() -> None:
    model = EmergencyEvacuation(
        n_people=200, minds=ScriptedMind(walkers({})), communication=False, n_rounds=40, rng=5
    )
    shares = []
    while model.running:
        model.step()
        shares.append(len(model.planners) / len(model.remaining))

    assert shares[0] == 1
    assert np.mean(shares[1:]) == pytest.approx(0.2, abs=0.02)
    assert len({len(person.choices) for person in model.people}) > 5


def test_the_four_personas_are_crossed_evenly_and_spread() -> None:
    model = EmergencyEvacuation(n_people=102, rng=1)
    personas = [person.persona for person in model.people]

    assert {name: personas.count(name) for name in personas} == {
        "confident_strong": 26, "confident_weak": 26, "afraid_strong": 25, "afraid_weak": 25,
    }  # fmt: skip
    assert len(set(personas[:10])) > 1
    texts = model.book.personas
    assert "confident" in texts["confident_weak"]
    assert "not strong" in texts["confident_weak"]
    assert "afraid" in texts["afraid_strong"]
    assert "fit" in texts["afraid_strong"]
    assert EmergencyEvacuation(n_people=3, personas="calm", rng=1).people[0].persona == "calm"


def questions(**options) -> dict[str, tuple[str, str]]:
    """Scenario and question of each kind, of the last person that was asked."""
    found = {}

    def answer(ask):
        found[ask.name] = ask.question
        return walkers({}, "bottom")(ask)

    model = EmergencyEvacuation(
        **{"n_people": 2, "positions": [(3, 3), (3, 4)], "minds": ScriptedMind(answer), "rng": 1}
        | options
    )
    model.step()
    return found


@pytest.mark.parametrize("variant", ["default", "reworded_1", "short", "no_diagonals"])
def test_a_person_is_told_of_obstacles_where_there_are_any(variant) -> None:
    without = questions(variant=variant)
    told = questions(variant=variant, obstacles=[[20, 20]])

    lines = [set(found["act"][0].splitlines()) for found in (without, told)]
    assert len(lines[1] - lines[0]) == 1
    assert "obstacles" in (lines[1] - lines[0]).pop().lower()
    assert "obstacle" not in without["act"][0].lower()
    assert "{" not in told["act"][0]
    assert without["act"][1] == told["act"][1]


def test_a_message_with_digits_is_heard_and_counted() -> None:
    def answer(ask):
        said = "Exit at 15 16 17, 40 people"
        return said if ask.name == "communicate" else walkers({})(ask)

    model = tiny(answer, [(2, 2)], communication=True)
    model.step()

    assert [message.text for message in model.said] == ["Exit at 15 16 17, 40 people"]
    assert (model.total.reasks, model.total.with_digits) == (0, 1)


def test_letters_come_in_random_order_from_the_persons_own_stream() -> None:
    orders = []

    def answer(ask):
        if ask.name == "act":
            orders.append(tuple(ask.facts.options.values()))
        return walkers({})(ask)

    tiny(answer, [(2, 2)], n_rounds=12).run_model()
    first = list(orders)
    orders.clear()
    tiny(answer, [(2, 2)], n_rounds=12).run_model()

    assert orders == first
    assert len(set(first)) == 12
    stream = agent_random((1,), 1)
    for order in first:
        cells = [(2 + dx, 2 + dy) for dx, dy in (*STRAIGHT, *DIAGONAL, (0, 0))]
        stream.shuffle(cells)
        assert order == tuple(cells)


CELL = re.compile(r"\((\d+), (\d+)\)")


def reader(ask):
    """A mind that knows nothing but the texts it is sent; it walks straight to the cells told."""
    _, question = ask.question
    if ask.name == "choose":
        return min(ask.facts.exits, key=len)
    if ask.name != "act":
        return "Well."
    told, options = question.split("\n\n", 1)
    *exit_, here = [tuple(map(int, cell)) for cell in CELL.findall(told.split("so the exit")[0])]
    ways = {
        line[0]: tuple(map(int, CELL.search(line).groups()))
        for line in options.splitlines()
        if line[1:3] == ": "
    }
    assert here in ways.values()
    return min(ways, key=lambda letter: min(math.dist(ways[letter], cell) for cell in exit_))


@pytest.mark.parametrize(
    "exits",
    [None, {"a": [[5, 0], [6, 0]]}, {"b": [[0, 13]]}, {"c": [[14, 1], [14, 2], [14, 12]]}],
)
def test_who_reads_only_the_prompts_finds_any_exit(exits) -> None:
    model = EmergencyEvacuation(
        n_people=12, width=15, height=15, exits=exits, communication=False,
        minds=ScriptedMind(reader), rng=4,
    )  # fmt: skip
    model.run_model()

    assert model.model_frame()["escaped"].iloc[-1] == 12


@pytest.mark.parametrize("variant", ["default", "reworded_1", "short", "no_diagonals"])
def test_a_silent_run_says_nothing_of_talk(variant) -> None:
    silent = questions(variant=variant, communication=False)
    talk = re.compile(r"\b(said|say something|talk\w*|hear\w*|messages?|tell those)\b")

    assert {name: talk.findall(" ".join(texts)) for name, texts in silent.items()} == {
        name: [] for name in ("panic", "evaluate", "choose", "act")
    }
    alone = questions(variant=variant, positions=[(3, 3), (30, 30)])
    assert "Nobody near you is talking." in alone["choose"][1]
