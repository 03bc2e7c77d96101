"""Measures of a cocktail party: partners, tight and loose pairs, trends, and the network of talks.

They read the agents' data of a party (``agents.csv``): ``partners`` has the numbers of the agents
that an agent talked with in the round, ``invited`` the agent that it invited, and ``distances`` the
semantic distance of each of its pairs in the window (see `sabm_mesa.analysis.sparse_text`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis.intervals import require_columns
from sabm_mesa.models.declarations import Study

WINDOW = 10
"""Rounds of the rolling window (Lai et al. 2024, section 2)."""
TIGHT = 5
"""A pair with more talks than this in the whole run is tight (Lai et al. 2024, section 2)."""
Pair = tuple[int, int]


def distinct_ratio(chosen: Iterable[Pair]) -> float:
    """Mean over agents of the ratio of different partners to all partners.

    Source: Lai et al. 2024, section 2.

    Args:
        chosen: (agent, partner) for each talk or invitation of the agent in the window.

    Returns:
        1 if no two agents meet twice; NaN if none met. Agents without a partner do not count.
    """
    partners: dict[int, list[int]] = defaultdict(list)
    for agent, partner in chosen:
        partners[agent].append(partner)
    shares = [len(set(met)) / len(met) for met in partners.values()]
    return float(np.mean(shares)) if shares else math.nan


def expected_distinct_ratio(m: float, n_others: int) -> float:
    """The expected distinct ratio of m partners drawn at random among all others.

    Args:
        m: number of partners drawn.
        n_others: number of other agents.

    Returns:
        n · (1 − (1 − 1/n)^m) / m, that is 0.623 for 10 draws among 9; NaN for m = 0.
    """
    return n_others * (1 - (1 - 1 / n_others) ** m) / m if m > 0 else math.nan


def repeat_rate(talks: Sequence[tuple[int, Pair]], turn: int, window: int = WINDOW) -> float:
    """The share of a round's talks whose two agents also talked in the previous rounds.

    Args:
        talks: (round, pair) of all talks; the order of a pair does not matter.
        window: number of rounds before it that count.

    Returns:
        0 to 1; NaN without talks in the round.
    """
    before = {frozenset(pair) for t, pair in talks if turn - window <= t < turn}
    now = [frozenset(pair) in before for t, pair in talks if t == turn]
    return sum(now) / len(now) if now else math.nan


def talks_of(agent_data: pd.DataFrame) -> pd.DataFrame:
    """The talks in agents' data.

    Args:
        agent_data: one row per run, round and agent, with the column ``partners``.

    Returns:
        One row per talk: ``run``, ``round``, ``a``, ``b`` with a < b.
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


def talk_counts(talks: Iterable[Pair]) -> Counter[Pair]:
    """Pair, the smaller number first → number of its talks.

    Args:
        talks: the two agents of each talk.
    """
    return Counter((min(pair), max(pair)) for pair in talks)


def tight_pairs(counts: Mapping[Pair, int], more_than: int = TIGHT) -> set[Pair]:
    """The pairs with more talks than `more_than`; all other pairs that talked are loose.

    Source: Lai et al. 2024, section 2.

    Args:
        counts: pair → number of talks.
        more_than: the limit.
    """
    return {pair for pair, n in counts.items() if n > more_than}


def slope(rounds: Sequence[float], values: Sequence[float]) -> float:
    """Change of a measure per round in one run, by least squares; NaN values are left out.

    It describes the run and has no p-value: overlapping windows are not independent observations,
    and a test that ignores this finds spurious trends.

    Args:
        rounds: the numbers of the rounds.
        values: the measure in each.

    Returns:
        NaN with fewer than three values.
    """
    x, y = np.asarray(rounds, dtype=float), np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    return float(np.polyfit(x[known], y[known], 1)[0]) if known.sum() >= 3 else math.nan


def distances_by_round(agent_data: pd.DataFrame) -> pd.DataFrame:
    """Mean semantic distance of tight and of loose pairs, by run and round.

    Pairs are tight or loose by their talks in the whole run (`tight_pairs`).

    Args:
        agent_data: one row per run, round and agent, with ``partners`` and ``distances``.

    Returns:
        ``run``, ``round``, ``tight``, ``loose`` (cosine distance, 0 to 1; NaN without such pairs).
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
    """The words of a cell; empty for a missing cell.

    Args:
        cell: a text; read from CSV it may also be a number or missing.
    """
    return [] if pd.isna(cell) else str(cell).split()


def run_measures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    talks: Sequence[Pair],
    n_invitations: int,
) -> dict[str, Any]:
    """Tight and loose pairs, and trends over full windows.

    Args:
        model_data: one row per round, with ``distinct_conversation_ratio`` and
            ``distinct_invitation_ratio``.
        agent_data: see `distances_by_round`.
        talks: the two agents of each talk of the run.
        n_invitations: number of invitations of the run.

    Returns:
        Measure → value. Slopes are changes per round; NaN without three full windows.
    """
    counts = talk_counts(talks)
    tight = tight_pairs(counts)
    return {
        "conversations": len(talks),
        "invitations": n_invitations,
        "tight_pairs": len(tight),
        "loose_pairs": len(counts) - len(tight),
        **_slopes(model_data, agent_data),
    }


def _slopes(model_data: pd.DataFrame, agent_data: pd.DataFrame) -> dict[str, float]:
    """The slopes of ratios and distances over the full windows."""
    full = WINDOW - 1
    distances = distances_by_round(agent_data)
    series = {
        "conversation_ratio": model_data["distinct_conversation_ratio"],
        "invitation_ratio": model_data["distinct_invitation_ratio"],
        "tight_distance": distances["tight"],
        "loose_distance": distances["loose"],
    }
    measures: dict[str, float] = {}
    for name, values in series.items():
        shown = [math.nan if value is None else float(value) for value in values[full:]]
        measures[f"slope_{name}"] = slope(range(full, full + len(shown)), shown)
    return measures


STUDY = Study(
    column_bounds={
        "distinct_conversation_ratio": (0.0, 1.0),
        "distinct_invitation_ratio": (0.0, 1.0),
        "repeat_rate": (0.0, 1.0),
    }
)
