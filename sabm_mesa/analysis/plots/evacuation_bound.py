"""The fastest evacuation from where the people of each run stood, for the plot of the escapes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.statistics import require_columns
from sabm_mesa.analysis.theory.evacuation import most_escaped

if TYPE_CHECKING:
    from sabm_mesa.models.room import Room


def fastest(agent_data: pd.DataFrame, room: Room, last: int) -> npt.NDArray[np.float64]:
    """The most people that can have escaped after each number of rounds played, mean of the runs.

    The data begin with where people stand after the first round, so that the bound holds from
    there on and is what was seen up to there. Steps count as if diagonal ones were allowed, also
    in a room without, since a run may have been forked between the two.

    Args:
        agent_data: one row a run, round and person, with columns ``run``, ``round``, ``status``,
            ``x`` and ``y``.
        room: the room.
        last: the last number of rounds played that is wanted.

    Returns:
        Shape (last + 1,), after 0, 1, … rounds.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_columns(agent_data, ["run", "round", "status", "x", "y"])
    if agent_data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
    steps = (room if room.diagonals else replace(room, diagonals=True)).steps
    widths = [len(cells) for cells in room.exit_cells.values()]
    curves = [_of_run(run, steps, widths, last) for _, run in agent_data.groupby("run")]
    mean: npt.NDArray[np.float64] = np.mean(curves, axis=0)
    return mean


def _of_run(
    run: pd.DataFrame, steps: npt.NDArray[np.float64], widths: list[int], last: int
) -> npt.NDArray[np.float64]:
    first = run[run["round"] == run["round"].min()]
    out = first["status"] == "escaped"
    x, y = first.loc[~out, ["x", "y"]].to_numpy(dtype=np.int64).T
    played = int(first["round"].iloc[0]) + 1
    later = most_escaped(steps[:, x, y], widths, max(last - played, 0))
    curve = np.concatenate([np.zeros(played), later + float(out.sum())])
    return curve[: last + 1]
