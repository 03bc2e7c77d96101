"""The plots of the cocktail party."""

import pandas as pd
import pytest
from matplotlib import rcParams

from sabm_mesa import CocktailParty
from sabm_mesa.models.pairs.cocktail_party import measures as collective
from sabm_mesa.models.pairs.cocktail_party import plots as cocktail_party


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

    assert set(found) == {"ratios", "network", "distances"}
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
