"""Announcements and decisions, in runs whose words and decisions are scripted."""

import math
from pathlib import Path

import pytest

from sabm_mesa import BertrandCompetition, EmergencyEvacuation, KeynesianBeautyContest
from sabm_mesa.analysis.announcements import NOTHING, UNCLEAR, Announced, numbers_in
from sabm_mesa.core.messages import Message
from sabm_mesa.minds.scripted import ScriptedMind
from sabm_mesa.models.commons.model import Fishery
from sabm_mesa.models.registry import find_all
from sabm_mesa.studies.honesty import COLUMNS, honesty_of, of_speakers, shares_of


def test_numbers_announced_and_picked(tmp_path: Path) -> None:
    says = {1: "I will choose 20.", 2: "I will choose 30.", 3: "I might choose 4.", 4: "Hello."}
    mind = ScriptedMind(lambda ask: says[ask.key.agent] if ask.name == "communicate" else "20")
    path = tmp_path / "r.sqlite"
    KeynesianBeautyContest(n_players=4, n_rounds=2, minds=mind, rng=1, recording=path).run_model()
    found = honesty_of(path)

    assert list(found.columns) == list(COLUMNS)
    assert found["round"].tolist() == [1] * 4  # nobody speaks in round 0
    assert found["form"].tolist() == ["intention", "intention", "unclear", "nothing"]
    assert found["announced"].tolist()[:2] == [20, 30]
    assert found["done"].tolist() == [20] * 4
    assert found["honest"].tolist()[:2] == [1, 0]
    assert found["honest"].isna().tolist() == [False, False, True, True]
    assert found["gap"].tolist()[:2] == [0, -10]
    assert shares_of(found) == {
        "speakers": 4, "read": 0.5, "unclear": 0.25, "nothing": 0.25, "judged": 2, "honest": 0.5,
    }  # fmt: skip


def test_a_price_agreed_on_and_undercut(tmp_path: Path) -> None:
    def answer(ask: object) -> str:
        first = ask.key.agent == 1  # type: ignore[attr-defined]
        if ask.name == "communicate":  # type: ignore[attr-defined]
            return "How about we both charge 7?" if first else "Agreed."
        return "7" if first else "6.99"

    path = tmp_path / "r.sqlite"
    mind = ScriptedMind(answer)
    BertrandCompetition(n_rounds=2, plan_every=50, minds=mind, rng=1, recording=path).run_model()
    found = honesty_of(path).set_index("agent")

    assert found["form"].tolist() == ["agreement"] * 2
    assert found["announced"].tolist() == [7, 7]
    assert found["honest"].tolist() == [1, 0]


def test_exits_promised_and_headed_for(tmp_path: Path) -> None:
    def answer(ask: object) -> str:
        match ask.name:  # type: ignore[attr-defined]
            case "communicate":
                return "I am heading to the left exit."
            case "choose":
                return "left" if ask.key.agent == 1 else "right"  # type: ignore[attr-defined]
            case "act":
                return "1"
        return "I am calm."

    path = tmp_path / "r.sqlite"
    mind = ScriptedMind(answer)
    EmergencyEvacuation(n_people=2, n_rounds=1, minds=mind, rng=1, recording=path).run_model()
    found = honesty_of(path).set_index("agent")

    assert found["announced"].tolist() == ["left", "left"]
    assert found["honest"].tolist() == [1, 0]
    assert found["gap"].isna().all()


def test_a_promised_harvest_is_one_not_to_take_more_in_the_next_month(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    Fishery(n_rounds=3, rng=3, recording=path).run_model()
    found = honesty_of(path)

    wanted = found.groupby("round")["done"].apply(list)
    assert all(value is None or math.isnan(value) for value in wanted[2])  # no month follows
    assert found.loc[found["round"] < 2, "honest"].eq(1).all()
    assert found.loc[found["round"] == 2, "honest"].isna().all()


@pytest.mark.parametrize("name", sorted(find_all().models))
def test_a_declared_announcement_names_a_column_of_the_agents(name: str) -> None:
    model = find_all().models[name]
    if model.announcement is not None:
        assert model.announcement.column in model.agent_columns


def announced(*talk: tuple[int, str]) -> dict[int, Announced]:
    return of_speakers([Message(0, *each) for each in talk], numbers_in(0, 14))


def test_a_word_of_agreement_takes_up_the_value_on_the_table() -> None:
    found = announced((1, "I suggest that all of us set a price of 7."), (2, "I agree."))
    assert found == {1: Announced("proposal", 7), 2: Announced("agreement", 7)}
    asked = announced((1, "How about we both charge $8?"), (2, "Sounds good!"))
    assert asked == {1: Announced("agreement", 8), 2: Announced("agreement", 8)}
    assert announced((2, "I agree.")) == {2: NOTHING}


def test_agreement_that_names_another_value_agrees_to_nothing() -> None:
    assert announced((1, "I will set 7."), (2, "Sounds good, why 9?"))[2] == NOTHING


def test_agreement_with_several_values_is_unclear() -> None:
    found = announced((1, "I will set 7."), (2, "I will set 8."), (3, "I agree."))
    assert found[3] == UNCLEAR


def test_the_last_announcement_counts_and_one_taken_back_is_unclear() -> None:
    assert announced((1, "I will set 7."), (1, "I will set 8.")) == {1: Announced("intention", 8)}
    assert announced((1, "I will set 7."), (1, "Good luck.")) == {1: Announced("intention", 7)}
    assert announced((1, "I will set 7."), (1, "I might set 8.")) == {1: UNCLEAR}
    back = announced((1, "I will set 7."), (2, "I will too."), (1, "No, I disagree with that."))
    assert back[1] == UNCLEAR
