"""The form of a scenario's page."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import solara

from sabm_mesa.core.parameters import SERVICES, Limits, Parameter, parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.prompts import NO_PERSONA, PromptBook
from sabm_mesa.describe.docstrings import arguments
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.minds.llm import SAMPLING
from sabm_mesa.models.declarations import load_class_game
from sabm_mesa.visualization.access import open_to_others
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.html import choice, field, html, inside

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


Kind = Literal["slider", "checkbox", "select", "suggest", "text"]
LEFT_OUT = SERVICES | {"prompts", "party"}
"""Parameters that cannot be set in a browser: services, addresses and paths of server files."""
FILES = (".toml", ".sqlite")
"""Suffixes of files that a parameter may name outside the browser."""
FIRST = ("game", "minds", "condition", "personas")
FURTHER = {"variant", *SAMPLING}
"""Settings of prompts and language models, even if a scenario sets other defaults."""
SLIDER_MAX = 100
_HELP = {
    "minds": "Minds decide for the agents. classical follows a rule, local is a language model on "
    "this computer, and llm:MODEL is one of a provider. Several kinds are written with their "
    "numbers: llm:gpt-4o-mini=5,classical=19.",
    "personas": "It is the character of the agents: one for all, or how many have each, as in "
    '{"agreeable": 6, "none": 18}.',
    "rng": "The same number repeats the same run. A number is drawn when it is empty.",
    "plan_every": "Firms write plans for themselves in every round that this number divides.",
    "phase_order": "A round has these phases, in this order.",
    "told_range": "Firms are told the highest price that they may set.",
    "matching": "Groups stay as they are, or meet others: drawn anew every round, or in a chain.",
    "members": "The agents have met before: in a published chain (A, B), in their own talks "
    "(familiar, strangers), or as a list says.",
    "game": "A game of the library, or one with drawn payoffs: novel:CLASS:SEED.",
    "told_count": "The notice says how many they are.",
    "collapse_below": "The stock collapses when less than this is left (units).",
    "speaker_order": "The speakers of a round are quoted as they have spoken, or the last one "
    "first.",
    "obstacles": "Obstacles stand in the room, as published.",
}
_LABELS = {"rng": "Seed", "minds": "Minds: who decides", "n_rounds": "Number of rounds"}
Set = Callable[[str, Any], None]
Chips = Callable[[str, Callable[[str], None]], object]
OTHERS = (
    "Others can reach this server, so its key is sent to no address that is given here: the server "
    "is started with its own, sabm view --base-url URL."
)


@dataclass(frozen=True)
class Control:
    """A control for one parameter.

    Attributes:
        name: the parameter.
        label: its name on the page.
        kind: the kind of input; ``"suggest"`` is a text field with suggestions.
        default: its default: a bool for a checkbox, an int for a slider, a text otherwise.
        options: the possible or suggested values.
        help: its meaning, from the docstring of the model.
        legal: the legal numbers, in words.
        main: whether it is always shown; otherwise it is among the further controls.
        low: the smallest value of a slider.
        high: the largest value of a slider; None if it depends on other settings.
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
    """The controls of a scenario, the most important first.

    Args:
        scenario: the model class.
    """
    texts = arguments(scenario)
    offered = load_class_game(scenario.class_game).choices
    known = _options(scenario) | {name: tuple(options()) for name, options in offered.items()}
    made_by = next(cls for cls in scenario.__mro__ if "__init__" in vars(cls))
    of_constructor = inspect.signature(inspect.unwrap(vars(made_by)["__init__"])).parameters
    controls = []
    for name, parameter in parameters_of(scenario).items():
        if name in LEFT_OUT:
            continue
        options = known.get(name) or tuple(map(str, parameter.limits.choices))
        of_scenario = name in {*of_constructor, *scenario.defaults} and name not in FURTHER
        main = name in {*FIRST, "rng"} or (
            of_scenario and (bool(options) or isinstance(parameter.default, bool | int))
        )
        controls.append(_control(parameter, options, texts.get(name, ""), main, offered))
    return sorted(controls, key=lambda c: FIRST.index(c.name) if c.name in FIRST else len(FIRST))


