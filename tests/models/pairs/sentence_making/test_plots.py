"""The plots of the joint sentence making."""

import pytest
from matplotlib import rcParams

from sabm_mesa import SentenceMaking
from sabm_mesa.models.pairs.sentence_making import plots
from tests.models.pairs.cocktail_party.test_plots import drawn, frames, panels


@pytest.fixture(scope="module")
def writers():
    model = SentenceMaking(n_agents=4, n_rounds=3, rng=2)
    model.run_model()
    return model


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("runs", [(0,), (0, 1, 2)])
def test_every_figure_is_drawn_with_labels(writers, runs) -> None:
    before = dict(rcParams)
    found = plots.figures(*frames(writers, runs), "baseline")

    assert set(found) == {"scores"}
    for figure in found.values():
        drawn(figure)
        assert figure.get_suptitle()
        for ax in panels(figure):
            assert ax.get_xlabel()
            assert ax.get_ylabel()
    assert dict(rcParams) == before


def test_the_scores_are_those_of_the_data(writers) -> None:
    model_data, _ = frames(writers)
    left, right = plots.scores(model_data).axes

    assert list(left.lines[0].get_ydata()) == list(model_data["valid_ratio"])
    assert [round(x) for x in left.lines[0].get_xdata()] == [1, 2, 3]
    assert left.get_xlim() == right.get_xlim() == pytest.approx((0.4, 3.6))
    assert list(right.lines[0].get_ydata()) == list(model_data["variance"])
