"""The controls that are made from the parameters of a scenario."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sabm_mesa.core.parameters import SERVICES, Parameter, parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.prompts import NO_PERSONA, PromptBook
from sabm_mesa.core.structured import bounds
from sabm_mesa.describe.docstrings import arguments
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.minds.llm import SAMPLING
from sabm_mesa.models.declarations import parameter_label

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


Kind = Literal["number", "checkbox", "select", "suggest", "text"]
LEFT_OUT = SERVICES | {"prompts", "party"}
"""Parameters that cannot be set in a browser: services, addresses and paths of server files."""
FILES = (".toml", ".sqlite")
"""Suffixes of files that a parameter may name outside the browser."""
FIRST = ("game", "minds", "condition", "personas")
FURTHER = {"variant", *SAMPLING}
"""Settings of prompts and language models, even if a scenario sets other defaults."""
_HELP = {
    "minds": "Minds decide for the agents. classical follows a rule, local is a language model on "
    "this computer, and llm:MODEL is one of a provider. Several kinds are written with their "
    "numbers: llm:gpt-4o-mini=5,classical=19.",
    "personas": "It is the character of the agents: one for all, or how many have each, as in "
    '{"agreeable": 6, "none": 18}.',
    "rng": "The same number repeats the same run. A number is drawn when it is empty.",
}
_LABELS = {"rng": "Seed", "minds": "Minds: who decides", "n_rounds": "Number of rounds"}


@dataclass(frozen=True)
class Control:
    """A control for one parameter.

    Attributes:
        name: the parameter.
        label: its name on the page.
        kind: the kind of input; ``"suggest"`` is a text field with suggestions.
        default: its default: a bool for a checkbox, an int for a number, a text otherwise.
        options: the possible or suggested values.
        help: its meaning, from the docstring of the model.
        legal: the legal numbers, in words.
        main: whether it comes before the others.
        low: the smallest number.
        high: the largest number; None if it depends on other settings.
    """

    name: str
    label: str
    kind: Kind
    default: Any
    options: tuple[str, ...] = ()
    help: str = ""
    legal: str = ""
    main: bool = True
    low: int = 0
    high: int | None = None


LANGUAGE_MODELS = (
    Control("base_url", "Endpoint base URL", "text", "", help="such as http://127.0.0.1:8000/v1"),
    Control("max_asks", "Most requests", "text", "", help="the run stops before more are sent"),
    Control("budget_usd", "Most dollars", "text", "", help="the run stops before more are spent"),
)
"""Access to language models; these are not parameters of the run."""


def controls_of(scenario: type[SmartModel]) -> list[Control]:
    """The controls of a scenario, the most important first."""
    texts = arguments(scenario)
    offered = scenario.class_game.choices
    known = _options(scenario) | {name: tuple(options()) for name, options in offered.items()}
    made_by = next(cls for cls in scenario.__mro__ if "__init__" in vars(cls))
    of_constructor = inspect.signature(inspect.unwrap(vars(made_by)["__init__"])).parameters
    controls = []
    for name, parameter in parameters_of(scenario).items():
        if name in LEFT_OUT:
            continue
        options = known.get(name) or tuple(map(str, parameter.choices))
        of_scenario = name in {*of_constructor, *scenario.defaults} and name not in FURTHER
        main = name in {*FIRST, "rng"} or (
            of_scenario and (bool(options) or isinstance(parameter.default, bool | int))
        )
        controls.append(_control(parameter, options, texts.get(name, ""), main, offered))
    return sorted(controls, key=lambda c: FIRST.index(c.name) if c.name in FIRST else len(FIRST))


def parameters_from(controls: list[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters whose set values differ from their defaults.

    Args:
        values: parameter → the value of its control, if it was set.

    Raises:
        UsageError: for a text that cannot be parsed.
    """
    parameters: dict[str, Any] = {}
    for control in controls:
        value = values.get(control.name, control.default)
        if value == control.default:
            continue
        if isinstance(value, str):
            text = value.strip()
            read = parse_minds if control.name == "minds" else parse_value
            with about(control.name):
                value = read(text) if text else None
                if isinstance(value, str) and value.lower().endswith(FILES):
                    raise ParameterError(f"no file of the server can be named here: {value!r}.")
        parameters[control.name] = value
    return parameters


def _control(
    parameter: Parameter, options: tuple[str, ...], text: str, main: bool, offered: Collection[str]
) -> Control:
    name, default, number = parameter.name, parameter.default, parameter.number
    label = _LABELS.get(name) or parameter_label(name)
    low, high = _whole_limits(number)
    kind: Kind
    if isinstance(default, bool):
        kind = "checkbox"
    elif main and number.get("type") != "number" and type(default) is int and low <= default:
        kind = "number"
    elif name in {"minds", "personas"} or (name in offered and not parameter.choices):
        kind = "suggest"
    elif options:
        kind = "select"
    else:
        kind = "text"
    if kind not in {"checkbox", "number"}:
        real = isinstance(default, float)
        default = "" if default is None else f"{default:.6g}" if real else str(default)
    text = text.replace("`", "")
    text = _HELP.get(name) or text[:1].upper() + text[1:]
    legal = parameter.legal if number and name not in {*FIRST, "rng"} else ""
    return Control(name, label, kind, default, options, text, legal, main, low, high)


def _whole_limits(number: Mapping[str, Any]) -> tuple[int, int | None]:
    """The smallest and the largest whole number; the smallest is 1 if none is declared."""
    low, high = bounds({**number, "type": "integer"})
    return 1 if low is None else math.ceil(low), None if high is None else math.floor(high)


def _options(scenario: type[SmartModel]) -> dict[str, tuple[str, ...]]:
    book = PromptBook(scenario.prompt_file)
    default = parameters_of(scenario)["personas"].default
    minds = ("classical" if m == "default" else f"classical:{m}" for m in _classical(scenario))
    personas = dict.fromkeys([str(default), NO_PERSONA, *book.personas])
    return {
        "minds": (*minds, "local", "llm:gpt-4o-mini"),
        "condition": book.conditions,
        "variant": book.variants,
        "personas": tuple(personas),
    }


def _classical(scenario: type[SmartModel]) -> Iterable[str]:
    """The names of the classical minds of a scenario, or of its classes of agents."""
    if scenario.classical_minds:
        return scenario.classical_minds
    model = scenario(minds="fixed:0", recording=False)
    of_classes = map(model.classical_of, model.agent_classes())
    return dict.fromkeys(name for minds in of_classes for name in minds)
