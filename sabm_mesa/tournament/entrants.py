"""Who plays in a tournament, and who meets whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.minds import check_forms, is_file
from sabm_mesa.minds.students.files import mind_file, path_and_name
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.score import Score
from sabm_mesa.parameters import parameters_of, whole

KINDS = ("classical", "fixed", "llm", "gguf", "py", "human")
"""Kinds of specs of minds; anything else names a file."""


@dataclass(frozen=True)
class Entrant:
    """A mind that plays in a tournament.

    Attributes:
        name: how it is called in tables and plots.
        spec: its spec.
        version: the SHA-256 of its file, ``""`` when it comes from none.
    """

    name: str
    spec: str
    version: str = ""


def entrants(given: Sequence[str]) -> list[Entrant]:
    """The entrants of a tournament; files are run once, in processes of their own.

    Args:
        given: for each a file, ``FILE:NAME``, or the spec of a mind.

    Raises:
        MindSpecError: for specs that cannot be read, for files that cannot be used (all are
            named), for a mind that is given twice, or for fewer than two.
    """
    specs = [each if each.partition(":")[0] in KINDS else f"py:{each}" for each in given]
    check_forms(specs, ())
    if twice := [spec for place, spec in enumerate(specs) if spec in specs[:place]]:
        raise MindSpecError(f"{twice[0]} is entered twice: name each mind once.")
    if len(specs) < 2:
        raise MindSpecError(
            "A tournament needs two minds or more: name more files, or --against classical."
        )
    versions, problems = dict[str, str](), []
    for spec in specs:
        try:
            versions[spec] = mind_file(spec).version if is_file(spec) else ""
        except MindSpecError as problem:
            problems.append(str(problem))
    if problems:
        raise MindSpecError(" ".join(problems))
    names = [_short(spec) for spec in specs]
    return [
        Entrant(name if names.count(name) == 1 else spec.removeprefix("py:"), spec, versions[spec])
        for name, spec in zip(names, specs, strict=True)
    ]


def score_of(scenario: type[SmartModel]) -> Score:
    """The score by which the minds of a scenario are ranked.

    Args:
        scenario: the model class.

    Raises:
        ParameterError: when it declares none.
    """
    if scenario.score is None:
        raise ParameterError(
            f"The scenario {scenario.scenario_name} declares no score by which minds could be "
            "ranked (class attribute `score`); kbc and bertrand do, for example."
        )
    return scenario.score


def seatings(
    scenario: type[SmartModel], entered: Sequence[Entrant], parameters: Mapping[str, Any]
) -> tuple[int, list[list[str]]]:
    """Who sits where: each seating is one spec an agent.

    In pairs everybody meets everybody and itself, on both seats. In one population all have as
    many seats; there are as many seatings as entrants, each moved on by one seat, so that
    everybody has sat everywhere as often.

    Args:
        scenario: the model class.
        entered: the entrants.
        parameters: the parameters that were given.

    Returns:
        The number of agents, and the seatings.

    Raises:
        ParameterError: when the number of agents was given, and cannot be shared out equally.
    """
    score, specs = score_of(scenario), [each.spec for each in entered]
    given = parameters.get(score.size)
    if score.pairs:
        if given not in {None, 2}:
            raise ParameterError(
                f"A tournament of {scenario.scenario_name} is played in pairs: {score.size} is 2 "
                f"there, not {given}."
            )
        return 2, [[one, other] for one in specs for other in specs]
    n = len(specs)
    if given is None:
        default = int(parameters_of(scenario)[score.size].default)
        seats = -(-default // n) * n
    else:
        seats = whole(score.size, given, n)
        if seats % n:
            raise ParameterError(
                f"{score.size}: {seats} agents cannot be shared out equally among {n} minds; "
                f"{seats // n * n} or {(seats // n + 1) * n} can."
            )
    return seats, [[specs[(i + first) % n] for i in range(seats)] for first in range(n)]


def _short(spec: str) -> str:
    if not is_file(spec):
        return spec
    path, name = path_and_name(spec)
    return Path(path).stem + (f":{name}" if name else "")
