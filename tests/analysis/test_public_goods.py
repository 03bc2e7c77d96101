"""Theory and measures of the public goods game, and what its plots draw."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.plots.public_goods import (
    CLASSES,
    class_of,
    contributions_by_round,
    figures,
    infection,
    ordinal,
    shares_by_round,
)
from sabm_mesa.analysis.public_goods import (
    group_efficiency,
    infections,
    mean_drop,
    resilience_ratio,
    run_measures,
)
from sabm_mesa.analysis.theory.public_goods import (
    dominant_contribution,
    marginal_return,
    optimal_contribution,
    payoffs,
)

# Theory: the game of Lai et al. 2024, and that of Fischbacher & Gächter 2010.


@pytest.mark.parametrize(
    ("contributions", "paid"),
    [
        ([0, 0], [100, 100]),
        ([100, 100], [130, 130]),
        ([100, 0], [65, 165]),
        ([0, 100], [165, 65]),
        ([72.5, 34], [96.725, 135.225]),
        ([100], [130]),
        ([], []),
    ],
)
def test_the_published_payoffs(contributions, paid) -> None:
    assert payoffs(contributions, 100, 1.3) == pytest.approx(paid)


def test_the_laboratory_pays_20_less_c_plus_two_fifths_of_all() -> None:
    given_ = [18, 5, 2, 4]

    assert payoffs(given_, 20, 1.6) == pytest.approx([20 - c + 0.4 * 29 for c in given_])


def test_giving_nothing_is_dominant_and_giving_all_is_best() -> None:
    assert marginal_return(1.3, 2) == 0.65
    assert dominant_contribution(100, 1.3, 2) == 0
    assert optimal_contribution(100, 1.3) == 100


def test_beyond_the_dilemma() -> None:
    assert dominant_contribution(100, 3, 2) == 100
    assert dominant_contribution(100, 2, 2) is None
    assert optimal_contribution(100, 0.5) == 0
    assert optimal_contribution(100, 1) is None


@pytest.mark.parametrize(("multiplier", "n"), [(0, 2), (-1, 2), (1.3, 0), (math.nan, 2)])
def test_the_marginal_return_needs_a_game(multiplier, n) -> None:
    with pytest.raises(ValueError, match="need multiplier > 0"):
        marginal_return(multiplier, n)


@pytest.mark.parametrize("wrong", [-1, 101, math.nan])
def test_a_payoff_needs_legal_contributions(wrong) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        payoffs([wrong, 50], 100, 1.3)


@given(
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    multiplier=st.floats(0.1, 10),
    endowment=st.floats(1, 1000),
)
def test_one_alone_gains_by_the_dominant_contribution(shares, multiplier, endowment) -> None:
    amounts = [share * endowment for share in shares]
    best = dominant_contribution(endowment, multiplier, len(amounts))
    before = payoffs(amounts, endowment, multiplier)
    assert before.sum() == pytest.approx(
        len(amounts) * endowment + (multiplier - 1) * math.fsum(amounts)
    )
    if best is not None:
        after = payoffs([best, *amounts[1:]], endowment, multiplier)
        assert after[0] >= before[0] - 1e-9 * endowment


# Measures.


def chains(drops):
    """Agent data of chains of four, by the amounts before and after of the first two orders."""
    rows = []
    for run, ((x, x_then), (y, y_then)) in enumerate(drops):
        played = {(0, 4): 0, (0, 1): x, (1, 1): x_then, (1, 2): y, (2, 2): y_then, (2, 3): 50}
        for at in range(3):
            for agent in range(1, 5):
                amount = played.get((at, agent), math.nan)
                paid = 100 if (at, agent) in played else math.nan
                rows.append((run, at, agent, amount, paid))
    return pd.DataFrame(rows, columns=["run", "round", "agent", "contribution", "payoff"])


def test_infections_are_before_and_after() -> None:
    found = infections(chains([((72.5, 34), (80, 27)), ((100, 79.75), (60, 60))]))

    assert list(found.columns) == ["run", "order", "before", "after", "drop"]
    assert found.to_numpy().tolist() == [
        [0, 1, 72.5, 34, 38.5], [0, 2, 80, 27, 53], [1, 1, 100, 79.75, 20.25], [1, 2, 60, 60, 0],
    ]  # fmt: skip


def test_an_answer_that_could_not_be_used_has_no_drop() -> None:
    data = chains([((math.nan, 34), (80, 20)), ((50, 40), (70, 30))])

    assert mean_drop(data) == 10
    assert mean_drop(data, order=2) == 50
    assert math.isnan(mean_drop(data, order=3))


def test_a_chain_that_was_cut_short_has_fewer_orders() -> None:
    data = chains([((72.5, 34), (80, 27))])

    assert list(infections(data[data["round"] < 2])["order"]) == [1]
    assert infections(data[data["round"] < 1]).empty


def test_resilience_and_efficiency() -> None:
    assert resilience_ratio(13.25, 38.5) == pytest.approx(0.344, abs=0.001)
    assert math.isnan(resilience_ratio(10, 0))
    assert group_efficiency(72.5, 100) == 0.725


def test_measures_of_a_run() -> None:
    model = pd.DataFrame(
        {
            "contribution": [36.25, 57, math.nan],
            "normal_contribution": [72.5, 57, math.nan],
            "efficiency": [0.3625, 0.57, math.nan],
        }
    )
    found = run_measures(model, chains([((72.5, 34), (80, 27))]), chain=True)

    assert found["contribution"] == pytest.approx(46.625)
    assert found["normal_contribution"] == pytest.approx(64.75)
    assert found["first_contribution"] == 36.25
    assert math.isnan(found["last_contribution"])
    assert (found["drop_1"], found["drop_2"]) == (38.5, 53)
    assert "drop_1" not in run_measures(model, chains([((1, 2), (3, 4))]), chain=False)


def test_columns_that_are_missing_are_named() -> None:
    with pytest.raises(ValueError, match="no column agent, contribution"):
        infections(pd.DataFrame({"run": [], "round": []}))


# Plots.


def runs_of(n_runs, n_players=4, n_rounds=5, malicious=0):
    rng = np.random.default_rng(3)
    model, agents = [], []
    for run in range(n_runs):
        for at in range(n_rounds):
            amounts = rng.choice([0.0, 20.0, 80.0, 100.0, math.nan], n_players)
            amounts[n_players - malicious :] = 0
            amounts[0] = 60
            valid = amounts[~np.isnan(amounts)]
            normal = amounts[: n_players - malicious]
            model.append((run, at, valid.mean(), normal[~np.isnan(normal)].mean()))
            agents += [(run, at, i, a, 100.0) for i, a in enumerate(amounts, 1)]
    columns = ["run", "round", "contribution", "normal_contribution"]
    return pd.DataFrame(model, columns=columns), pd.DataFrame(
        agents, columns=["run", "round", "agent", "contribution", "payoff"]
    )


def labels(ax):
    return [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]


def test_the_figures_of_groups_and_of_a_chain() -> None:
    model, agents = runs_of(2)
    chain = chains([((72.5, 34), (80, 27))])
    rounds = chain[chain["round"] == 0]

    assert set(figures(model, agents)) == {"contributions", "shares"}
    assert set(figures(model, chain, chain=True)) == {"contributions", "infection"}
    assert set(figures(model, rounds, chain=True)) == {"contributions"}


def test_the_mean_line_is_the_mean_of_the_runs() -> None:
    model, agents = runs_of(3)
    (ax,) = contributions_by_round(model, agents, "baseline", 100).axes
    (mean,) = [line for line in ax.lines if line.get_label() == "mean of the runs"]

    assert list(mean.get_ydata()) == pytest.approx(model.groupby("round")["contribution"].mean())
    assert mean.get_color() == style.BLUE
    assert ax.get_ylim() == (0, 100)
    assert labels(ax) == ["single runs", "mean of the runs"]
    assert ax.get_ylabel() == "Contribution (dollars)"


def test_one_run_shows_its_players_and_those_who_are_not_malicious() -> None:
    model, agents = runs_of(1, malicious=1)
    (ax,) = contributions_by_round(model, agents, "", 100).axes

    assert labels(ax) == ["single players", "mean of the players", "without malicious players"]
    assert len(ax.lines) == 4 + 2
    (ax,) = contributions_by_round(*runs_of(1, n_players=30), "", 100).axes
    assert labels(ax) == ["mean of the players"]


def test_the_bars_of_a_round_add_up_to_all_players() -> None:
    _, agents = runs_of(4)
    (ax,) = shares_by_round(agents, "", 100).axes
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(len(CLASSES), 5)
    counted = agents["contribution"].map(lambda c: class_of(c, 100))

    assert heights.sum(axis=0) == pytest.approx(np.ones(5))
    first = counted[agents["round"] == 0].value_counts(normalize=True)
    assert list(heights[:, 0]) == pytest.approx([first.get(name, 0) for name in CLASSES])


def test_players_in_no_game_are_in_no_bar() -> None:
    (ax,) = shares_by_round(chains([((100, 0), (40, 60))]), "", 100).axes
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(len(CLASSES), 3)

    assert list(heights[0]) == [0.5, 0.5, 0]
    assert list(heights[:, 2]) == [0, 0.5, 0.5, 0, 0]
    assert "no valid amount" not in labels(ax)


@pytest.mark.parametrize(
    ("amount", "name"),
    [
        (0, "nothing"), (0.1, "up to half"), (10, "up to half"), (10.1, "more than half"),
        (20, "everything"), (math.nan, "no valid amount"),
    ],
)  # fmt: skip
def test_the_classes_of_contributions(amount, name) -> None:
    assert class_of(amount, 20) == name


def test_infection_shows_each_order_with_its_mean_drop() -> None:
    data = chains([((72.5, 34), (80, 27)), ((60, 34), (math.nan, 60))])
    first, second = infection(data, "", 100).axes

    assert first.get_title(loc="left") == "1st order\nmean drop 32.2"
    assert second.get_title(loc="left") == "2nd order\nmean drop 53.0"
    (mean,) = [line for line in first.lines if line.get_label() == "mean"]
    assert list(mean.get_ydata()) == [66.25, 34]


def test_an_order_without_a_valid_pair_says_so() -> None:
    _, second = infection(chains([((72.5, 34), (math.nan, 27))]), "", 100).axes

    assert second.get_title(loc="left") == "2nd order\nno valid pair"


def test_nothing_to_plot() -> None:
    model, agents = runs_of(1)
    with pytest.raises(ValueError, match="no rows"):
        contributions_by_round(model[:0], agents, "", 100)
    with pytest.raises(ValueError, match="nobody of the chain"):
        infection(agents[agents["round"] == 0], "", 100)


def test_a_round_without_a_valid_amount_has_no_point() -> None:
    model, agents = runs_of(1)
    model[["contribution", "normal_contribution"]] = math.nan
    (ax,) = contributions_by_round(model, agents, "", 100).axes

    assert np.isnan(np.asarray(ax.lines[-1].get_ydata(), dtype=float)).all()


def test_ordinals() -> None:
    assert [ordinal(i) for i in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
    ]  # fmt: skip
