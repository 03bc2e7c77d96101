"""The charts of the cocktail party."""

import math

import pandas as pd
import pytest

from sabm_mesa import CocktailParty
from sabm_mesa.models.pairs.cocktail_party import study
from sabm_mesa.models.pairs.cocktail_party.charts import figures
from sabm_mesa.runs.run import run_all
from tests.models.support import charts_of, values_of


@pytest.fixture(scope="module")
def party():
    model = CocktailParty(n_rounds=14, rng=2)
    model.run_model()
    return model


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("n_rounds", [1, 2, 11])
@pytest.mark.parametrize("wish", ["nobody", "L1"])
def test_short_and_silent_runs_are_drawn_too(n_rounds, wish) -> None:
    given = {"n_agents": 3, "n_rounds": n_rounds, "minds": f"fixed:{wish}"}
    drawn = run_all(CocktailParty, given, seed=1).figures()

    assert list(drawn) == ["ratios", "meetings", "distances", "network"]
    for figure in drawn.values():
        figure.draw_without_rendering()


def test_the_ratios_are_those_of_the_data(party) -> None:
    model_data, agent_data = party.model_frame(), party.agent_frame()
    ratios = charts_of(party)["ratios"]

    columns = {"partners": "distinct_conversation_ratio"}
    columns["invitations"] = "distinct_invitation_ratio"
    for label, column in columns.items():
        assert values_of(ratios, label) == list(model_data[column])
    talks = study.talks_of(agent_data)
    of_last = talks[talks["round"] >= 4]
    counts = pd.concat([of_last["a"], of_last["b"]]).value_counts()
    expected = [study.expected_distinct_ratio(m, 9) for m in counts]
    assert values_of(ratios, "by chance")[-1] == pytest.approx(sum(expected) / len(expected))
    by_kind = study.distances_by_round(agent_data)
    loose = values_of(charts_of(party)["distances"], "loose pairs")
    assert [value for value in loose if not math.isnan(value)] == list(by_kind["loose"].dropna())


def test_the_network_has_a_line_for_each_pair_that_talked_in_its_half(party) -> None:
    data = party.agent_frame()
    figure = figures(party, party.model_frame(), data, "")["network"]
    talks = study.talks_of(data)

    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Rounds 1 to 7", "Rounds 8 to 14"]
    for ax, half in zip(figure.axes, (talks["round"] < 7, talks["round"] >= 7), strict=True):
        pairs = talks[half][["a", "b"]].drop_duplicates()
        assert len(ax.collections[1].get_segments()) == len(pairs)
