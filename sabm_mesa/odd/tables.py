"""The tables of a description: parameters, data columns, and how a run starts."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, get_origin

from sabm_mesa.minds import by_spec
from sabm_mesa.models.collector import COLUMNS_OF_ASKS
from sabm_mesa.odd.docs_of_code import all_entries
from sabm_mesa.odd.texts import in_figures
from sabm_mesa.parameters import SERVICES, parameters_of
from sabm_mesa.usage import Failures, Tally

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.odd.subject import Subject

_NAME = re.compile(r"[A-Za-z_]\w*")
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")
_KEYS = {
    "run": "number of the run.",
    "round": "the round, from 0.",
    "agent": "number of the agent.",
    "cost_usd": "dollars; NaN as soon as one answer came from a model without a known price.",
}


def parameters(subject: Subject) -> list[list[str]]:
    """Parameter, value and meaning, in rows below their head.

    Args:
        subject: what is described.
    """
    meanings = all_entries(subject.scenario, "Args")
    rows = [["parameter", "value", "meaning"]]
    for name, parameter in parameters_of(subject.scenario).items():
        if name not in SERVICES and name != "rng":
            rows.append([name, _shown(name, parameter.default, subject), meanings.get(name, "")])
    return rows


def typed_parameters(subject: Subject) -> dict[str, dict[str, Any]]:
    """Parameter → its type, default, value and meaning.

    Args:
        subject: what is described.
    """
    types: dict[str, str] = {}
    for cls in subject.scenario.__mro__:
        annotations = getattr(vars(cls).get("__init__"), "__annotations__", {})
        for name, annotation in annotations.items():
            types.setdefault(name, _type(annotation, vars(sys.modules[cls.__module__])))
    meanings = all_entries(subject.scenario, "Args")
    return {
        name: {
            "type": types.get(name, "any"),
            "default": parameter.default,
            "value": subject.parameters.get(name, parameter.default),
            "meaning": meanings.get(name, ""),
        }
        for name, parameter in parameters_of(subject.scenario).items()
        if name not in SERVICES
    }


def columns(model: SmartModel, told: Mapping[str, str]) -> Iterator[Any]:
    """The data columns of a run with what they mean, those of the model and those of the agents.

    Args:
        model: the model, unplayed.
        told: column → meaning, where the docstrings do not say it; ``*`` stands for any letters.
    """
    asks = all_entries(Tally, "Attributes")
    of_model = all_entries(type(model), "Attributes")
    of_agents: dict[str, str] = {}
    for cls in {type(agent): None for agent in model.population}:
        of_agents |= all_entries(cls, "Attributes")
    own = {**dict(model.columns()), **{name: name for name in COLUMNS_OF_ASKS}}
    yield "Columns of the model data, one row a round and run:"
    yield _columns(model.model_frame().columns, own, of_model | asks, told)
    own = {**model.agent_columns, **{name: name for name in ("mind", *Failures._fields)}}
    yield "Columns of the agent data, one row an agent, round and run:"
    yield _columns(model.agent_frame().columns, own, asks | of_agents, told)


def initial_state(subject: Subject) -> Iterator[Any]:
    """Who takes part, with which seeds, and what changes during the run.

    Args:
        subject: what is described.
    """
    personas = Counter(agent.persona for agent in subject.model.population)
    facts = {
        "minds": ", or ".join(map(_counts, subject.minds)),
        "personas": _counts(personas),
        "condition": str(subject.parameters["condition"]),
    }
    facts |= subject.runs or {"seed": "drawn, and recorded with the run, unless one is given"}
    yield facts
    if subject.changes:
        yield "Changes during the runs:"
        yield {
            f"from round {change['at']} on": ", ".join(
                f"`{name}` = {_value(name, value)}" for name, value in change["set"].items()
            )
            for change in subject.changes
        }


def _shown(name: str, default: Any, subject: Subject) -> str:
    if name in subject.varied:
        several = [_value(name, value) for value in subject.varied[name]]
        return f"varied between runs: {', '.join(dict.fromkeys(several))}"
    value = subject.parameters.get(name, default)
    shown = _value(name, value)
    usual = _value(name, default)
    return shown if shown == usual else f"{shown} (default {usual})"


def _value(name: str, value: Any) -> str:
    return in_figures(by_spec(value) if name == "minds" else value)


def _columns(
    names: Iterable[str],
    attributes: Mapping[str, str],
    documented: Mapping[str, str],
    told: Mapping[str, str],
) -> list[list[str]]:
    def meaning(name: str) -> str:
        written = (text for pattern, text in told.items() if fnmatchcase(name, pattern))
        own = documented.get(attributes.get(name, name), "")
        return _KEYS.get(name) or own or next(written, "")

    return [["column", "meaning"], *([name, meaning(name)] for name in names)]


def _counts(several: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {name}" for name, n in sorted(several.items()))


def _type(annotation: Any, known: Mapping[str, Any]) -> str:
    """An annotation with its aliases spelled out, as far as `known` has them."""

    def spelled_out(name: re.Match[str]) -> str:
        found = known.get(name[0])
        return name[0] if get_origin(found) is None else inspect.formatannotation(found)

    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return _MODULES.sub("", _NAME.sub(spelled_out, annotation))
