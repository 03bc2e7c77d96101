"""Measures of who talks with whom: partner ratios, tight and loose pairs, trends.

They read the agents' data of a party (``agents.csv``), where ``partners`` holds the numbers of
those an agent talked with in the round, ``invited`` whom it invited, and ``distances`` the
semantic distance of each of its pairs in the window (see `sabm_mesa.analysis.sparse_text`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from sabm_mesa.analysis.permutation import outside_p
from sabm_mesa.analysis.statistics import require_columns

WINDOW = 10
"""Rounds of the rolling window (Lai et al. 2024, section 2)."""
TIGHT = 5
"""A pair with more talks than this in the whole run is tight (Lai et al. 2024, section 2)."""
Pair = tuple[int, int]


class Trend(NamedTuple):
    """How a measure changes over the rounds, in several runs.

    Attributes:
        slope: change a round, mean over the runs; NaN without any.
        p_value: of the two-sided test that its mean over runs is 0, by flipping signs; NaN with
            fewer than two runs, for one run shows nothing of how much runs differ.
        n_runs: number of runs that have a slope.
    """

    slope: float
    p_value: float
    n_runs: int


def distinct_ratio(chosen: Iterable[Pair]) -> float:
    """Mean over agents of different partners to all partners.

    Args:
        chosen: (agent, partner), one for each talk or invitation of the agent in the window.

    Returns:
        1 when nobody meets anybody twice; NaN when nobody met anybody. Agents without a partner
        do not count.

    Source: Lai et al. 2024, section 2.
    """
    partners: dict[int, list[int]] = defaultdict(list)
    for agent, partner in chosen:
        partners[agent].append(partner)
    shares = [len(set(met)) / len(met) for met in partners.values()]
    return float(np.mean(shares)) if shares else math.nan


def expected_distinct_ratio(m: float, n_others: int) -> float:
    """The distinct ratio of m partners that are drawn at random among all others.

    Args:
        m: number of partners drawn.
        n_others: number of other agents.

    Returns:
        n · (1 − (1 − 1/n)^m) / m, that is 0.623 for 10 draws among 9; NaN for m = 0.
    """
    return n_others * (1 - (1 - 1 / n_others) ** m) / m if m > 0 else math.nan


def partner_entropy(met: Iterable[Pair], n_others: int) -> float:
    """How evenly agents spread their talks over the others, mean over agents.

    Args:
        met: (agent, partner), one for each talk of the agent.
        n_others: number of others (1 or more).

    Returns:
        The entropy of each agent's partners to that of equally frequent ones (Shannon 1948), from
        0 (always the same one) to 1; NaN when nobody met anybody, or there is one other only.
        Agents without a partner do not count.
    """
    partners: dict[int, Counter[int]] = defaultdict(Counter)
    for agent, partner in met:
        partners[agent][partner] += 1
    if not partners or n_others < 2:
        return math.nan
    found = [float(stats.entropy([*counts.values()])) for counts in partners.values()]
    return float(np.mean(found)) / math.log(n_others)


def repeat_rate(talks: Sequence[tuple[int, Pair]], turn: int, window: int = WINDOW) -> float:
    """The share of a round's talks between two that talked in the rounds before it.

    Args:
        talks: (round, pair) of all talks; the order of a pair does not matter.
        turn: the round.
        window: how many rounds before it count.

    Returns:
        0 to 1; NaN when nobody talks in the round.
    """
    before = {frozenset(pair) for t, pair in talks if turn - window <= t < turn}
    now = [frozenset(pair) in before for t, pair in talks if t == turn]
    return sum(now) / len(now) if now else math.nan


def talks_of(agent_data: pd.DataFrame) -> pd.DataFrame:
    """The talks of agents' data.

    Args:
        agent_data: one row a run, round and agent, with the column ``partners``.

    Returns:
        One row a talk: ``run``, ``round``, ``a``, ``b`` with a < b.

    Raises:
        ValueError: when a column is missing.
    """
    require_columns(agent_data, ["run", "round", "agent", "partners"])
    columns = (agent_data[name] for name in ("run", "round", "agent", "partners"))
    rows = [
        (run, turn, agent, partner)
        for run, turn, agent, partners in zip(*columns, strict=True)
        for partner in map(int, map(float, words(partners)))
        if agent < partner
    ]
    return pd.DataFrame(rows, columns=["run", "round", "a", "b"], dtype=int)


def invitations_of(agent_data: pd.DataFrame) -> pd.DataFrame:
    """The invitations of agents' data.

    Args:
        agent_data: one row a run, round and agent, with the column ``invited``.

    Returns:
        One row an invitation: ``run``, ``round``, ``sender``, ``receiver``.

    Raises:
        ValueError: when a column is missing.
    """
    require_columns(agent_data, ["run", "round", "agent", "invited"])
    sent = agent_data.dropna(subset=["invited"])[["run", "round", "agent", "invited"]]
    sent.columns = pd.Index(["run", "round", "sender", "receiver"])
    return sent.astype(int).reset_index(drop=True)


def talk_counts(talks: Iterable[Pair]) -> Counter[Pair]:
    """Pair, the smaller number first → how often it talked.

    Args:
        talks: the two agents of each talk.
    """
    return Counter((min(pair), max(pair)) for pair in talks)


def tight_pairs(counts: Mapping[Pair, int], more_than: int = TIGHT) -> set[Pair]:
    """The pairs with more talks than `more_than`; all others that talked are loose.

    Args:
        counts: pair → number of talks.
        more_than: the limit.

    Source: Lai et al. 2024, section 2.
    """
    return {pair for pair, n in counts.items() if n > more_than}


def slope(rounds: Sequence[float], values: Sequence[float]) -> float:
    """Change of a measure a round in one run, by least squares; NaN values are left out.

    It describes the run. No p-value comes with it: windows that overlap are no independent
    observations, and a test that takes them for such finds trends where there are none.

    Args:
        rounds: the numbers of the rounds.
        values: the measure in each.

    Returns:
        NaN with fewer than three values.
    """
    x, y = np.asarray(rounds, dtype=float), np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    return float(np.polyfit(x[known], y[known], 1)[0]) if known.sum() >= 3 else math.nan


def trend(slopes: Iterable[float]) -> Trend:
    """The trend over runs, of which each counts once (`sabm_mesa.analysis.permutation`).

    Args:
        slopes: one a run, as from `slope`; NaN values are left out.
    """
    known = [each for each in slopes if not math.isnan(each)]
    if not known:
        return Trend(math.nan, math.nan, 0)
    p_value = float(outside_p(known, 0, 0)) if len(known) > 1 else math.nan
    return Trend(float(np.mean(known)), p_value, len(known))


def distances_by_round(agent_data: pd.DataFrame) -> pd.DataFrame:
    """Mean semantic distance of tight and of loose pairs, by run and round.

    Pairs are tight or loose by their talks in the whole run (`tight_pairs`).

    Args:
        agent_data: one row a run, round and agent, with ``partners`` and ``distances``.

    Returns:
        ``run``, ``round``, ``tight``, ``loose`` (cosine distance, 0 to 1; NaN without such pairs).

    Raises:
        ValueError: when a column is missing.
    """
    require_columns(agent_data, ["run", "round", "agent", "distances"])
    talks = talks_of(agent_data)
    tight: dict[Any, set[Pair]] = {
        run: tight_pairs(talk_counts(zip(group["a"], group["b"], strict=True)))
        for run, group in talks.groupby("run")
    }
    rows = []
    for (run, turn), group in agent_data.groupby(["run", "round"]):
        kinds: dict[bool, list[float]] = {True: [], False: []}
        for agent, cell in zip(group["agent"], group["distances"], strict=True):
            for partner, _, distance in (word.partition(":") for word in words(cell)):
                if agent < int(partner):
                    kinds[(agent, int(partner)) in tight.get(run, set())].append(float(distance))
        means = [float(np.mean(kinds[kind])) if kinds[kind] else math.nan for kind in (True, False)]
        rows.append((run, turn, *means))
    return pd.DataFrame(rows, columns=["run", "round", "tight", "loose"])


def words(cell: Any) -> list[str]:
    """The words of a cell; none in a missing one.

    Args:
        cell: a text, or what became of it: a number when it was read from CSV, or nothing.
    """
    return [] if pd.isna(cell) else str(cell).split()
