"""Names of columns, numbers and minds on the pages."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.phrases import (
    Amount,
    Phrase,
    known,
    number_in,
    slug,
)
from sabm_mesa.errors import SabmError
from sabm_mesa.minds.specs import describe_minds, is_by_class, is_local, named_in
from sabm_mesa.models.declarations import column_title

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel


_log = logging.getLogger(__name__)

FREE, PAID = "free", "paid"
_FREE_OF_CHARGE = ("classical", "fixed:", "fitted:", "py:")
DIGITS_TYPED = 9
"""Maximum number of digits of a typed number."""


def titles_of(model: SmartModel) -> Titles:
    """Return the titles of the columns of a scenario."""
    return Titles(model.page.titles, names_in(model))


@dataclass(frozen=True)
class Titles:
    """Titles of the columns of a scenario.

    Attributes:
        own: column → title, if the title does not follow from the name; ``price_{}`` covers all
            columns that end with the name or number of an agent.
        names: the names of the agents, for columns that end with the number of an agent.
    """

    own: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()

    def __getitem__(self, column: str) -> str:
        """Return the title of a column, by its name in the data."""
        pattern, name = self._pattern(column)
        return pattern.format(name) if name else pattern

    def localized(self, column: str) -> str:
        """The title of a column on the pages of a class."""
        pattern, name = self._pattern(column)
        return known(f"columns.{slug(pattern)}", self[column], name=name)

    def _pattern(self, column: str) -> tuple[str, str]:
        """The title, and the name that replaces the braces in it."""
        return column_title(self.own, column, self.names)


def title_of(model: SmartModel | type[SmartModel]) -> str:
    """The title of a scenario on the pages of a class."""
    return known(f"titles.{slug(model.title)}", model.title)


def counting(model: SmartModel | type[SmartModel]) -> tuple[str, int]:
    """Return the word for a round, and the number that people read for round 0 of the data.

    If the first rounds are given (`SmartModel.given_rounds`), counting starts at the first round
    with decisions.
    """
    noun, first = model.page.round_name
    return noun, first - model.given_rounds


def round_of(model: SmartModel | type[SmartModel], number_: int) -> str:
    """The name of a round for readers, such as ``"round 3"`` or ``"month 4"``.

    Args:
        number_: the round in the data, from 0; a given one is ``"before the first round"``.
    """
    noun, first = counting(model)
    if number_ < model.given_rounds:
        return known(f"rounds.before_{slug(noun)}", f"before the first {noun}")
    return known(f"rounds.{slug(noun)}", f"{noun} {number_ + first}", n=number_ + first)


def round_noun(model: SmartModel) -> str:
    """The word for a round, capitalised."""
    noun = counting(model)[0]
    return known(f"rounds.noun_{slug(noun)}", noun.capitalize())


def in_words(model: SmartModel, frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Data by round for readers: titles of the columns, and rows with names of rounds."""
    titles, (_, first) = titles_of(model), counting(model)
    names, given = list(map(str, frame.columns)), model.given_rounds
    columns = [round_noun(model) if name == "round" else titles.localized(name) for name in names]
    rows = [[localized(v) for v in row] for row in frame.itertuples(index=False)]
    if "round" in names:
        at = names.index("round")
        for row, round_ in zip(rows, frame["round"].tolist(), strict=True):
            before = round_ < given
            row[at] = round_of(model, round_).capitalize() if before else str(round_ + first)
    return columns, rows


def number(value: Any) -> str:
    """A value for display: a dash for a missing one, and at most four significant digits."""
    if type(value).__name__ in {"bool", "bool_"}:
        return "yes" if value else "no"
    if not isinstance(value, float):
        return "–" if value is None else str(value)
    return number_in("en", value)


def localized(value: Any) -> str:
    """A value as `number` shows it, on the pages of a class."""
    if type(value).__name__ in {"bool", "bool_"}:
        return Phrase("number.yes") if value else Phrase("number.no")
    if isinstance(value, float):
        return Amount(value)
    return known(f"words.{slug(value)}", value) if isinstance(value, str) else number(value)


