"""Minds that imitate recorded players: ``fitted:FILE``, a fingerprint from `sabm fit`.

The file is JSON: the ``scenario``, the ``model`` (one of the scenario's behavioural models, see
`sabm_mesa.analysis.behaviour`) and its ``parameters`` by their names; all other entries are for
readers. The mind costs nothing and needs neither key nor recording. It draws each decision from the
model, given its observations and its earlier decisions. A recording has the SHA-256 of the file
under ``versions``: a replay does not need the file; resuming a run needs the unchanged file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis.behaviour import (
    Behaviour,
    BehaviouralModel,
    Decider,
    Floats,
    Panel,
    Row,
)
from sabm_mesa.core.asks import Ask, Key
from sabm_mesa.core.toml_io import expand_home, read_file
from sabm_mesa.errors import MindError, MindSpecError, RecordingError, SabmError
from sabm_mesa.minds.base import ClassicalMind

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent

FORM = 1
"""The version of the fingerprint format."""


@dataclass(frozen=True)
class Fingerprint:
    """A behavioural model with its parameters, for the players of a scenario.

    Attributes:
        scenario: the name of the scenario.
        model: the name of the model.
        parameters: parameter → its value.
        of: the players, in a few words.
    """

    scenario: str
    model: str
    parameters: Mapping[str, float]
    of: str = ""

    def as_json(self) -> dict[str, Any]:
        """The content of its file."""
        return {
            "fingerprint": FORM,
            "scenario": self.scenario,
            "of": self.of,
            "model": self.model,
            "parameters": dict(self.parameters),
        }


def read_fingerprint(path: str) -> tuple[Fingerprint, str]:
    """Read the file of a fingerprint.

    Returns:
        The fingerprint, and the SHA-256 of the file.

    Raises:
        MindSpecError: when it cannot be read, or is not a fingerprint.
    """
    file = expand_home(path)
    source = read_file(file, "fingerprint", MindSpecError)
    try:
        given = json.loads(source)
    except (ValueError, RecursionError):
        given = None
    form = given.get("fingerprint") if isinstance(given, dict) else None
    if form is None or isinstance(form, dict):  # fit.json has the fingerprint among the fits
        raise MindSpecError(f"{file} is not a fingerprint: sabm fit writes one, fingerprint.json.")
    if form != FORM:
        raise MindSpecError(
            f"{file} has the fingerprint format {form!r}; this version reads {FORM}."
        )
    kinds = {"scenario": str, "model": str, "parameters": dict}
    for name, kind in kinds.items():
        if not isinstance(given.get(name), kind):
            raise MindSpecError(f"The fingerprint {file} lacks {name}: write it again by sabm fit.")
    fingerprint = Fingerprint(
        given["scenario"], given["model"], given["parameters"], str(given.get("of", ""))
    )
    return fingerprint, hashlib.sha256(source).hexdigest()


class FittedMind(ClassicalMind):
    """A mind that draws its decisions from a behavioural model.

    Args:
        behaviour: converts the scenario's questions to facts for models.
    """

    def __init__(
        self,
        spec: str,
        behaviour: Behaviour,
        model: BehaviouralModel,
        parameters: Floats,
        version: str | None = None,
    ) -> None:
        super().__init__(spec)
        self.behaviour, self.model, self.parameters = behaviour, model, parameters
        self.version = version
        self.informed = behaviour.informed
        self._rows: list[Row] = []
        self._last: Key | None = None

    async def answer(self, ask: Ask) -> object:
        """Draw a decision, or answer another question by the scenario's rule.

        Raises:
            MindError: when the question lacks facts that the model needs.
        """
        known = self.behaviour.known(ask)
        if known is None:
            return self.behaviour.answer(ask, None)
        if lacking := [name for name in self.model.needs if name not in known]:
            raise MindError(
                f"{self.spec!r} cannot decide here: its model {self.model.name} needs "
                f"{', '.join(lacking)}, which players of this run do not know."
            )
        if ask.key == self._last:
            self._rows.pop()
        self._last = ask.key
        self._rows.append(Row(Decider(0, 0, self.spec), len(self._rows), 0.0, known))
        drawn = self.model.draw(self.parameters, Panel.of(self._rows), ask.rng)[-1]
        self._rows[-1] = replace(self._rows[-1], decision=float(drawn))
        return self.behaviour.answer(ask, float(drawn))


def fitted_mind_maker(
    spec: str, path: str, scenario: str, behaviour: Behaviour | None, recorded: str | None = None
) -> Callable[[SmartAgent], FittedMind]:
    """The function that gives each agent its mind from a fingerprint.

    Args:
        recorded: the SHA-256 that the file had when the run was recorded; None: any.

    Raises:
        MindSpecError: when the file cannot be read, is for another scenario, or does not fit it.
        RecordingError: when the file was changed.
    """
    fingerprint, version = read_fingerprint(path)
    if fingerprint.scenario != scenario:
        raise MindSpecError(
            f"The fingerprint {path} belongs to {fingerprint.scenario}, not to {scenario}."
        )
    if behaviour is None:
        raise MindSpecError(f"No behavioural model applies to the decisions of {scenario}.")
    try:
        model = behaviour.model(fingerprint.model)
        vector = model.check(fingerprint.parameters)
    except SabmError as error:
        raise MindSpecError(f"The fingerprint {path}: {error}") from None
    if recorded is not None and recorded != version:
        raise RecordingError(
            f"The fingerprint {path} was changed since the run was recorded ({recorded[:12]}… "
            f"then, {version[:12]}… now): restore it, or fork the run with another mind."
        )
    return lambda _agent: FittedMind(spec, behaviour, model, vector, version)
