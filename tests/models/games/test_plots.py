"""Plots of finite games: their data, and the theory in each of them."""

import pytest
from matplotlib.axes import Axes

from sabm_mesa import FiniteGame
from sabm_mesa.models.games.page import PAGE
from sabm_mesa.models.games.plots import figures


def drawn(**given):
    model = FiniteGame(rng=1, **given)
    model.run_model()
    return figures(model.model_frame(), model.agent_frame(), "test", **model.plot_options())


def test_the_table_has_payoffs_shares_and_the_equilibrium() -> None:
    found = drawn(minds=["fixed:A", "fixed:B"], n_rounds=4)
    ax = found["table"].axes[0]
    texts = [each.get_text() for each in ax.texts]

    assert list(found) == ["table", "choices", "rounds", "payoffs"]
    assert texts == ["3, 3", "0 %", "0, 5*", "100 %", "5*, 0", "0 %", "1*, 1*", "0 %"]
    note = "* best reply; dominant for player 1: defect; dominant for player 2: defect"
    assert found["table"].get_supxlabel() == note
    (frame,) = ax.patches
    assert (frame.get_x(), frame.get_y()) == pytest.approx((0.52, 0.54))  # around (defect, defect)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("game", ["inspection", "ultimatum", "eleven_twenty"])
def test_theory_is_in_every_plot(game: str) -> None:
    for name, figure in drawn(game=game, n_rounds=3).items():
        labels = {
            text.get_text()
            for each in [*figure.legends, *filter(None, map(Axes.get_legend, figure.axes))]
            for text in each.get_texts()
        }
        below = figure.get_supxlabel()
        assert any("quilibrium" in text for text in [*labels, below]), name


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
    found = drawn(minds="fixed:nothing of that kind", n_rounds=2, max_attempts=1)

    assert found["payoffs"].axes[0].texts