def parameters_from(controls: list[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters whose set values differ from their defaults.

    Args:
        controls: the controls.
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
    name, default, limits = parameter.name, parameter.default, parameter.limits
    label = _LABELS.get(name) or _label(name)
    low, high = _whole_limits(limits)
    kind: Kind
    if isinstance(default, bool):
        kind = "checkbox"
    elif main and limits.kind != "float" and type(default) is int and low <= default <= SLIDER_MAX:
        kind = "slider"
    elif name in {"minds", "personas"} or (name in offered and not limits.choices):
        kind = "suggest"
    elif options:
        kind = "select"
    else:
        kind = "text"
    if kind not in {"checkbox", "slider"}:
        default = "" if default is None else f"{default:.6g}" if _real(default) else str(default)
    text = _HELP.get(name) or _sentence(
        text.replace("`", ""), count=limits.is_number and limits.kind != "float"
    )
    legal = str(limits) if limits.is_number and name not in {*FIRST, "rng"} else ""
    return Control(name, label, kind, default, options, text, legal, main, low, high)


def _sentence(text: str, *, count: bool) -> str:
    """A sentence from the phrase about a parameter in a docstring.

    Args:
        text: the phrase, such as ``"number of firms."``.
        count: whether the phrase names several things and the parameter is their number.
    """
    first, second = (*text.split(maxsplit=2), "", "")[:2]
    if text.startswith("number of "):
        return f"There are this many {text.removeprefix('number of ')}"
    if first in {"whether", "how", "by"}:
        return f"It says {text}"
    if first in {"the", "a", "an", "one"} or (first.startswith('"') and " is " not in text):
        return f"They are {text}" if first == "the" and second.endswith("s") else f"It is {text}"
    if count and first.endswith("s"):
        return f"It is the number of {text}"
    return text[:1].upper() + text[1:]


def _whole_limits(limits: Limits) -> tuple[int, int | None]:
    """The smallest and the largest whole number; the smallest is 1 if none is declared."""
    low, high = limits.low, limits.high
    if low is not None:
        low = math.floor(low) + 1 if limits.above else math.ceil(low)
    if high is not None:
        high = math.ceil(high) - 1 if limits.below else math.floor(high)
    return 1 if low is None else low, high


def _label(name: str) -> str:
    words = name.replace("_", " ")
    words = words.replace("n ", "number of ", 1) if name.startswith("n_") else words
    return words[:1].upper() + words[1:] if len(words) > 1 else words


def _real(value: Any) -> bool:
    return isinstance(value, float)


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


@solara.component
def Form(
    controls: Sequence[Control],
    fixed: Mapping[str, Any],
    on_set: Set,
    wrong: Callable[[], str],
    chips: Chips | None = None,
    start: Mapping[str, Any] | None = None,
) -> None:
    """The controls, and the settings for access to language models.

    Args:
        controls: the controls.
        fixed: parameters that the page sets, without a control.
        on_set: called with the name of a parameter and its new value.
        wrong: the name of the parameter with an unusable value, or ``""``.
        chips: draws the kinds of minds above their field.
        start: the first values of controls; the others start with their defaults.
    """
    begun = start or {}
    use_poll(wrong)
    marked = wrong()
    shown = [control for control in controls if control.name not in fixed]
    for control in shown:
        if control.main:
            above = chips if control.name == "minds" else None
            held = begun.get(control.name)
            Input(control, on_set, control.name == marked, above, held).key(control.name)
    with inside("details", "sabm-details"):
        html("summary", "Language models")
        for control in LANGUAGE_MODELS:
            Input(control, on_set, control.name == marked).key(control.name)
        html("p", "Keys are read from the environment of the server.", "sabm-hint")
        if open_to_others():
            html("p", OTHERS, "sabm-hint")
    with inside("details", "sabm-details"):
        html("summary", "Further parameters")
        for control in shown:
            if not control.main:
                Input(control, on_set, control.name == marked).key(control.name)


@solara.component
def Input(
    control: Control,
    on_set: Set,
    wrong: bool = False,
    chips: Chips | None = None,
    start: Any = None,
) -> None:
    """The input for one parameter.

    Args:
        control: the control of the parameter.
        on_set: called with the parameter and its new value.
        wrong: whether its value cannot be used.
        chips: draws content above it, from its value and the function that changes it.
        start: its first value; None: its default.
    """
    value, set_value = solara.use_state(control.default if start is None else start)

    def changed(new: Any) -> None:
        set_value("" if new is None else new)
        on_set(control.name, "" if new is None else new)

    with inside("div", "sabm-input" + (" sabm-wrong" if wrong else ""), title=_tooltip(control)):
        if chips is not None:
            chips(str(value), changed)
        if control.kind == "checkbox":
            solara.Checkbox(label=control.label, value=value, on_value=changed)
        elif control.kind == "slider":
            most = max(SLIDER_MAX, 2 * control.default, value)
            most = most if control.high is None else min(most, control.high)
            with inside("div", "sabm-slider"):
                with solara.v.Html(tag="div").key(str(most)):  # a slider clips values
                    solara.SliderInt(
                        f"{control.label}:", value, control.low, most, on_value=changed
                    )
                _NumberInput(
                    label=control.label, value=value, low=control.low, high=control.high,
                    event_change=changed,
                )  # fmt: skip
        elif control.kind == "select":
            choice(control.label, control.options, value, changed)
        elif control.kind == "suggest":
            solara.v.Combobox(
                label=control.label, items=list(control.options), v_model=value,
                on_v_model=changed, hint=control.help, persistent_hint=True, error=wrong,
            )  # fmt: skip
        else:
            field(control.label, value, changed, hint=_hint(control), wrong=wrong)


@solara.component_vue("number_input.vue")
def _NumberInput(
    label: str,
    value: int,
    low: int,
    high: int | None,
    event_change: Callable[[int], None] | None = None,
) -> None: ...


def _tooltip(control: Control) -> str:
    """The meaning of a parameter, and its legal numbers."""
    return f"{control.help} Legal: {control.legal}." if control.legal else control.help


def _hint(control: Control) -> str:
    """A short help text with the legal numbers and the default."""
    short = control.help.partition("; None")[0].partition(". ")[0].removesuffix(".")
    default = f"default {control.default}" if control.default else ""
    more = "; ".join(filter(None, [control.legal, default]))
    return f"{short} ({more})" if more else short
