"""Plots of finite games: their data, and the theory in each of them."""

import pytest

from sabm_mesa import FiniteGame
from sabm_mesa.models.games.charts import PAGE, figures
from tests.models.support import charts_of, series_of, values_of


def played(**given):
    model = FiniteGame(rng=1, **given)
    model.run_model()
    return model


def test_the_table_has_payoffs_shares_and_the_equilibrium() -> None:
    model = played(minds=["fixed:A", "fixed:B"], n_rounds=4)
    figure = figures(model, model.model_frame(), model.agent_frame(), "test")["table"]
    ax = figure.axes[0]
    texts = [each.get_text() for each in ax.texts]

    assert texts == ["3, 3", "0 %", "0, 5*", "100 %", "5*, 0", "0 %", "1*, 1*", "0 %"]
    note = "* best reply; dominant for player 1: defect; dominant for player 2: defect"
    assert figure.get_supxlabel() == note
    (frame,) = ax.patches
    assert (frame.get_x(), frame.get_y()) == pytest.approx((0.52, 0.54))  # around (defect, defect)
    choices = charts_of(model)["choices"]
    assert (choices.names, values_of(choices, "choices")) == (["cooperate", "defect"], [0.5, 0.5])
    assert values_of(choices, "equilibrium") == [0, 1]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("game", ["inspection", "ultimatum", "eleven_twenty"])
def test_theory_is_in_every_chart(game: str) -> None:
    for name, chart in charts_of(played(game=game, n_rounds=3)).items():
        labels = [*series_of(chart), *(level.label for level in chart.levels)]
        assert any("quilibrium" in label for label in labels), name


def test_results_of_people_stand_beside_the_choices() -> None:
    chart = charts_of(played(game="eleven_twenty", n_rounds=1))["choices"]
    (people,) = [label for label in series_of(chart) if label.startswith("people: ")]
    assert sum(values_of(chart, people)) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("game", "caption", "cells"),
    [
        ("chicken", "Nash equilibria: hawk, dove; dove, hawk.", ["hawk", "-1, -1", "4, 0"]),
        ("eleven_twenty", "Nash equilibria", ["15 25 % / 16 25 % / 17 20 %"]),
        ("centipede", "subgame-perfect courses", ["take", "40, 10"]),
    ],
)
def test_the_page_has_a_table_of_the_theory(game: str, caption: str, cells: list[str]) -> None:
    model = FiniteGame(game=game, rng=1)
    said, table = PAGE.table(model, model.model_frame())

    assert caption in said
    assert all(cell in str(each) for cell, each in zip(cells, table.iloc[0], strict=False))


def test_players_see_no_column_while_the_game_goes_on() -> None:
    assert not PAGE.public_columns(FiniteGame(rng=1))


def test_runs_without_a_game_that_counts_are_drawn() -> None:
    model = played(minds="fixed:none", n_rounds=2, max_attempts=1)

    assert all(value != value for value in values_of(charts_of(model)["payoffs"], "mean payoff"))
