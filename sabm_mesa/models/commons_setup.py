"""How a commons starts: who lives from it, and the reading of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sabm_mesa.asks import Mind
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.embedding import embedder
from sabm_mesa.population import Personas
from sabm_mesa.prompts import NO_PERSONA

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

NAMES = ("John", "Kate", "Jack", "Emma", "Luke")
"""The names of the published prompts."""
SPARSE = "sparse"
AS_PUBLISHED = "as_published"
LOCAL, NEWCOMER = "local", "newcomer"
"""The personas of the published newcomer experiment."""


def names_of(given: str | Sequence[str] | None, n: int, taken: Sequence[str]) -> tuple[str, ...]:
    """The name of each harvester.

    Args:
        given: a sequence, or a text with commas; None: those of the published prompts, and
            numbers beyond them.
        n: number of harvesters.
        taken: words that are no names, since the prompts use them.

    Raises:
        ParameterError: for names that are not different, not one a harvester, or that hold
            anything but letters, digits, blanks, hyphens and apostrophes.
    """
    if given is None:
        return tuple(NAMES[i] if i < len(NAMES) else f"Neighbour {i + 1}" for i in range(n))
    names = [str(name).strip() for name in (given.split(",") if isinstance(given, str) else given)]
    plain = all(_is_plain(name) for name in names)
    different = {name.casefold() for name in names} - {word.casefold() for word in taken}
    if not plain or not len(names) == len(different) == n:
        raise ParameterError(f"names: {n} different plain names are needed (got {given!r}).")
    return tuple(names)


def personas_of(given: Personas, n: int, newcomer: bool) -> Any:
    """The persona of each harvester.

    Args:
        given: what was given; ``"as_published"``: nobody has one, but with a newcomer the last
            harvester is ``newcomer`` and all others are ``local``.
        n: number of harvesters.
        newcomer: whether there is a newcomer.
    """
    if given != AS_PUBLISHED:
        return given
    return [LOCAL] * (n - 1) + [NEWCOMER] if newcomer else NO_PERSONA


def embedder_of(given: Any, model: SmartModel) -> Mind | None:
    """The embedding model that says how relevant memories are.

    Args:
        given: the parameter `memory_relevance`.
        model: the commons.

    Returns:
        The model; None when relevance is measured without one.

    Raises:
        ParameterError: for anything that names none.
        LLMError: when it cannot be reached for want of a key.
    """
    return None if given == SPARSE else embedder("memory_relevance", given, model)


def yes_or_no(name: str, value: Any) -> bool:
    """Return true or false.

    Args:
        name: the parameter, for the error.
        value: what was given.

    Raises:
        ParameterError: when it is something else.
    """
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is true or false, not {value!r}.")
    return value


def _is_plain(name: str) -> bool:
    bare = name.replace(" ", "").replace("-", "").replace("'", "")
    return bool(bare) and bare.isalnum()
