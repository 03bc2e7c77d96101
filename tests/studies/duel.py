"""Two small games with payoffs that can be computed by heart."""

from typing import Any, ClassVar

from sabm_mesa.models.declarations import Score
from tests.core.support import Tiny


class Duel(Tiny):
    """One gives, the other receives: payoff = received − given / 2."""

    scenario_name = "duel"
    agent_columns: ClassVar[dict[str, str]] = {"value": "value", "payoff": "payoff"}
    score = Score("Payoff in a run", "n", pairs=True)

    def __init__(self, n: int = 2, **settings: Any) -> None:
        super().__init__(n=n, **settings)

    def update(self) -> None:
        super().update()
        for cell in self.cells:
            cell.payoff = self.sum - cell.value - cell.value / 2


class Pool(Duel):
    """The same among three or more."""

    scenario_name = "pool"
    score = Score("Payoff in a run", "n")

    def __init__(self, n: int = 3, **settings: Any) -> None:
        super().__init__(n=n, **settings)
