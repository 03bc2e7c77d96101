"""Plots of the Bertrand competition."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.text import Text

from sabm_mesa import BertrandCompetition
from sabm_mesa.models.bertrand.model import MOST_FIRMS
from sabm_mesa.models.bertrand.plots import MOST_PANELS, collusion, figures, prices, profits


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


def labelled(ax, label: str):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


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


def test_few_runs_have_a_panel_each() -> None:
    data = played(MOST_PANELS)
    axes = prices(data).axes

    assert [ax.get_title(loc="left") for ax in axes] == [f"Run {i}" for i in range(MOST_PANELS)]
    for run, ax in enumerate(axes):
        drawn = labelled(ax, "firm 2").get_ydata().tolist()
        assert drawn == data.loc[data["run"] == run, "price_2"].tolist()
    assert len({ax.get_ylim() for ax in axes}) == 1


def test_many_runs_are_drawn_over_one_another() -> None:
    data = played(MOST_PANELS + 3)
    (ax,) = prices(data).axes
    data["both"] = (data["price_1"] + data["price_2"]) / 2

    mean = labelled(ax, "mean of the runs, while all go on").get_ydata()
    whole = data[data["round"] < 23]  # the shortest run has 23 rounds
    assert mean == pytest.approx(whole.groupby("round")["both"].mean().to_numpy())
    thin = [line for line in ax.lines if line.get_linewidth() < 1]
    assert [len(line.get_xdata()) for line in thin] == list(range(30, 22, -1))


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


def test_the_share_of_collusive_rounds_is_told() -> None:
    data = played(2)
    data["collusion"] = (data["run"] == 1) | (data["round"] % 4 == 0)
    alone = data[data["run"] == 1]

    assert "1 run · 100 % of rounds collusive" in words(collusion(alone))
    shares = data.groupby("run")["collusion"].mean()
    low, high = (f"{100 * share:.0f}" for share in sorted(shares))
    assert f"2 runs · {low} to {high} % of rounds collusive" in words(collusion(data))


def test_few_values_far_outside_are_cut_and_said_to_be() -> None:
    data = played(1)
    data["collusion_index"] = [-8.0, *[0.5] * 28, 3.0]
    figure = collusion(data)

    assert "1 run · values down to −8 and up to 3 not shown" in words(figure)
    assert figure.axes[0].get_ylim() == pytest.approx((-0.1, 1.1))
    everywhere = collusion(data.assign(collusion_index=-8.0))
    assert everywhere.axes[0].get_ylim() == pytest.approx((-8.9, 1.9))
    assert "1 run" in words(everywhere)


def test_an_index_that_is_not_defined_leaves_the_band() -> None:
    figure = collusion(played(2).assign(collusion_index=np.nan))

    assert figure.axes[0].get_ylim() == pytest.approx((-0.1, 1.1))
    with pytest.raises(ValueError, match="no rows"):
        collusion(played(1).head(0))
    with pytest.raises(ValueError, match="no column collusion_index"):
        collusion(played(1).drop(columns="collusion_index"))


def test_one_round_is_a_point() -> None:
    for n_runs in (1, MOST_PANELS + 1):
        (ax,) = prices(played(n_runs, n_rounds=1)).axes
        assert any(line.get_marker() == "o" for line in ax.lines)


def test_a_change_of_the_terms_is_drawn() -> None:
    model = BertrandCompetition(
        n_rounds=12, changes={5: {"communication": False, "cost": 4}, 9: {"communication": True}}
    )
    model.run_model()
    drawn = figures(model.model_frame(), model.agent_frame())
    assert list(drawn) == ["prices", "profits", "collusion"]
    (ax,) = drawn["prices"].axes

    assert {"talk off", "talk on"} <= {text.get_text().strip() for text in ax.texts}
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


def test_names_that_mean_something_to_matplotlib_are_shown_as_they_are() -> None:
    figure = prices(played(1), "", ["_low", "A$ and $B"])
    figure.draw_without_rendering()
    (legend,) = figure.legends

    assert [text.get_text() for text in legend.get_texts()][-2:] == [" _low", r"A\$ and \$B"]


def marked(n_runs: int, n_rounds: int, rounds: tuple[int, ...]) -> pd.DataFrame:
    """Model data in which talk begins or ends at these rounds, and prices are high."""
    data = played(n_runs, n_rounds)
    data["communication"] = [sum(r <= k for r in rounds) % 2 == 0 for k in data["round"]]
    return data


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("n_runs", [1, 3, MOST_PANELS + 1])
@pytest.mark.parametrize("n_rounds", [70, 1200])
@pytest.mark.parametrize("rounds", [(50, 60), (30, 50, 60, 65), (62, 66), (2, 50, 52, 54, 56, 58)])
def test_words_on_talk_overlap_nothing(n_runs: int, n_rounds: int, rounds) -> None:
    figure = prices(marked(n_runs, n_rounds, rounds))
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    for ax in figure.axes:
        dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
        assert len(dotted) == len(rounds)
        assert 2 <= len(ax.texts) <= len(rounds)
        boxes = [Text.get_window_extent(text, renderer) for text in ax.texts]
        titles = [text for text in ax.findobj(Text) if text.get_text().startswith("Run ")]
        boxes += [title.get_window_extent(renderer) for title in titles]
        shown = [box for box in boxes if box.width > 1]
        for i, box in enumerate(shown):
            assert box.y0 >= ax.bbox.y1
            assert box.x1 <= figure.bbox.width
            assert not any(box.overlaps(other) for other in shown[:i])
        for text in ax.texts:
            x, foot = ax.transData.transform((text.xy[0], 0))[0], ax.bbox.y1
            top = Text.get_window_extent(text, renderer).y0
            for other in ax.texts:
                box = Text.get_window_extent(other, renderer)
                if other is not text and foot <= box.y0 < top:
                    assert not box.x0 < x < box.x1


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_runs", [1, MOST_PANELS])
def test_the_most_firms_can_be_drawn(n_runs: int) -> None:
    data = played(n_runs, 20, MOST_FIRMS)
    names = [f"The firm with number {i} (classical:win_continue_lose_reverse)" for i in range(26)]
    for given in ((), names):
        for figure in figures(data, pd.DataFrame(), "", given).values():
            figure.draw_without_rendering()
            for ax in figure.axes:
                assert ax.bbox.height > 100


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("n_runs", "n_rounds", "n_firms"), [(1, 1200, 2), (5, 40, 2), (12, 1200, 2), (1, 30, 7)]
)
def test_no_text_is_cut(n_runs: int, n_rounds: int, n_firms: int) -> None:
    long = "llm:a-model-with-a-long-name@http://127.0.0.1:8000/v1 × 2, uncooperative, greedy × 1"
    for figure in figures(played(n_runs, n_rounds, n_firms), pd.DataFrame(), long).values():
        figure.draw_without_rendering()
        boxes = [t.get_window_extent() for t in figure.findobj(Text) if t.get_text()]
        shown = [box for box in boxes if box.width > 1]
        page = figure.bbox
        inside = [box for box in shown if box.x0 >= 0 and box.x1 <= page.width and box.y0 >= 0]
        assert len(shown) - len(inside) <= 2  # ticks just beyond the limits are not drawn


def test_wrong_data_are_refused() -> None:
    data = played(1)

    with pytest.raises(ValueError, match="no column cartel_price"):
        prices(data.drop(columns="cartel_price"))
    with pytest.raises(ValueError, match="no rows"):
        profits(data.head(0))


def test_the_data_stay_as_they_are() -> None:
    data = played(7).drop(columns="communication")
    copy = data.copy()
    figures(data, pd.DataFrame())

    pd.testing.assert_frame_equal(data, copy)
