"""The stag hunt: hunting together pays more, and nothing when too few join.

Purpose
    Which of two equilibria does a group come to, the one that pays more or the safe one?
Rules
    Every day all hunters choose at the same time. Hare pays ``hare``. Stag pays ``stag`` if at
    least ``needed`` hunters chose it, else nothing. They are told how many chose stag yesterday.
Unreadable answers
    Who gives none stays at home: no points, and no help with the stag.
Source
    Skyrms 2004, "The Stag Hunt and the Evolution of Social Structure", Cambridge University Press.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from sabm_mesa import Ask, Choice, ClassicalMind, Decision, SmartAgent, SmartModel, action

STAG, HARE = "stag", "hare"


class BestReply(ClassicalMind):
    """Hunts what would have paid more yesterday; on the first day stag in two of three cases."""

    async def answer(self, ask: Ask) -> str:
        """Choose stag or hare."""
        day = ask.facts
        if day.n_stag is None:
            return STAG if ask.rng.random() < 2 / 3 else HARE
        return STAG if day.n_stag >= day.needed and day.stag > day.hare else HARE


class Hunter(SmartAgent):
    """A hunter: what it chose last, and what that paid."""

    model: StagHunt
    choice: str | None = None
    payoff = 0.0

    async def act(self) -> Decision:
        """Choose what to hunt, knowing how many hunted stag yesterday (None: first day)."""
        model = self.model
        return await self.ask(
            "act",
            Choice((STAG, HARE)),
            n_others=len(model.hunters) - 1,
            stag=model.stag,
            hare=model.hare,
            needed=model.needed,
            n_stag=model.n_stag,
        )


class StagHunt(SmartModel):
    """The stag hunt.

    Args:
        n_hunters: number of hunters.
        needed: how many have to hunt stag for it to pay.
        stag: what stag pays then.
        hare: what hare pays.
        n_rounds: days.
        settings: the other parameters of `SmartModel`.
    """

    scenario_name = "stag-hunt"
    title = "The stag hunt"
    source = "Skyrms 2004"
    prompt_file = str(Path(__file__).with_name("04_stag_hunt.toml"))
    phases = (action(),)
    model_columns = ("n_stag",)
    agent_columns = ("choice", "payoff")
    classical_minds: ClassVar = {"default": BestReply}

    def __init__(
        self,
        n_hunters: Annotated[int, Ge(2)] = 6,
        needed: Annotated[int, Ge(1)] = 4,
        stag: float = 4.0,
        hare: float = 3.0,
        n_rounds: int = 5,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.needed, self.stag, self.hare = needed, stag, hare
        self.n_stag: int | None = None
        self.hunters = self.populate(Hunter, n_hunters)

    def after_act(self, hunter: Hunter, decision: Decision) -> None:
        """Take the choice, None when there is no usable one."""
        hunter.choice = decision.value

    def update(self) -> None:
        """Pay the hunters."""
        self.n_stag = sum(hunter.choice == STAG for hunter in self.hunters)
        pays = {STAG: self.stag if self.n_stag >= self.needed else 0.0, HARE: self.hare, None: 0.0}
        for hunter in self.hunters:
            hunter.payoff = pays[hunter.choice]


def main() -> dict[str, int]:
    """In how many of 30 groups do all hunt stag at the end, and in how many nobody?"""
    ends = {"all hunt stag": 0, "nobody does": 0}
    for seed in range(30):
        model = StagHunt(rng=seed)
        model.run_model()
        ends["all hunt stag"] += model.n_stag == len(model.hunters)
        ends["nobody does"] += model.n_stag == 0
    print(ends)
    return ends


if __name__ == "__main__":
    main()
