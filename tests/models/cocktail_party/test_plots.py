"""The plots of the cocktail party."""

import pandas as pd
import pytest
from matplotlib import rcParams

from sabm_mesa import CocktailParty
from sabm_mesa.models.cocktail_party import measures as collective
from sabm_mesa.models.cocktail_party import plots as cocktail_party
from sabm_mesa.models.cocktail_party.plots import network_by_period
from sabm_mesa.runs.run import run_all


def frames(model, runs=(0,)):
    return (
        pd.concat([model.model_frame(run) for run in runs], ignore_index=True),
        pd.concat([model.agent_frame(run) for run in runs], ignore_index=True),
    )


@pytest.fixture(scope="module")
def party():
    model = CocktailParty(n_rounds=14, rng=2)
    model.run_model()
    return model


def panels(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def drawn(figure):
    figure.draw_without_rendering()
    return figure


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("runs", [(0,), (0, 1, 2)])
def test_every_figure_is_drawn_with_labels(party, runs) -> None:
    before = dict(rcParams)
    found = cocktail_party.figures(*frames(party, runs), "baseline")

    assert set(found) == {"ratios", "network", "distances", "chance"}
    for figure in found.values():
        drawn(figure)
        assert figure.get_suptitle()
    for name in ("ratios", "distances"):
        for ax in panels(found[name]):
            assert ax.get_xlabel()
            assert ax.get_ylabel()
    assert dict(rcParams) == before


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("n_rounds", [1, 2, 11])
@pytest.mark.parametrize("wish", ["nobody", "L1"])
def test_short_and_silent_runs_are_drawn_too(n_rounds, wish) -> None:
    model = CocktailParty(n_agents=3, n_rounds=n_rounds, minds=f"fixed:{wish}", rng=1)
    model.run_model()

    for figure in cocktail_party.figures(*frames(model)).values():
        drawn(figure)


def test_the_ratios_are_those_of_the_data(party) -> None:
    model_data, agent_data = frames(party)
    (ax,) = cocktail_party.ratios_by_round(model_data, agent_data).axes
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}

    assert list(lines["talks"]) == list(model_data["distinct_conversation_ratio"])
    assert list(lines["invitations"]) == list(model_data["distinct_invitation_ratio"])
    talks = collective.talks_of(agent_data)
    of_last = talks[talks["round"] >= 4]
    counts = pd.concat([of_last["a"], of_last["b"]]).value_counts()
    expected = [collective.expected_distinct_ratio(m, 9) for m in counts]
    assert lines["talks with random partners"][-1] == pytest.approx(sum(expected) / len(expected))


def test_the_network_has_the_edges_of_each_half(party) -> None:
    _, agent_data = frames(party)
    halves = panels(network_by_period(agent_data))
    talks = collective.talks_of(agent_data)

    assert [ax.get_title() for ax in halves] == ["Rounds 1 to 7", "Rounds 8 to 14"]
    for ax, part in zip(
        halves, (talks[talks["round"] < 7], talks[talks["round"] > 6]), strict=True
    ):
        assert len(ax.lines) == len(part[["a", "b"]].drop_duplicates())
        (nodes,) = ax.collections
        assert len(nodes.get_offsets()) == 10
    assert halves[0].collections[0].get_offsets().tolist() == (
        halves[1].collections[0].get_offsets().tolist()
    )


def test_all_pairs_are_counted(party) -> None:
    _, agent_data = frames(party)
    left, middle, right = cocktail_party.chance(agent_data).axes

    assert sum(bar.get_height() for bar in left.patches) == 45
    heights = [bar.get_height() * round(bar.get_x() + bar.get_width() / 2) for bar in left.patches]
    assert sum(heights) == len(party.chats)
    measures = party.end_measures()
    for ax, name in ((middle, "clustering"), (right, "modularity")):
        assert ax.get_ylabel() == name.capitalize()
        assert list(ax.lines[-1].get_ydata()) == [pytest.approx(measures[name])]


def test_the_legend_tells_the_slope_of_a_run_and_no_p(party) -> None:
    (ax,) = cocktail_party.distances(frames(party)[1]).axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]

    assert not any("p =" in label or "p <" in label for label in labels)
    slope = party.end_measures()["slope_loose_distance"]
    said = f"{slope:+.4f} a round".replace("-", "−")
    assert any(said in label for label in labels)


def test_over_runs_the_legend_tells_the_mean_of_their_slopes_and_its_p() -> None:
    runs = run_all(CocktailParty, {"n_agents": 5, "n_rounds": 14}, runs=3, seed=1)
    measures = [model.end_measures() for model in runs.models]
    (ax,) = cocktail_party.distances(runs.agent_frame()).axes
    (loose,) = (each.get_text() for each in ax.get_legend().get_texts() if "loose" in str(each))

    slopes = [each["slope_loose_distance"] for each in measures]
    p = 0.25 if min(slopes) > 0 or max(slopes) < 0 else None
    slope = f"{sum(slopes) / 3:+.4f}".replace("-", "−")
    assert loose.startswith(f"loose pairs: {slope} a round (p = ")
    assert p is None or f"p = {p:.3f}, 3 runs" in loose
    assert not [name for each in measures for name in each if name.startswith("p_")]


@pytest.mark.parametrize(
    ("draw", "column"),
    [
        (cocktail_party.ratios_by_round, "distinct_conversation_ratio"),
        (lambda _, agents: cocktail_party.distances(agents), "distances"),
        (lambda _, agents: network_by_period(agents), "partners"),
    ],
)
def test_what_is_missing_is_named(party, draw, column) -> None:
    model_data, agent_data = (
        frame.drop(columns=column, errors="ignore") for frame in frames(party)
    )

    with pytest.raises(ValueError, match=column):
        draw(model_data, agent_data)
    with pytest.raises(ValueError, match="nothing to plot"):
        draw(*(frame.iloc[:0] for frame in frames(party)))
