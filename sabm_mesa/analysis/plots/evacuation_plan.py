"""What is drawn of the room of an evacuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.plots import style

if TYPE_CHECKING:
    from sabm_mesa.models.room import Room

EXIT_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.YELLOW)
"""The colour of an exit and of those who want to leave by it, in the order of the exits."""


@dataclass(frozen=True)
class Plan:
    """What is drawn of a room.

    Attributes:
        walls: 1 at walls, 2 at obstacles, else 0, by (x, y).
        exits: exit → its cells.
    """

    walls: npt.NDArray[np.int64]
    exits: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(
        cls, room: Room | Plan | None, agent_data: pd.DataFrame, names: Sequence[str] = ()
    ) -> Plan:
        """The plan of a room, or what the positions in the data say of it.

        Args:
            room: the room, or its plan; None infers it from the data.
            agent_data: see `snapshots`.
            names: the exits in their order, as far as it is known.
        """
        if isinstance(room, Plan):
            return room
        if room is not None:
            walls = room.solid.astype(np.int64)
            walls[1:-1, 1:-1] *= 2
            return cls(walls, {name: list(cells) for name, cells in room.exit_cells.items()})
        out = agent_data[(agent_data["status"] == "escaped") & agent_data["x"].notna()]
        exits = {
            str(name): [(int(x), int(y)) for x, y in sorted(set(zip(e["x"], e["y"], strict=True)))]
            for name, e in out.groupby("exit", sort=False)
        }
        named = sorted({str(name) for name in agent_data["target"].dropna()} | set(exits))
        cells = [cell for each in exits.values() for cell in each]
        height = int(max(agent_data["x"].max() + 1, *(x for x, _ in cells), 2)) + 1
        width = int(max(agent_data["y"].max() + 1, *(y for _, y in cells), 2)) + 1
        # An exit is a gap in the wall, so that one at the largest row or column is the wall's own.
        height -= any(x == height - 2 and 0 < y < width - 1 for x, y in cells)
        width -= any(y == width - 2 and 0 < x < height - 1 for x, y in cells)
        walls = np.ones((height, width), dtype=np.int64)
        walls[1:-1, 1:-1] = 0
        for cell in cells:
            walls[cell] = 0
        return cls(walls, {name: exits.get(name, []) for name in (names or named)})

    @property
    def colours(self) -> dict[str, str]:
        """Exit → colour."""
        return {n: EXIT_COLOURS[i % len(EXIT_COLOURS)] for i, n in enumerate(self.exits)}
