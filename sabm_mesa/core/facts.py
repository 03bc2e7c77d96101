"""The facts that an agent knows when it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sabm_mesa.core.answers import replace_surrogates
from sabm_mesa.core.messages import Message, is_said
from sabm_mesa.errors import ScenarioError


class Facts:
    """The facts that an agent knows when it is asked: ``facts.stock`` or ``facts["stock"]``.

    The prompt shows the facts, a rule reads them, a person's page shows them. Each is a number, a
    text, None, a message or memory, a list (stored as a tuple) or dict of these, or other facts: a
    row that many asks repeat is checked once. An agent's question always has two facts: ``persona``
    (the name of the persona, ``"none"`` without one) and ``memory`` (the memories of the agent,
    oldest first: texts, or objects with a ``text``).

    Raises:
        ScenarioError: for a value of another type, or a reserved name.
    """

    def __init__(self, facts: Mapping[str, Any], /) -> None:
        if "form" in facts:
            raise ScenarioError("The fact 'form' is reserved for the instructions on the answer.")
        vars(self).update(
            {
                name: value
                if type(value) in _PLAIN or (type(value) is str and value.isascii())
                else _fact(name, value)
                for name, value in facts.items()
            }
        )

    def __getitem__(self, name: str) -> Any:
        """Return a fact by its name."""
        return vars(self)[name]

    def __contains__(self, name: str) -> bool:
        """Whether there is a fact of this name."""
        return name in vars(self)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the facts."""
        return iter(vars(self))

    def __eq__(self, other: object) -> bool:
        """Whether the facts are the same."""
        return isinstance(other, Facts) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the facts."""
        return f"Facts({vars(self)!r})"

    def __getattr__(self, name: str) -> Any:
        """Refuse a fact that is not there, with the names of those that are.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"there is no fact {name!r}; the facts are: {', '.join(self)}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse changes: all minds decide on the same facts.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"facts cannot be changed ({name!r})")


_PLAIN = frozenset({int, float, bool, type(None), Message, Facts})
"""Types of facts that need no change: most, so that whole lists of them are looked up first."""
_TEXTS = frozenset({str})


def _fact(name: str, value: Any) -> Any:  # noqa: C901 - one case for each type
    if type(value) in _PLAIN or (type(value) is str and value.isascii()):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return value if value.isascii() else replace_surrogates(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, list | tuple):
        if _PLAIN.issuperset(map(type, value)):
            return tuple(value)
        return tuple([_fact(name, item) for item in value])
    if isinstance(value, Mapping):
        if _PLAIN.issuperset(map(type, value.values())) and _TEXTS.issuperset(map(type, value)):
            return dict(value)
        return {str(key): _fact(name, item) for key, item in value.items()}
    if is_said(value):
        return value
    raise ScenarioError(
        f"The fact {name!r} is of type {type(value).__name__}: give numbers, texts, messages, and "
        "lists and dicts of them."
    )