def error_line(error: Exception) -> str:
    """Describe an error in a line; errors of other packages are also logged with a traceback."""
    if isinstance(error, SabmError):
        return str(error)
    _log.error("An error that is none of the package's.", exc_info=error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def whole_in(text: str) -> int | None:
    """The whole number in a typed text; None if there is none or it is too long."""
    typed = text.strip()
    return int(typed) if typed.isdecimal() and len(typed) <= DIGITS_TYPED else None


def count(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def mind_in_words(spec: str) -> str:
    """A mind on the pages of a class; one that runs a file is called by its spec."""
    kind, _, name = spec.partition(":")
    kind, name = kind.partition("?")[0], name.partition("?")[0]
    if kind == "local" and not name:
        return Phrase("minds.local")
    if kind in {"llm", "local", "gguf"}:
        return Phrase("minds.llm", name=name)
    if kind == "fixed":
        return Phrase("minds.fixed", name=name)
    return known(f"minds.{slug(kind)}_named" if name else f"minds.{slug(kind)}", spec, name=name)


def name_of(model: SmartModel, agent: int | str) -> str:
    """Return the name of an agent: the name from the scenario, or else one with its number."""
    if isinstance(agent, str):  # in some scenarios agents have names
        return agent
    names = names_in(model)
    if 0 < agent <= len(names):
        return names[agent - 1]
    try:
        speaker: Any = model.agent_of_id(agent)
        if own := getattr(speaker, "name", ""):
            return str(own)
        name = speaker.class_name
    except KeyError:
        name = noun_of(model).capitalize()
    return known(f"agents.{slug(name)}", f"{name} {agent}", number=agent)


def names_in(model: SmartModel) -> Sequence[str]:
    """The names of the agents in the order of their ids, if the scenario gives names."""
    names = getattr(model, "names", ())
    return [str(name) for name in names] if isinstance(names, list | tuple) else ()


def noun_of(model: SmartModel) -> str:
    """Return the noun for the agents of a model, such as ``"player"``."""
    known = model.agent_classes()
    return known[0].__name__.lower() if len(known) == 1 else "agent"


def who_decides(model: SmartModel) -> tuple[str, str]:
    """The minds that decide, in a sentence, and whether answers cost money.

    Returns:
        The sentence, and ``"paid"`` or ``"free"``.
    """
    paid = any(agent.mind.paid for agent in model.population)
    return _sentence(model.minds_in_use(), noun_of(model), paid)


def who_would_decide(minds: str | Mapping[str, Any], noun: str) -> tuple[str, str]:
    """The minds that would decide in a model that has not been made yet.

    Args:
        minds: the minds of a run by their specs.

    Returns:
        As `who_decides`.
    """
    if is_by_class(minds):
        sentence = f"Minds decide by class of {noun}: {describe_minds(minds)}"
        paid = any(spec.startswith("llm:") for spec in named_in(minds))
        return (f"{sentence}: answers may cost money.", PAID) if paid else (f"{sentence}.", FREE)
    counts = {minds: 0} if isinstance(minds, str) else dict(minds)
    counts = {spec: n if type(n) is int else 0 for spec, n in counts.items()}  # JSON may differ
    return _sentence(counts, noun, any(spec.startswith("llm:") for spec in counts))


def _sentence(minds: Mapping[str, int], noun: str, paid: bool) -> tuple[str, str]:
    if len(minds) == 1:
        spec, n = next(iter(minds.items()))
        if spec.startswith("classical"):
            return f"Classical behavioural rules decide ({spec}): no language model.", FREE
        sentence = f"{_who(spec)} decides for {count(n, noun) if n else f'all {noun}s'}"
    else:
        parts = [f"{_who(spec)} for {n}" for spec, n in minds.items()]
        sentence = f"Different minds decide for the {count(sum(minds.values()), noun)}: "
        sentence += "; ".join(parts)
    if paid and not all(spec.startswith(_FREE_OF_CHARGE) or is_local(spec) for spec in minds):
        return f"{sentence}: answers may cost money.", PAID
    if any(map(is_local, minds)):
        return f"{sentence}: the model runs on this machine, and costs nothing.", FREE
    return f"{sentence}: no language model.", FREE


def _who(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    if kind.partition("?")[0] == "local":
        return f"Language model {rest}".strip() if rest else "Language model on this machine"
    names = {
        "llm": "Language model", "gguf": "Language model", "fixed": "The fixed answer",
        "classical": "Classical rule",
    }  # fmt: skip
    return f"{names[kind]} {rest}".strip() if kind in names else spec
