"""Civil violence: citizens rise or stay quiet, and cops look for those that rise.

Rules. Citizens and cops live on a torus of 11 x 11 cells, one to a cell. In a round all free
citizens decide at once to be quiet or active. Then each cop, in random order, takes up to two
actions: a step to a free cell; the arrest of an active citizen beside it or a stay, which end its
turn. An arrested citizen is in jail for 1 to 5 rounds, and is not asked. At last free citizens move
to a free cell in view, at most 3 away. An unreadable answer leaves the state as it is, or stays.

Classical minds. A citizen is active when its grievance (hardship times what ``legitimacy`` lacks)
is more than 0.1 above its risk: its aversion times 1 - exp(-2.3 c / a), the probability of an
arrest with c cops and a active citizens in view, itself included (Epstein 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid

from sabm_mesa import Choice, ClassicalMind, Decision, Observation, Phase, SmartAgent
from sabm_mesa.analysis.pictures import Portrayal, SpacePicture
from sabm_mesa.models.base import SmartModel

SIZE, VISION, ACTIONS, TERM, QUIET, ACTIVE, JAILED = 11, 3, 2, 5, "quiet", "active", "jailed"
WAYS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
COLOURS = {QUIET: "#0072B2", ACTIVE: "#D55E00", "cop": "#000000"}


@dataclass(frozen=True, slots=True)
class Street(Observation):
    """Knowledge of a citizen: what it feels, and what it sees around."""

    hardship: float
    aversion: float
    legitimacy: float
    cops: int
    actives: int


@dataclass(frozen=True, slots=True)
class Beat(Observation):
    """Knowledge of a cop: what it can do now."""

    options: str


class Rebel(ClassicalMind):
    """Is active when its grievance exceeds its risk by more than 0.1 (Epstein 2002)."""

    async def answer(self, ask: Any) -> str:
        """Return the state."""
        seen = ask.observation
        risk = seen.aversion * (1 - exp(-2.3 * seen.cops / (seen.actives + 1)))
        return ACTIVE if seen.hardship * (1 - seen.legitimacy) - risk > 0.1 else QUIET


class Patrol(ClassicalMind):
    """Arrests where it can, and else goes at random."""

    async def answer(self, ask: Any) -> str:
        """Return the action."""
        options = ask.observation.options.split(", ")
        return "arrest" if "arrest" in options else str(ask.rng.choice(options))


def actives(agent: Any, steps: int) -> list[Citizen]:
    """The active citizens at most this many steps away, by id."""
    near = (one for one in agent.cell.get_neighborhood(steps).agents if one.state == ACTIVE)
    return sorted(near, key=lambda citizen: citizen.unique_id)


class Citizen(CellAgent, SmartAgent):
    """A citizen, which is quiet, active or in jail."""

    columns: ClassVar = {"state": "state"}
    classical_minds: ClassVar = {"default": Rebel}
    scenario_prompt = "citizen"
    state, hardship, aversion, term = QUIET, 0.0, 0.0, 0

    async def decide(self) -> Decision:
        """Be quiet or active."""
        cops = sum(isinstance(a, Cop) for a in self.cell.get_neighborhood(VISION).agents)
        feels = self.hardship, self.aversion, self.model.legitimacy
        street = Street(*feels, cops, len(actives(self, VISION)), persona=self.persona)
        return await self.ask("decide", Choice((QUIET, ACTIVE)), street)


class Cop(CellAgent, SmartAgent):
    """A cop on the beat."""

    columns: ClassVar = {"arrests": "arrests"}
    classical_minds: ClassVar = {"default": Patrol}
    scenario_prompt = "cop"
    state, arrests, done = "cop", 0, False

    async def patrol(self) -> Decision:
        """Step, arrest or stay; the next question shows what came of it."""
        free = [way for way, to in WAYS.items() if self.cell.connections[to].is_empty]
        options = (*["arrest"][: len(actives(self, 1))], *free, "stay")
        beat = Beat(", ".join(options), persona=self.persona)
        return await self.ask("patrol", Choice(options), beat)


class CivilViolence(SmartModel):
    """Civil violence; see the docstring of the module."""

    scenario_name = "civil-violence"
    title = "Civil violence"
    source = "Epstein 2002, PNAS 99(3)"
    prompt_file = Path(__file__).with_name("civil_violence.toml")
    # The reach: those so near that a step of one can be in the way of the other.
    phases = (
        Phase("decide", who=lambda m: [one for one in m.citizens if one.state != JAILED]),
        Phase("patrol", "shuffled", who=Cop, at_most=ACTIONS, until=lambda _, cop: cop.done,
              reach=lambda _, cop: cop.cell.get_neighborhood(2 * ACTIONS + 1).agents),
    )  # fmt: skip
    model_columns: ClassVar = {"active": "active", "jailed": "jailed"}
    pictures = (
        SpacePicture("streets", "The streets", portray=lambda agent: Portrayal(
            COLOURS[agent.state], agent.state, shape="s" if agent.state == "cop" else "o",
        )),
    )  # fmt: skip

    def __init__(
        self,
        n_citizens: Annotated[int, Ge(1), Le(90)] = 60,
        n_cops: Annotated[int, Ge(0), Le(20)] = 6,
        legitimacy: Annotated[float, Ge(0), Le(1)] = 0.7,
        n_rounds: int = 12,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.legitimacy, self.active, self.jailed = legitimacy, 0, 0
        self.grid = OrthogonalMooreGrid((SIZE, SIZE), torus=True, capacity=1, random=self.random)
        self.citizens, cops = self.populate({Citizen: n_citizens, Cop: n_cops})
        places = self.rng.permutation(SIZE**2).tolist()
        for agent, i in zip([*self.citizens, *cops], places, strict=False):
            agent.cell = self.grid[divmod(i, SIZE)]
        for citizen in self.citizens:
            citizen.hardship, citizen.aversion = (round(x, 2) for x in self.rng.random(2))

    def after_decide(self, citizen: Citizen, state: Decision) -> None:
        """Take over the state."""
        citizen.state = state.value or citizen.state

    def after_patrol(self, cop: Cop, action: Decision) -> None:
        """Step, or put an active citizen beside the cop in jail."""
        cop.done = action.value not in WAYS
        if not cop.done:
            cop.cell = cop.cell.connections[WAYS[action.value]]
        elif action.value == "arrest":
            caught = actives(cop, 1)[int(cop.rng.integers(len(actives(cop, 1))))]
            caught.state, caught.cell, cop.arrests = JAILED, None, cop.arrests + 1
            caught.term = int(cop.rng.integers(1, TERM + 1))

    def update(self) -> None:
        """Move free citizens, let others out of jail, and count."""
        for citizen in self.citizens:
            citizen.term = max(0, citizen.term - 1)
            near = citizen.cell.get_neighborhood(VISION) if citizen.cell else self.grid.all_cells
            if not citizen.term and (free := sorted(c.coordinate for c in near if c.is_empty)):
                citizen.cell = self.grid[free[int(self.rng.integers(len(free)))]]
                citizen.state = QUIET if citizen.state == JAILED else citizen.state
        states = [citizen.state for citizen in self.citizens]
        self.active, self.jailed = states.count(ACTIVE), states.count(JAILED)
