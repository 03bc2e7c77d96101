"""A fair: traders greet those beside them, bargain in pairs, and buy loaves.

Rules. In the first round each trader greets those beside it; in every round pairs bargain, two
words each, and then the traders buy, the poorest first: up to three loaves each, until it stops or
has had its fill of six, with which it goes home. A loaf gives a point and costs the price and a tax
of a tenth. What cannot be read is not said, or buys nothing.
"""

from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from fair_charts import charts

from sabm_mesa import Choice, ParameterError, Phase, Score, SmartAgent, SmartModel, Text
from sabm_mesa.models.declarations import ScenarioPage

FULL = 6


class Trader(SmartAgent):
    """A trader with two neighbours; the first of a pair bargains with the second."""

    points, eaten, done, visits = 0.0, 0, False, 0

    async def greet(self):
        """Greet those beside."""
        return await self.ask("greet", Text(max_words=10), **self.facts())

    async def bargain(self):
        """Say a word to the partner."""
        return await self.ask("bargain", Text(max_words=10), **self.facts())

    async def buy(self):
        """Buy a loaf, or stop; the next question shows how many are left."""
        return await self.ask("buy", Choice(("buy", "stop")), **self.facts())

    def facts(self):
        """What the trader knows: the loaves that are left, and what it heard in this round."""
        return {
            "loaves": self.model.loaves,
            "price": self.model.price,
            "said": self.conversation(),
            "visits": self.visits,
        }


def beside(model, trader):
    """Return the traders on both sides."""
    place, n = trader.unique_id - 1, len(model.traders)
    return [model.traders[(place + step) % n] for step in (-1, 1)]


def partner(model, trader):
    """Return the other one of the pair."""
    return [model.traders[(trader.unique_id - 1) ^ 1]]


def poorest_first(_model, traders):
    """By points so far, the fewest first."""
    return sorted(traders, key=lambda each: (each.points, each.unique_id))


class Fair(SmartModel):
    """A fair; see the docstring of the module."""

    scenario_name = "fair"
    title = "A fair"
    source = "none"
    prompt_file = Path(__file__).with_name("fair.toml")
    page = ScenarioPage(charts=charts)
    phases = (
        Phase(
            name="greet",
            order="shuffled",
            when=lambda model: model.round == 0,
            reach=beside,
            commutes=True,
            doc="In the first round each trader greets those beside it (`greet`).",
        ),
        Phase(
            name="bargain",
            order="fixed",
            turns=2,
            reach=partner,
            doc="The two of a pair say two words each, in turn (`bargain`).",
        ),
        Phase(
            name="buy",
            order=poorest_first,
            who=lambda model: [one for one in model.traders if one.eaten < FULL],
            at_most=3,
            until=lambda _model, trader: trader.done,
            most_turns=lambda model: len(model.traders),
            doc="Each trader buys up to three loaves, one by one (`buy`).",
        ),
    )
    model_columns = ("sold",)
    agent_columns = ("points", "eaten")
    changeable = frozenset({"price"})
    score = Score("Points in a run", "n_traders", column="points")

    def __init__(
        self,
        n_traders: Annotated[int, Ge(2)] = 4,
        price: Annotated[float, Ge(0)] = 0.5,
        n_rounds: int = 3,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        if n_traders % 2:
            raise ParameterError("n_traders must be even.", parameter="n_traders")
        self.price, self.with_tax = price, 1.1 * price
        self.loaves, self.sold, self.sold_in_all = 0, 0, 0
        self.traders = self.populate(Trader, n_traders)
        self.update()

    def begin_round(self):
        """Bake loaves."""
        self.loaves, self.sold = 2 * len(self.traders), 0

    def between_phases(self, _done, coming):
        """Open the stall when the buying begins."""
        self.stall_is_open = coming == "buy"

    def before_buy(self, trader):
        """Let the trader visit the stall again."""
        trader.visits += 1

    def after_greet(self, trader, words):
        """Those beside hear it."""
        self.say(trader, words.value, to=beside(self, trader))

    def after_bargain(self, trader, words):
        """The partner hears it."""
        self.say(trader, words.value, to=partner(self, trader))

    def after_buy(self, trader, decision):
        """Sell a loaf."""
        trader.done = decision.value != "buy" or not self.loaves
        if not trader.done:
            self.loaves, self.sold, trader.eaten = self.loaves - 1, self.sold + 1, trader.eaten + 1
            trader.points += 1 - self.with_tax

    def update(self):
        """Count."""
        self.sold_in_all += self.sold
        for trader in self.traders:
            setattr(self, f"points_{trader.unique_id}", trader.points)

    def columns(self):
        """Return the columns of the model data, one for each trader among them."""
        names = [f"points_{number + 1}" for number in range(self.parameters["n_traders"])]
        return {**super().columns(), **{name: name for name in names}}

    def end_measures(self):
        """Return the measures of the run."""
        return {"sold_in_all": self.sold_in_all}

    def apply_fork(self, clone, changed):
        """Take over the new price, also with the tax."""
        super().apply_fork(clone, changed)
        self.with_tax = clone.with_tax
