"""The fastest evacuation that the walls and exits of a room allow.

Nobody can leave before the steps to an exit are walked, and an exit lets out at most one person per
cell and round, since a cell holds one person, and people on exit cells leave at the end of the
round. These are the only limits: people do not block each other elsewhere. So no run can be faster,
and few are as fast.

Sources:
    Ford and Fulkerson (1958), "Constructing Maximal Dynamic Flows from Static Flows", Operations
    Research 6(3): flows over time by a copy of the network for each period.
    Hamacher and Tjandra (2001), "Mathematical Modelling of Evacuation Problems: A State of Art",
    Berichte des Fraunhofer ITWM 24: bounds on evacuation times by such flows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def most_escaped(steps: npt.ArrayLike, widths: Sequence[int], rounds: int) -> Ints:
    """Return the maximum number of escaped people after each number of rounds.

    It is a maximum flow for each number of rounds: a person reaches an exit after one round per
    step, may wait there, and one person leaves per exit cell and round.

    Args:
        steps: steps to each exit, shape (n_exits, n_people); infinite where there is no way.
        widths: number of cells of each exit.
        rounds: the last number of rounds wanted, 0 or more.

    Returns:
        Shape (rounds + 1,), after 0, 1, … rounds; rising from 0.

    Raises:
        ValueError: if there is no exit, or not one width of 1 or more for each, or `rounds` is
            negative.
    """
    if rounds < 0:
        raise ValueError(f"rounds must be 0 or more, not {rounds}")
    crowd = _Crowd(steps, widths)
    curve = np.zeros(rounds + 1, dtype=np.int64)
    for t in range(1, rounds + 1):
        done = curve[t - 1] == crowd.n_reachable
        curve[t] = curve[t - 1] if done else crowd.most_out(t)
    return curve


class _Crowd:
    """People grouped by their steps to the exits."""

    def __init__(self, steps: npt.ArrayLike, widths: Sequence[int]) -> None:
        given = np.maximum(
            np.asarray(steps, dtype=np.float64), 1
        )  # all leave at the end of a round
        if given.ndim != 2 or len(given) == 0 or len(given) != len(widths) or min(widths) < 1:
            raise ValueError(
                f"need steps of shape (n_exits, n_people) with one width of 1 or more for each "
                f"exit, not shape {given.shape} and widths {list(widths)}"
            )
        self.n = given.shape[1]
        able = given[:, np.isfinite(given).any(axis=0)]
        self.n_reachable = able.shape[1]
        self.widths = np.array(widths)
        self.steps, self.counts = np.unique(able, axis=1, return_counts=True)

    def most_out(self, rounds: int) -> int:
        """Return the maximum flow of people to the outside within a number of rounds."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow

        n_exits, n_groups = self.steps.shape
        # The nodes: source, sink, one per group of people, and one per exit and round.
        ends = np.arange(n_exits * rounds).reshape(n_exits, rounds) + 2 + n_groups
        exit_, group = np.nonzero(self.steps <= rounds)
        arrival = ends[exit_, self.steps[exit_, group].astype(np.int64) - 1]
        edges = [
            (np.zeros(n_groups), np.arange(n_groups) + 2, self.counts),
            (group + 2, arrival, self.counts[group]),
            (ends[:, :-1].ravel(), ends[:, 1:].ravel(), np.full(ends[:, 1:].size, self.n)),
            (ends.ravel(), np.ones(ends.size), np.repeat(self.widths, rounds)),
        ]
        tails, heads, most = np.concatenate(edges, axis=1).astype(np.int32)
        size = 2 + n_groups + ends.size
        network = coo_array((most, (tails, heads)), shape=(size, size)).tocsr()
        return int(maximum_flow(network, 0, 1).flow_value)
