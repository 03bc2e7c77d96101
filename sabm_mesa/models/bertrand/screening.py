"""The screening of the price competition: are prices usable, and best responses to some price?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sabm_mesa.models.bertrand.model import BertrandCompetition
from sabm_mesa.models.declarations import ENOUGH, Finding, Frames, Screener, number, percent

if TYPE_CHECKING:
    import pandas as pd

SETTLED = 10
"""The first round in which prices must lie within the band (our choice)."""


class PriceScreener(Screener):
    """A mind passes if enough of its prices are usable and enough late prices are in the band."""

    def find(self, frames: Frames) -> Finding:
        """The shares of usable prices and of prices in the band, and the movement of prices."""
        decided, prices = frames["decisions"], frames["agent_data"]
        first = frames["asks"][frames["asks"]["attempt"] == 0]
        low, high = band(frames["runs"])
        # The prices of round 0 are given; without a usable answer, an agent keeps its price.
        chosen = prices[(prices["round"] > 0) & ~prices["kept"].astype(bool)]
        price, late = chosen["price"].astype(float), prices[prices["round"] >= SETTLED]
        in_band = price[chosen["round"] >= SETTLED].between(low, high)
        changes = price.groupby([chosen["run"], chosen["agent"]]).diff()
        measures = {
            "answers": float(len(decided)),
            "usable": float(decided["valid"].astype(float).mean()),
            "usable_at_first": float(first["valid"].astype(float).mean()),
            "in_band": float(in_band.sum()) / len(late),
            "band_low": low,
            "band_high": high,
            "price": float(price.mean()),
            "price_step": float(changes.abs().mean()),
            "profit": float(chosen["profit"].astype(float).mean()),
        }
        words = (
            "no usable price"
            if chosen.empty
            else (
                f"{percent(measures['usable'])} usable prices "
                f"({percent(measures['usable_at_first'])} at the first attempt); mean price "
                f"{number(measures['price'])}, changing by {number(measures['price_step'])} a "
                f"round, mean profit {number(measures['profit'])}; "
                f"{percent(measures['in_band'])} within {low:g} to {high:g} from round {SETTLED} on"
            )
        )
        passes = measures["usable"] >= ENOUGH and measures["in_band"] >= ENOUGH
        return Finding(passes, words, measures)


def band(runs: pd.DataFrame) -> tuple[float, float]:
    """The lowest and the highest price that is a best response to some price of the range.

    Args:
        runs: the runs of a price competition; all have the same market.
    """
    given: dict[str, Any] = json.loads(runs["parameters"].iloc[0])
    model = BertrandCompetition(**{**given, "minds": "classical", "recording": False})
    others = model.n_firms - 1
    ends = model.market.cost, model.highest_price
    low, high = (model.market.best_response([end] * others) for end in ends)
    # With the defaults, the cartel price is the best response to the highest price.
    return low, max(high, model.market.cartel_price())
