"""The course of a round as the code has it: phases, who is asked what, and what comes of it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.asks import Observation
from sabm_mesa.decisions import Choice, Number, Text
from sabm_mesa.models.base import SmartModel
from sabm_mesa.odd.docs_of_code import all_entries, main_part, sentence
from sabm_mesa.scheduler import FIXED, SHUFFLED, SIMULTANEOUS, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDERS = {
    SIMULTANEOUS: "All decide at the same time, on the same state of the world; the decisions take "
    "effect in the order of the agents.",
    SHUFFLED: "One after another, in an order that is drawn anew each time; each sees what came of "
    "the decisions before.",
    FIXED: "One after another, in the order given; each sees what came of the decisions before.",
}
_COLLECTING = (
    "Observation: the data columns of the round are collected and recorded; the run ends after "
    "{n_rounds} rounds (`n_rounds`) at the latest."
)


def steps(model: SmartModel) -> list[str]:
    """The steps of a round in their order, a paragraph each.

    Args:
        model: the model, unplayed.
    """
    begin, update = type(model).begin_round, type(model).update
    first = [f"Beginning of the round: {_small(sentence(begin))}"]
    last = [f"End of the round: {_small(sentence(update))}"]
    return [
        *(first if begin is not SmartModel.begin_round else []),
        *(_phase(model, phase) for phase in model.phases),
        *(last if update is not SmartModel.update else []),
        _COLLECTING.format(n_rounds=model.n_rounds),
    ]


def agent_classes(model: SmartModel) -> list[type[SmartAgent]]:
    """The classes of a model's agents, in the order in which they first occur.

    Args:
        model: the model, unplayed.
    """
    return list(dict.fromkeys(type(agent) for agent in model.population))


def observations(agent: type[SmartAgent]) -> dict[str, dict[str, str]]:
    """What agents of a class are shown: observation → field → meaning.

    Args:
        agent: the class.
    """
    modules = (cls.__module__ for cls in agent.__mro__ if issubclass(cls, SmartAgent))
    named = (each for module in modules for each in vars(sys.modules[module]).values())
    found = list(dict.fromkeys(filter(_is_observation, named)))
    leaves = [o for o in found if not any(o is not each and issubclass(each, o) for each in found)]
    return {each.__name__: all_entries(each, "Attributes") | _undocumented(each) for each in leaves}


def _undocumented(observation: type[Observation]) -> dict[str, str]:
    known = all_entries(observation, "Attributes")
    return {field.name: "" for field in fields(observation) if field.name not in known}


def questions(agent: type[SmartAgent], method: str, entries: Iterable[str]) -> dict[str, str]:
    """What an agent is asked in a phase, also by the methods that its method calls.

    Args:
        agent: the class of the agent.
        method: its method.
        entries: the prompt entries there are.

    Returns:
        Prompt entry → what a legal answer is; ``""`` where that is not the same in every run.
    """
    known, seen, found = set(entries), set[str](), dict[str, str]()

    def visit(name: str) -> None:
        function = inspect.unwrap(getattr(agent, name))
        if name in seen or not inspect.isfunction(function) or name in vars(SmartAgent):
            return
        seen.add(name)
        for call in _calls(function):
            called, arguments = call.func.attr, call.args
            if not inspect.isfunction(getattr(agent, called, None)):
                continue
            if arguments and isinstance(arguments[0], ast.Constant) and arguments[0].value in known:
                spec = arguments[1] if called == "ask" and len(arguments) > 1 else None
                found.setdefault(arguments[0].value, _legal(spec, function.__globals__))
            visit(called)

    visit(method)
    return found


def rule_in_words(rule: Callable[..., Any]) -> str:
    """What a function of a phase says of itself; a lambda says it in code.

    Args:
        rule: the function.
    """
    if rule.__name__ != "<lambda>":
        said = _small(sentence(rule)).removesuffix(".").replace("whether ", "", 1)
        return said or f"`{rule.__name__}`"
    code = rule.__code__
    tree = ast.parse(_source(lambda: "".join(inspect.findsource(rule)[0])))
    columns = [at[2] for at in code.co_positions() if at[2] is not None and at[2] > 0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            body = node.body
            if all(body.col_offset <= c <= (body.end_col_offset or c) for c in columns):
                name = node.args.args[0].arg
                return f"`{ast.unparse(body).replace(f'{name}.', '')}`"
    return "a rule in the code"


def _phase(model: SmartModel, phase: Phase) -> str:
    asking = [cls for cls in agent_classes(model) if hasattr(cls, phase.name)]
    methods = [getattr(cls, phase.name) for cls in asking]
    order = phase.order
    does = next(filter(None, map(main_part, methods)), "")
    said = [f"Phase `{phase.name}`" + (f": {_small(does)}" if does else ".")]
    if phase.when is not None:
        said.append(f"It takes place if {rule_in_words(phase.when)}.")
    if phase.who is not None:
        said.append(f"Who takes part: {rule_in_words(phase.who)}.")
    said.append(
        f"Order: {rule_in_words(order)}." if callable(order) else f"Order: {_small(_ORDERS[order])}"
    )
    if phase.turns > 1:
        said.append(f"Everybody has {phase.turns} turns.")
    if phase.reach is not None:
        said.append(
            "Agents that cannot affect each other may be asked at the same time, with the same "
            f"result; an agent waits for those within its reach: {rule_in_words(phase.reach)}."
        )
    asked: Mapping[str, str] = {
        entry: spec
        for cls in asking
        for entry, spec in questions(cls, phase.name, model.book.entries).items()
    }
    if asked:
        each = (f"`{entry}` ({spec})" if spec else f"`{entry}`" for entry, spec in asked.items())
        said.append(f"Questions: {', '.join(each)}.")
    after = getattr(type(model), f"after_{phase.name}", None)
    if after is not None and after.__doc__:
        said.append(f"What comes of it: {_small(sentence(after))}")
    return " ".join(said)


def _calls(function: Callable[..., Any]) -> list[Any]:
    tree = ast.parse(_source(lambda: dedent(inspect.getsource(function))))
    called = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    methods = [call for call in called if isinstance(call.func, ast.Attribute)]
    return sorted(methods, key=lambda call: (call.lineno, call.col_offset))


def _source(read: Callable[[], str]) -> str:
    """The source of a function; nothing when it was typed in, and stands in no file."""
    try:
        return read()
    except OSError:
        return ""


def _legal(spec: ast.expr | None, names: Mapping[str, Any]) -> str:
    """A legal answer in words, where the spec is a constant of the module."""
    found = names.get(spec.id) if isinstance(spec, ast.Name) else None
    if isinstance(found, Number):
        kind = "an integer" if found.integer else "a number"
        return f"{kind} from {found.low:g} to {found.high:g}"
    if isinstance(found, Text):
        without = "" if found.numbers else " without digits"
        return f"a text of {found.max_words} words at the most{without}"
    if isinstance(found, Choice):
        return f"one of {', '.join(found.options)}"
    return ""


def _is_observation(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Observation) and found is not Observation


def _small(text: str) -> str:
    """A sentence that goes on after a colon."""
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[:2] == "A " else text
