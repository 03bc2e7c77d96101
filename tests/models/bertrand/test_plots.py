"""Plots of the Bertrand competition."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from sabm_mesa import BertrandCompetition
from sabm_mesa.models.bertrand.plots import collusion, figures, prices, profits
from tests.models.support import labelled


def played(n_runs: int, n_rounds: int = 30, n_firms: int = 2) -> pd.DataFrame:
    """Model data of runs with random prices; run i is i rounds shorter."""
    rng = np.random.default_rng(3)
    frames = []
    for run in range(n_runs):
        length = max(1, n_rounds - run)
        frame = pd.DataFrame({"run": run, "round": range(length)})
        for i in range(1, n_firms + 1):
            frame[f"price_{i}"] = rng.uniform(5, 9, length)
            frame[f"profit_{i}"] = rng.uniform(3000, 3800, length)
        frame["price_messages"] = 1
        frame["bertrand_price"], frame["cartel_price"] = 6.0, 8.0
        frame["bertrand_profit"], frame["cartel_profit"] = 3200.0, 3600.0
        frame["collusion_index"] = rng.uniform(-0.2, 1.2, length)
        frame["communication"] = True
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def words(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


@pytest.mark.parametrize(
    ("draw", "measure", "low", "high"),
    [(prices, "price", 6, 8), (profits, "profit", 3200, 3600)],
    ids=["prices", "profits"],
)
def test_a_run_has_the_firms_the_reference_lines_and_the_shade(draw, measure, low, high) -> None:
    data = played(1)
    figure = draw(data, "classical, baseline")
    (ax,) = figure.axes

    for i in (1, 2):
        assert labelled(ax, f"firm {i}").get_ydata().tolist() == data[f"{measure}_{i}"].tolist()
    assert set(labelled(ax, f"Bertrand {measure} ({low})").get_ydata()) == {low}
    assert set(labelled(ax, f"cartel {measure} ({high})").get_ydata()) == {high}
    (shade,) = [c for c in ax.collections if isinstance(c, FillBetweenPolyCollection)]
    corners = shade.get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == (low, high)
    assert (corners[:, 0].min(), corners[:, 0].max()) == (0, 29)
    assert "classical, baseline · 1 run" in words(figure)
    assert ax.get_xlabel() == "Round"


def test_the_collusion_index_of_each_run_and_their_mean() -> None:
    data = played(4)
    figure = collusion(data, "baseline")
    (ax,) = figure.axes

    mean = labelled(ax, "mean of the runs, while all go on").get_ydata()
    whole = data[data["round"] < 27]  # the shortest run has 27 rounds
    assert mean == pytest.approx(whole.groupby("round")["collusion_index"].mean().to_numpy())
    thin = [line for line in ax.lines if line.get_linewidth() < 1]
    assert [len(line.get_xdata()) for line in thin] == [30, 29, 28, 27]
    assert set(labelled(ax, "cartel (1)").get_ydata()) == {1}
    assert set(labelled(ax, "Bertrand (0)").get_ydata()) == {0}
    assert "baseline · 4 runs" in words(figure)
    (alone,) = collusion(data[data["run"] == 2]).axes
    assert labelled(alone, "the run").get_ydata().tolist() == (
        data.loc[data["run"] == 2, "collusion_index"].tolist()
    )


def test_a_change_of_the_terms_is_drawn() -> None:
    model = BertrandCompetition(n_rounds=12)
    for changed in ({"communication": False, "cost": 4.0}, {"communication": True}):
        while model.round + 1 < (5 if not changed["communication"] else 9):
            model.step()
        clone = BertrandCompetition(n_rounds=12, **changed)
        model.apply_fork(clone, frozenset(changed))
    model.run_model()
    drawn = figures(model.model_frame(), model.agent_frame())
    assert list(drawn) == ["prices", "profits", "collusion"]
    (ax,) = drawn["prices"].axes

    talk = [patch for patch in ax.patches if patch.get_facecolor() == to_rgba("#EEEEEE")]
    assert [(patch.get_x(), patch.get_width()) for patch in talk] == [(0.5, 4), (8.5, 3)]
    assert talk[0].get_label() == "rounds with talk"
    line = labelled(ax, "cartel price (8 to 9)")
    assert line.get_ydata().tolist() == [8] * 4 + [9] * 7  # from round 1 on


def test_firms_are_called_by_name_and_by_mind_where_minds_differ() -> None:
    for minds, called in (
        ("classical", ("Ed", "Gill")),
        (["fixed:7", "classical:tit_for_tat"], ("Ed (fixed:7)", "Gill (classical:tit_for_tat)")),
    ):
        model = BertrandCompetition(n_rounds=5, minds=minds, rng=1)
        model.run_model()
        drawn = figures(model.model_frame(), model.agent_frame(), "", **model.plot_options())
        for name, measure in (("prices", "price"), ("profits", "profit")):
            (ax,) = drawn[name].axes
            for i, label in enumerate(called, 1):
                line = labelled(ax, label)
                decided = model.model_frame()[f"{measure}_{i}"].tolist()[1:]
                assert line.get_ydata().tolist() == decided
            (legend,) = drawn[name].legends
            assert {text.get_text() for text in legend.get_texts()} >= set(called)
