"""Prompt texts as data, and the book that renders them.

A scenario's file ``prompts/NAME.toml`` holds

- ``[prompts]``: the entries, with placeholders in braces; the baseline condition;
- ``[conditions.NAME]`` and ``[variants.NAME]``: entries that replace those of ``[prompts]``;
- ``[personas]``: the scenario's own personas (``prompts/personas.toml`` holds the general ones).

``prompts/answers.toml`` says how an answer is to be written. A user's own file has the same form:
what it defines replaces the built-in text, and it may add conditions, variants and personas.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from sabm_mesa.decisions import AnswerSpec, Format, Unusable
from sabm_mesa.errors import PromptError, UnknownName
from sabm_mesa.own_files import read_toml
from sabm_mesa.prompts.quoting import labels_of, quoted
from sabm_mesa.prompts.templates import check_overrides, mapping, parse

NO_PERSONA = "none"
_TABLES = ("prompts", "conditions", "variants", "personas", "answers")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


class PromptBook:
    """The prompt entries of one run: one scenario, condition and variant.

    Args:
        source: where the scenario's prompts stand: the name of a built-in file or a path.
        condition: the condition; its entries replace those of ``[prompts]``.
        variant: the wording; its entries replace those of ``[prompts]``.
        overrides: a user's own prompt file, or None.

    Attributes:
        entries: entry → template.
        personas: persona → text.
        conditions: the names of the conditions.
        variants: the names of the variants.

    Raises:
        UnknownName: for a condition or variant that does not exist.
        PromptError: for a file that cannot be read or has unknown or missing placeholders.
    """

    def __init__(
        self,
        source: str | Path,
        condition: str = "baseline",
        variant: str = "default",
        overrides: str | Path | None = None,
    ) -> None:
        book = merge(load_builtin("answers"), load_builtin("personas"), load(source))
        if overrides is not None:
            own = load(overrides)
            check_overrides(book, own, str(overrides))
            book = merge(book, own)
        self.conditions = ("baseline", *(c for c in book["conditions"] if c != "baseline"))
        self.variants = ("default", *(v for v in book["variants"] if v != "default"))
        if condition not in self.conditions:
            raise UnknownName("condition", condition, self.conditions)
        if variant not in self.variants:
            raise UnknownName("prompt variant", variant, self.variants)
        self.personas: dict[str, str] = {NO_PERSONA: "", **book["personas"]}
        self.entries: dict[str, str] = {
            **{name: text for name, text in book["answers"].items() if isinstance(text, str)},
            **{f"reason_{code}": text for code, text in book["answers"]["reasons"].items()},
            **book["prompts"],
            **book["variants"].get(variant, {}),
            **book["conditions"].get(condition, {}),
        }
        _ = self._pieces  # a template that cannot be read is refused at once

    @cached_property
    def _pieces(self) -> dict[str, list[tuple[str, str | None]]]:
        return {name: parse(text) for name, text in self.entries.items()}

    @cached_property
    def _fixed(self) -> dict[str, str]:
        """The entries without placeholders, as they are rendered."""
        plain = {e: pieces for e, pieces in self._pieces.items() if not any(p for _, p in pieces)}
        return {e: _tidy("".join(text for text, _ in pieces)) for e, pieces in plain.items()}

    @classmethod
    def recorded(
        cls, entries: Mapping[str, str], personas: Mapping[str, str], condition: str, variant: str
    ) -> PromptBook:
        """The book of a run that was recorded: its entries, and the personas it used.

        Args:
            entries: entry → template.
            personas: persona → text.
            condition: the condition it is the book of.
            variant: the variant it is the book of.
        """
        book = cls.__new__(cls)
        book.conditions, book.variants = (condition,), (variant,)
        book.entries, book.personas = dict(entries), {NO_PERSONA: "", **personas}
        return book

    def render(self, entry: str, values: Mapping[str, object]) -> str:
        """Fill one entry.

        Args:
            entry: the name of the entry.
            values: placeholder → value; values that the entry does not use are ignored.

        Raises:
            PromptError: for an entry that does not exist or a placeholder without a value.
        """
        fixed = self._fixed.get(entry)
        if fixed is not None:
            return fixed
        try:
            pieces = self._pieces[entry]
        except KeyError:
            raise PromptError(
                f"There is no prompt entry {entry!r}; the prompt file needs it."
            ) from None
        try:
            parts = [text if name is None else text + str(values[name]) for text, name in pieces]
        except KeyError as missing:
            raise PromptError(
                f"The prompt entry {entry!r} uses the placeholder {{{missing.args[0]}}}, which is "
                f"not known there. Known: {', '.join(sorted(values))}."
            ) from None
        return _tidy("".join(parts))

    def quote(self, text: str, names: Sequence[str] = ()) -> str:
        """What a mind said, as others may read it: no label of a speaker, no mark of a prompt.

        A scenario puts every text of a mind that it shows in a prompt through it, and keeps the
        text itself (see `sabm_mesa.prompts.quoting`).

        Args:
            text: what was said.
            names: names of speakers that stand in no entry.
        """
        return quoted(text, self._labels, tuple(names))

    @cached_property
    def _labels(self) -> str:
        return labels_of(self.entries)

    def persona(self, name: str) -> str:
        """The text of a persona.

        Raises:
            UnknownName: for a persona that does not exist.
        """
        if name not in self.personas:
            raise UnknownName("persona", name, self.personas)
        return self.personas[name]

    def form(self, spec: AnswerSpec, answer_format: Format) -> str:
        """How an answer to `spec` is to be written."""
        values = spec.placeholders()
        if "number" in values:
            values["number"] = self.render(values["number"], values)
        reasoned = "_reasoned" if spec.reasoning else ""
        return self.render(f"{spec.kind}{reasoned}_{answer_format}", values)

    def reason(self, problem: Unusable) -> str:
        """Why an answer could not be used, in words."""
        return self.render(f"reason_{problem.code}", problem.fields)

    def hashes(self) -> dict[str, str]:
        """Entry → the first 12 hexadecimal digits of its SHA-256."""
        return {name: _digest(text) for name, text in sorted(self.entries.items())}

    def with_hashes(self, personas: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Entry → (hash, text), with the personas in use as entries ``persona NAME``.

        Args:
            personas: the names of the personas in use.
        """
        used = {f"persona {name}": self.persona(name) for name in sorted(personas)}
        return {name: (_digest(text), text) for name, text in (self.entries | used).items()}

    def digest(self, personas: Iterable[str] | None = None) -> str:
        """One hash over all entries, and over the personas.

        Args:
            personas: the names of those in use; all when None.
        """
        used = self.personas if personas is None else personas
        texts = sorted((name, self.persona(name)) for name in used)
        return _digest(repr((sorted(self.entries.items()), texts)))


