"""Templates of prompts: their placeholders, and what a user's own file may replace."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from typing import Any

from sabm_mesa.errors import PromptError


def check_overrides(book: Mapping[str, Any], own: Mapping[str, Any], source: str) -> None:
    """Check a user's file against the built-in entries.

    ``[prompts]`` and ``[answers]`` must use exactly the placeholders of the entry they replace;
    a condition or variant may leave some out.

    Raises:
        PromptError: naming the entry and the unknown or missing placeholder.
    """
    known: dict[str, str] = book["prompts"]
    reasons, where = book["answers"]["reasons"], f"{source} [answers.reasons]"
    _check_table(book["answers"], own["answers"], f"{source} [answers]", exact=True)
    _check_table(reasons, mapping(own["answers"].get("reasons", {}), where), where, exact=True)
    _check_table(known, own["prompts"], f"{source} [prompts]", exact=True)
    for table in ("conditions", "variants"):
        for name, entries in own[table].items():
            where = f"{source} [{table}.{name}]"
            usable = {**known, **book[table].get(name, {})}
            _check_table(usable, mapping(entries, where), where, exact=False)
    _check_text(own["personas"], f"{source} [personas]")


def mapping(entries: Any, where: str) -> Mapping[str, Any]:
    """The entries of a table.

    Args:
        entries: what was found.
        where: where it was found, for the error.

    Raises:
        PromptError: when it is no table.
    """
    if not isinstance(entries, Mapping):
        raise PromptError(f"{where} has to be a table of entries.")
    return entries


def _check_text(entries: Mapping[str, Any], where: str) -> None:
    for name, text in entries.items():
        if not isinstance(text, str):
            raise PromptError(f"{where}: {name!r} has to be a text.")


def _check_table(
    known: Mapping[str, Any], own: Mapping[str, Any], where: str, *, exact: bool
) -> None:
    texts = {name: text for name, text in own.items() if not isinstance(known.get(name), Mapping)}
    _check_text(texts, where)
    for name, text in texts.items():
        if name not in known:
            raise PromptError(
                f"{where}: unknown entry {name!r}; known: {', '.join(sorted(known))}."
            )
        used, expected = placeholders(text), placeholders(known[name])
        if extra := used - expected:
            raise PromptError(
                f"{where}: {name!r} has the unknown {_braced(extra)}; known: {_braced(expected)}."
            )
        if exact and (missing := expected - used):
            raise PromptError(f"{where}: {name!r} lacks {_braced(missing)}.")


def placeholders(text: str) -> set[str]:
    """The names in braces in a template.

    Raises:
        PromptError: for unbalanced braces or a placeholder that is not a plain name.
    """
    return {name for _, name in parse(text) if name is not None}


def parse(text: str) -> list[tuple[str, str | None]]:
    """The pieces of a template: a literal text and the placeholder behind it, or None.

    Raises:
        PromptError: for unbalanced braces or a placeholder that is not a plain name.
    """
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise PromptError(f"A prompt has unbalanced braces ({error}): {text[:60]!r}.") from None
    for _, name, form, conversion in pieces:
        if name is not None and (form or conversion or not name.isidentifier()):
            found = name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise PromptError(
                f"A placeholder has to be a name in braces, not {{{found}}}: {text[:60]!r}."
            )
    return [(literal, name) for literal, name, _, _ in pieces]


def _braced(names: Iterable[str]) -> str:
    return "placeholder " + (", ".join(f"{{{name}}}" for name in sorted(names)) or "(none)")
