"""The controls of a scenario, made from the parameters of its model."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sabm_mesa.answers import FORMATS
from sabm_mesa.errors import ParameterError, UsageError
from sabm_mesa.parameters import SERVICES, parameters_of
from sabm_mesa.prompts import NO_PERSONA, PromptBook
from sabm_mesa.written import parse_minds, parse_value

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

Kind = Literal["slider", "checkbox", "select", "suggest", "text"]
LEFT_OUT = SERVICES | {"prompts", "party", "memory_relevance"}
"""What cannot be set in a browser: services, addresses, and paths of files on the server."""
FIRST = ("minds", "condition", "personas")
FURTHER = {"variant", "temperature", "max_tokens", "top_p"}
"""Settings of prompts and language models, also where a scenario has defaults of its own."""
SLIDER_MAX = 100
_QUOTED = re.compile(r'``"([^"`]+)"``')
_HELP = {
    "minds": "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL; "
    "several with their numbers: llm:a=5,classical=19",
    "personas": 'one for all, or how many have each: {"agreeable": 6, "none": 18}',
    "rng": "a number; drawn when empty",
}
_LABELS = {"rng": "Seed", "minds": "Minds: who decides", "n_rounds": "Number of rounds"}


@dataclass(frozen=True)
class Control:
    """A control for one parameter.

    Attributes:
        name: the parameter.
        label: what people call it.
        kind: how it is set; ``"suggest"`` is a text with suggestions.
        default: its default: a bool for a checkbox, an int for a slider, else a text.
        options: what can be chosen or is suggested.
        help: what it means, from the docstring of the model.
        main: whether it is shown at once, not only among the further ones.
    """

    name: str
    label: str
    kind: Kind
    default: Any
    options: tuple[str, ...] = ()
    help: str = ""
    main: bool = True


LANGUAGE_MODELS = (
    Control("base_url", "Endpoint base URL", "text", "", help="such as http://127.0.0.1:8000/v1"),
    Control("max_asks", "Most requests", "text", "", help="the run stops before more are sent"),
    Control("budget_usd", "Most dollars", "text", "", help="the run stops before more are spent"),
)
"""How language models are reached: no parameters of the run."""


def controls_of(scenario: type[SmartModel]) -> list[Control]:
    """The controls of a scenario, the ones that matter most first.

    Args:
        scenario: the model class.
    """
    texts = _texts(scenario)
    known = _options(scenario)
    made_by = next(cls for cls in scenario.__mro__ if "__init__" in vars(cls))
    own = inspect.signature(vars(made_by)["__init__"]).parameters
    found = []
    for name, parameter in parameters_of(scenario).items():
        if name in LEFT_OUT:
            continue
        text = texts.get(name, "")
        options = known.get(name) or _quoted(text, parameter.default)
        of_scenario = name in own and name not in FURTHER
        main = name in {*FIRST, "rng"} or (
            of_scenario and (bool(options) or isinstance(parameter.default, bool | int))
        )
        found.append(_control(name, parameter.default, options, _HELP.get(name, text), main))
    return sorted(found, key=lambda c: FIRST.index(c.name) if c.name in FIRST else len(FIRST))


def parameters_from(controls: list[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from their defaults, read from what was set.

    Args:
        controls: the controls.
        values: parameter → what its control holds, as far as it was set.

    Raises:
        ParameterError: for a text that cannot be read; it names the label.
    """
    found: dict[str, Any] = {}
    for control in controls:
        value = values.get(control.name, control.default)
        if value == control.default:
            continue
        if isinstance(value, str):
            text = value.strip()
            read = parse_minds if control.name == "minds" else parse_value
            try:
                value = read(text) if text else None
            except UsageError as error:
                raise ParameterError(f"“{control.label}”: {error}") from None
        found[control.name] = value
    return found


def _control(name: str, default: Any, options: tuple[str, ...], text: str, main: bool) -> Control:
    label = _LABELS.get(name) or _label(name)
    kind: Kind
    if isinstance(default, bool):
        kind = "checkbox"
    elif isinstance(default, int) and main and 1 <= default <= SLIDER_MAX:
        kind = "slider"
    elif name in {"minds", "personas"}:
        kind = "suggest"
    elif options:
        kind = "select"
    else:
        kind = "text"
    if kind not in {"checkbox", "slider"}:
        default = "" if default is None else f"{default:.6g}" if _real(default) else str(default)
    return Control(name, label, kind, default, options, text.replace("`", ""), main)


def _label(name: str) -> str:
    words = name.replace("_", " ")
    words = words.replace("n ", "number of ", 1) if name.startswith("n_") else words
    return words[:1].upper() + words[1:] if len(words) > 1 else words


def _real(value: Any) -> bool:
    return isinstance(value, float)


def _options(scenario: type[SmartModel]) -> dict[str, tuple[str, ...]]:
    book = PromptBook(scenario.prompt_file)
    default = parameters_of(scenario)["personas"].default
    minds = ("classical" if m == "default" else f"classical:{m}" for m in scenario.classical_minds)
    personas = dict.fromkeys([str(default), NO_PERSONA, *book.personas])
    return {
        "minds": (*minds, "llm:gpt-4o-mini"),
        "condition": book.conditions,
        "variant": book.variants,
        "personas": tuple(personas),
        "answer_format": FORMATS,
    }


def _quoted(text: str, default: Any) -> tuple[str, ...]:
    """The values that a docstring names, when the default is one of several."""
    named = tuple(dict.fromkeys(_QUOTED.findall(text)))
    return named if default in named and len(named) > 1 else ()


def _texts(scenario: type[SmartModel]) -> dict[str, str]:
    """Parameter → what the docstrings of the model say of it, the scenario's own first."""
    found: dict[str, str] = {}
    for cls in scenario.__mro__:
        doc = inspect.cleandoc(vars(cls).get("__doc__") or "")
        arguments = re.search(r"^Args:\n((?: .*\n?|\n)+)", doc, re.MULTILINE)
        for entry in re.findall(
            r"^ {4}(\w+): ((?:.*\n?)(?:^ {5,}.*\n?)*)",
            arguments[1] if arguments else "",
            re.MULTILINE,
        ):
            text = " ".join(entry[1].split())
            if not text.startswith("see `"):
                found.setdefault(entry[0], text)
    return found
