"""Agent columns that hold what agents answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sabm_mesa.testing.case import Case
from sabm_mesa.testing.minds import NotingMind

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

LEAST = 2
"""Different answers that a column has to hold: one that is always 0 may be so by chance."""


def echoes(case: Case) -> Mapping[str, Callable[[SmartModel], dict[int, Any]]]:
    """Agent columns that hold, in every row, what the agent answered to one of the questions.

    Args:
        case: the scenario, which is played once.

    Returns:
        Column → the function that finds its values in a model: agent → value, None without one.
    """
    mind = NotingMind()
    data = case.played(minds=mind).agent_frame()
    columns = case.scenario.agent_columns
    return {
        column: _values(attribute)
        for column, attribute in columns.items()
        if any(_echoes(data, column, question, mind) for question in mind.questions)
    }


def _echoes(data: Any, column: str, question: str, mind: NotingMind) -> bool:
    rows = zip(data["round"], data["agent"], data[column], strict=True)
    pairs = [
        (mind.noted[question, round_, agent], value)
        for round_, agent, value in rows
        if (question, round_, agent) in mind.noted
    ]
    alike = all(not isinstance(cell, bool) and cell == said for said, cell in pairs)
    return alike and len({said for said, _ in pairs}) >= LEAST


def _values(attribute: str) -> Callable[[SmartModel], dict[int, Any]]:
    read = attrgetter(attribute)

    def values(model: SmartModel) -> dict[int, Any]:
        found = {}
        for agent in model.population:
            try:
                found[agent.unique_id] = read(agent)
            except AttributeError:
                found[agent.unique_id] = None
        return found

    return values