@cache
def load_builtin(name: str) -> dict[str, Any]:
    """Read a prompt file of the package by its name.

    Raises:
        PromptError: when there is none of that name.
    """
    try:
        text = files(__name__).joinpath(f"{name}.toml").read_text("utf-8")
    except OSError:
        raise PromptError(
            f"There is no built-in prompt file {name!r}; a file of your own has to end in .toml."
        ) from None
    return _tables(tomllib.loads(text), name)


def load(source: str | Path) -> dict[str, Any]:
    """Read a prompt file: a built-in one by its name, or one by its path.

    Raises:
        PromptError: when it cannot be read or holds unknown tables.
    """
    if not isinstance(source, str | Path):
        raise PromptError(f"A prompt file is given by its path, not as {source!r}.")
    if isinstance(source, str) and not source.endswith(".toml"):
        return load_builtin(source)
    return _tables(read_toml(source, "prompt file", PromptError), str(source))


def _tables(raw: dict[str, Any], source: str) -> dict[str, Any]:
    if unknown := sorted(set(raw) - set(_TABLES)):
        raise PromptError(f"{source}: unknown table [{unknown[0]}]; known: {', '.join(_TABLES)}.")
    return {table: mapping(raw.get(table, {}), f"{source} [{table}]") for table in _TABLES}


def merge(*books: Mapping[str, Any]) -> dict[str, Any]:
    """Lay tables over one another; of two entries with one name the later one holds."""
    merged: dict[str, Any] = {}
    for book in books:
        for name, value in book.items():
            both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
            merged[name] = merge(merged[name], value) if both else value
    return merged


def _tidy(text: str) -> str:
    """A rendered text without blanks around it, and with one blank line where there are several."""
    if "\n" not in text:
        return text.strip()
    text = _BLANK_LINES.sub("\n\n", text)
    while " \n\n" in text or "\t\n\n" in text:
        text = text.replace(" \n\n", "\n\n").replace("\t\n\n", "\n\n")
    return text.strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
