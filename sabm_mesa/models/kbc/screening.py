"""The screening of the guessing game: are the picks usable, and not dominated?"""

from __future__ import annotations

from sabm_mesa.models.declarations import ENOUGH, Finding, Frames, Screener, number, percent

HIGHEST_PICK = 67
"""The highest undominated pick: the integer nearest to the highest possible target."""


class PickScreener(Screener):
    """A mind passes if enough of its answers are undominated picks."""

    def find(self, frames: Frames) -> Finding:
        """The shares of usable and undominated picks, and the location of the picks."""
        asked = frames["decisions"]
        picks = frames["agent_data"]["choice"].dropna().astype(float)
        levels = frames["agent_data"]["level"].dropna().astype(float)
        n = len(asked)
        measures = {
            "answers": float(n),
            "usable": len(picks) / n,
            "undominated": float((picks <= HIGHEST_PICK).sum()) / n,
            "reasoned": float(asked["reasoning"].fillna("").ne("").mean()),
            "pick_median": float(picks.median()),
            "pick_low": float(picks.min()),
            "pick_high": float(picks.max()),
            "level_median": float(levels.median()),
        }
        words = (
            "no usable pick"
            if picks.empty
            else (
                f"{percent(measures['usable'])} usable, "
                f"{percent(measures['reasoned'])} with reasoning; "
                f"median pick {number(measures['pick_median'])} "
                f"({number(measures['pick_low'])} to {number(measures['pick_high'])}), "
                f"median level {number(measures['level_median'])}"
            )
        )
        return Finding(measures["undominated"] >= ENOUGH, words, measures)
