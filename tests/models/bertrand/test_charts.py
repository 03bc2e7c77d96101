"""The charts of the Bertrand competition."""

import pandas as pd
import pytest

from sabm_mesa import BertrandCompetition
from tests.models.support import charts_of, series_of, values_of


def played(**given) -> BertrandCompetition:
    model = BertrandCompetition(rng=1, **given)
    model.run_model()
    return model


@pytest.mark.parametrize(
    ("name", "column", "low", "high"),
    [("prices", "price", 6, 8), ("profits", "profit", 3200, 3600)],
)
def test_a_run_has_the_firms_and_the_reference_lines(name, column, low, high) -> None:
    model = played(n_rounds=5, minds=["fixed:7", "classical:tit_for_tat"])
    chart = charts_of(model)[name]

    for k, label in enumerate(("Ed (fixed:7)", "Gill (classical:tit_for_tat)"), 1):
        decided = model.model_frame()[f"{column}_{k}"].tolist()[1:]  # the first prices are given
        assert values_of(chart, label) == decided
    assert {level.label: level.at for level in chart.levels} == pytest.approx(
        {"Bertrand": low, "Cartel": high}
    )
    assert set(series_of(charts_of(played(n_rounds=2))["prices"])) == {"Ed", "Gill"}


def test_a_change_of_the_terms_is_drawn() -> None:
    model = BertrandCompetition(n_rounds=12)
    for changed in ({"communication": False, "cost": 4.0}, {"communication": True}):
        while model.round + 1 < (5 if not changed["communication"] else 9):
            model.step()
        clone = BertrandCompetition(n_rounds=12, **changed)
        model.apply_fork(clone, frozenset(changed))
    model.run_model()
    drawn = charts_of(model)

    assert list(drawn) == ["prices", "profits", "collusion"]
    assert drawn["prices"].spans == [(1, 4, "talk"), (9, 11, "talk")]
    assert series_of(drawn["prices"])["Cartel"].dashed
    assert values_of(drawn["prices"], "Cartel") == [8] * 4 + [9] * 7  # from round 1 on


def test_few_outliers_of_the_index_are_cut_off() -> None:
    model = played(n_rounds=40)
    data = model.model_frame()
    assert charts_of(model, data)["collusion"].low is None
    index = pd.Series([-30.0, *[0.5] * (len(data) - 1)])
    chart = charts_of(model, data.assign(collusion_index=index))["collusion"]
    assert chart.low is None  # the given round is not drawn
    index.iloc[1] = -30.0
    chart = charts_of(model, data.assign(collusion_index=index))["collusion"]
    assert (chart.low, chart.high) == pytest.approx((-0.1, 1.1))
    assert chart.title == "Collusion index by round (values down to −30 not shown)"
