"""The preliminary test of the price competition: the prices of 20 rounds."""

from __future__ import annotations

from sabm_mesa.models.bertrand.model import BertrandCompetition
from sabm_mesa.models.exam import Exam, Marks

SETTLED = 10
"""The first round in which prices must lie within the band (our choice)."""


def _marks(model: BertrandCompetition) -> Marks:
    rows = model.agent_frame()
    rows = rows[rows["round"] > 0]  # the prices of round 0 are given
    chosen = ~rows["kept"].astype(bool)  # without a usable answer, a firm keeps its price
    low, high = band(model)
    in_band = (chosen & rows["price"].between(low, high))[rows["round"] >= SETTLED]
    return {"usable prices": chosen.tolist(), f"prices from {low:g} to {high:g}": in_band.tolist()}


def band(model: BertrandCompetition) -> tuple[float, float]:
    """The lowest and the highest price that is a best response to some price of the range."""
    others = model.n_firms - 1
    ends = model.market.cost, model.highest_price
    low, high = (model.market.best_response([end] * others) for end in ends)
    # With the defaults, the cartel price is the best response to the highest price.
    return low, max(high, model.market.cartel_price())


EXAM = Exam(
    title="prices of two firms in 20 rounds without talk",
    source="Wu et al. 2024, appendix B.2 and figure 11",
    right="a usable price, and in the last 10 rounds one that is a best response to some price "
    "(Bertrand equilibrium 6, cartel price 8)",
    published="the prices of GPT-3.5 (with talk) are in disorder and reach no equilibrium; Gemini "
    "Pro and Claude 2 are said to do much the same",
    model=BertrandCompetition,
    parameters=lambda *_: {"n_rounds": 20, "communication": False},
    marks=_marks,
)
