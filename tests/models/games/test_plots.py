"""Plots of finite games: their data, and the theory in each of them."""

import pytest
from matplotlib.axes import Axes

from sabm_mesa import FiniteGame
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
    assert texts == ["3, 3", "0 %", "0, 5", "100 %", "5, 0", "0 %", "1, 1", "0 %"]
    (frame,) = ax.patches
    assert (frame.get_x(), frame.get_y()) == pytest.approx((0.52, 0.54))  # around (defect, defect)


@pytest.mark.parametrize(
    "game", ["inspection", "ultimatum", "eleven_twenty", "first_price_auction"]
)
def test_theory_is_in_every_plot(game: str) -> None:
    for name, figure in drawn(game=game, n_rounds=3).items():
        labels = {
            text.get_text()
            for each in [*figure.legends, *filter(None, map(Axes.get_legend, figure.axes))]
            for text in each.get_texts()
        }
        below = figure.get_supxlabel()
        assert any("quilibrium" in text for text in [*labels, below]), name


def test_runs_without_a_game_that_counts_are_drawn() -> None:
    found = drawn(minds="fixed:nothing of that kind", n_rounds=2, max_attempts=1)

    assert found["payoffs"].axes[0].texts
