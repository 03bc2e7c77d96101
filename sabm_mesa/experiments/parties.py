"""Cocktail parties that the runs of an experiment remember."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.experiments.plan import Cell, Plan
from sabm_mesa.llm import Connection
from sabm_mesa.models.party_memory import PartyMemories, party_memories


def remembering(plan: Plan, recording: Path, runs: pd.DataFrame) -> Plan:
    """The plan of an experiment with the parties that were held as parameters of its runs.

    Args:
        plan: the experiment.
        recording: the recording of the parties.
        runs: the parties in it: ``condition`` and the number of the ``run``.

    Raises:
        ParameterError: when nobody has talked at a party.
    """
    numbers = dict(zip(runs["condition"], runs["run"], strict=True))
    known = {name: party_memories(recording, run) for name, run in numbers.items()}

    def told(cell: Cell) -> Cell:
        party = {"party": known[cell.party]} if cell.party else {}
        return replace(cell, parameters={**cell.parameters, **party})

    return replace(plan, cells=[told(cell) for cell in plan.cells])


def to_be_held(parties: Plan, name: str, connection: Connection) -> PartyMemories:
    """What stands for a party before it is held: it has all guests, and nobody has talked.

    Args:
        parties: the plan of the parties.
        name: the condition of the party.
        connection: how language models are reached.

    Raises:
        UsageError: for parameters or minds that cannot be used.
    """
    cell = next(each for each in parties.cells if each.condition == name)
    model: Any = parties.model(
        **cell.parameters, rng=cell.seed, recording=False, connection=connection
    )
    place = f"{parties.experiment.name}/{name}"
    return PartyMemories(place, 0, model.n_agents, model.n_rounds, (), ())
