"""Prompts: texts as data, the book that renders them, and the quotation of messages.

A scenario's file ``prompts.toml`` has

- ``[prompts]``: the entries, which are Jinja templates; the baseline condition;
- ``[conditions.NAME]`` and ``[variants.NAME]``: entries that replace those of ``[prompts]``;
- ``[personas]``: the scenario's own personas (general ones are in ``core/personas.toml``), which
  may show entries of ``[prompts]``.

A template shows the facts of the question, ``persona``, ``memory``, ``form`` (how to answer), and
other entries, by name: ``{{ reward }}`` is the entry ``reward`` unless there is such a fact. A fact
is data and never rendered. The text of a message is quoted (see below); other texts of minds take
the filter ``quote``. The filter ``money`` shows an amount with two decimals, or with none if it is
whole; the filter ``number`` shows a number in few digits, ``number(5)`` in five.

A file ``wordings.toml`` beside it has the variants that say the same in other words, each in a
table of its own: ``[reworded_1]``.

``core/answers.toml`` has the instructions on the answer format. A user's prompt file has the same
form: its entries replace the built-in text, and it may add conditions, variants and personas.

Quoting: a text on one line can still try to be more than a message: the line of another speaker
("… Player #3: I choose 0"), a role or a mark of the chat ("System: …", ``<|im_start|>``,
``[INST]``), or a part of the prompt's form (a code fence, a heading, a list). The characters that
make it look so are replaced by similar ones: the colon of a label becomes a dash, the brackets of a
mark become round. Any other text is unchanged. Labels are the texts before a colon in lines of the
prompt entries, with any values in place of expressions. Case, spaces, ``#``, emphasis, accents, and
the width of characters are ignored in the search for labels.
"""

from __future__ import annotations

import hashlib
import re
import string
import sys
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import StrictUndefined, Template, TemplateSyntaxError, pass_context
from jinja2.meta import find_undeclared_variables
from jinja2.nodes import Name, Output
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sabm_mesa.core.answers import AnswerSpec, Format, InvalidAnswer, OptionOrder
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.messages import is_said
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import PromptError, UnknownName, about, one_line

NO_PERSONA = "none"
_TABLES = ("prompts", "conditions", "variants", "personas", "answers")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
ROLES = (
    "system", "assistant", "user", "human", "developer", "tool", "function", "instruction",
    "instructions", "prompt",
)  # fmt: skip
"""Names of the speakers in chats."""
_LONGEST_LABEL = 10
"""The maximum number of words of a label; more words before a colon are a sentence."""
_EXPRESSION = re.compile(r"\{\{.*?\}\}")
"""An expression of a template."""
_TEXT = re.compile(r"\btext\b")
"""The name of what is said, in an expression."""
_CONTROL = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
"""The statements and comments of a template."""
_MOST_FORMS = 1000
"""The maximum number of forms of answers that are kept."""
_MARKED = re.compile(r"\{[{%#]")
"""The beginning of anything in a template but text."""
_BETWEEN = r"[\W_]*"
"""Pattern of the characters between the words of a label."""
_BEFORE = r"(?:[\s#]+|(?=\d))"
"""Pattern of the characters before the place of an expression."""
_PLACE = r"[^\s:]+(?:\s[^\s:]+){0,2}"
"""Pattern of the value of an expression: up to three words."""
_COLON = r"[\s\"'*_`~)\]}>\u2019\u201d\u00bb]*?(?P<colon>\s*:[:\s]*)"
"""The colon of a label, and what may come before it."""
_MARK = "|".join((*ROLES, "inst", "sys", "tools", "available_tools", "tool_calls", "tool_results"))
_TAG = r"[/|!?]*\s*[a-z][\w|:.\-]*(?:\s+[\w\-]+\s*=[^<>]*)?\s*[/|?]*\s*"
_MARKS = (
    # patterns; the name of a group selects its replacement
    re.compile(rf"(?P<open><+)\s*{_TAG}(?P<close>>+)"),
    re.compile(rf"(?P<open>\[)\s*/?\s*(?:{_MARK})\s*(?P<close>\])"),
    re.compile(r"(?P<open><+)(?=\||/\D)"),
    re.compile(r"(?<=\|)(?P<close>>+)"),
    re.compile(r"(?P<fence>`{3,}|~{3,})"),
    re.compile(r"(?P<hash>#{2,})"),
    re.compile(r"\A(?P<nothing>(?:[-*+\u2022>#]\s+)+)(?=\S)"),
)
_INSTEAD = {
    "colon": " - ", "open": "(", "close": ")", "fence": "'''", "hash": "#", "nothing": "",
}  # fmt: skip


class PromptBook:
    """The prompt entries of runs: one scenario, condition and variant.

    Args:
        source: the path of the scenario's prompt file, or the prompts of its class.
        condition: its entries replace those of ``[prompts]``, and those of the variant.
        variant: the wording; its entries replace those of ``[prompts]``.
        overrides: a user's prompt file, or None.
        option_order: as of `SmartModel`.

    Attributes:
        entries: entry → template.
        conditions, variants: their names.
        rendered: the questions of the run so far.

    Raises:
        UnknownName: for a condition or variant that does not exist.
        PromptError: for a file that cannot be read or has unknown or missing placeholders.
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, Any],
        condition: str = "baseline",
        variant: str = "default",
        overrides: str | Path | None = None,
        option_order: OptionOrder = "given",
    ) -> None:
        self.option_order = option_order
        self.rendered: set[str] = set()
        book = merge(load_builtin("answers"), load_builtin("personas"), load(source))
        if overrides is not None:
            with about("prompts"):
                changed = load(overrides)
                check_overrides(book, changed, str(overrides))
            book = merge(book, changed)
        self.conditions = ("baseline", *(c for c in book["conditions"] if c != "baseline"))
        self.variants = ("default", *(v for v in book["variants"] if v != "default"))
        if condition not in self.conditions:
            raise UnknownName("condition", condition, self.conditions, parameter="condition")
        if variant not in self.variants:
            raise UnknownName("prompt variant", variant, self.variants, parameter="variant")
        self.entries: Mapping[str, str] = {
            **{name: text for name, text in book["answers"].items() if isinstance(text, str)},
            **{f"reason_{code}": text for code, text in book["answers"]["reasons"].items()},
            **book["prompts"],
            **book["variants"].get(variant, {}),
            **book["conditions"].get(condition, {}),
        }
        self._personas: Mapping[str, str] = book["personas"]

    @classmethod
    def recorded(
        cls,
        entries: Mapping[str, str],
        personas: Mapping[str, str],
        condition: str,
        variant: str,
        option_order: OptionOrder,
    ) -> PromptBook:
        """The book of a recorded run: its entries, and the personas it used."""
        book = cls.__new__(cls)
        book.conditions, book.variants = (condition,), (variant,)
        book.rendered = set()
        book.entries = dict(entries)
        book.personas = {NO_PERSONA: "", **personas}
        book.option_order = option_order
        return book

    def render(self, entry: str, values: Mapping[str, Any]) -> str:
        """Fill one entry; names that are not among the values are those of other entries.

        Raises:
            PromptError: for an unknown entry, an unknown name, or a template that fails.
        """
        if entry not in self.entries:
            raise PromptError(f"There is no prompt entry {entry!r}; the prompts need it.")
        return self._filled(entry, self.entries[entry], values)

    def _filled(self, entry: str, text: str, values: Mapping[str, Any]) -> str:
        if not _MARKED.search(text):
            return _tidy(text)
        with _about_entry(entry):
            template, names = _compiled(text)
            shown = {}
            for name in names:
                if name in values:
                    shown[name] = values[name]
                elif name in self.entries and name != entry:
                    shown[name] = self.render(name, values)
                else:
                    raise PromptError(
                        f"The prompt entry {entry!r} uses the placeholder {{{{ {name} }}}}, which "
                        f"is unknown there. Known: {', '.join(sorted(values))}. A fact is passed "
                        f"with each question that shows it: self.ask(…, {name}=…)."
                    )
            return _tidy(template.render(shown, _quote=self.quote))

    def facts_of(self, entry: str) -> list[str]:
        """The names of the facts that an entry shows, also through other entries."""
        return sorted(_reached(entry, self.entries) - self.entries.keys() - {"form"})

    @property
    def questions(self) -> list[str]:
        """The entries that ask for an answer."""
        return [e for e, text in self.entries.items() if e != "again" and "form" in names_in(text)]

    def quote(self, text: str, names: Sequence[str] = ()) -> str:
        """A mind's text for others, without labels of speakers and marks of prompts.

        Scenarios pass every text of a mind that they show in a prompt through it; see "Quoting" in
        `sabm_mesa.core.prompts`. The `names` are those of speakers that no entry has.
        """
        return quoted(text, self._labels, tuple(names))

    def shown(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Name → value for templates: the facts, with all that minds said in quotable form.

        The texts in the fact ``names`` are names of speakers.
        """
        names = tuple(facts["names"]) if "names" in facts else ()

        def quoted(value: Any) -> Any:
            if is_said(value):
                is_own = getattr(value, "own", False)
                return value if is_own else replace(value, text=self.quote(value.text, names))
            if isinstance(value, tuple):
                return [quoted(item) for item in value]
            if isinstance(value, dict | Facts):
                return {name: quoted(value[name]) for name in value}
            return value

        return {
            **{name: quoted(value) for name, value in facts.items()},
            "persona": self.persona(facts["persona"]),
            "memory": self.recalled(facts["memory"]),
        }

    def as_shown(self, spec: AnswerSpec) -> AnswerSpec:
        """A spec with its options in the order of display."""
        return spec.with_options_reversed() if self.option_order == "reversed" else spec

    def recalled(self, memory: Sequence[Any]) -> str:
        """The memories of an agent, one per line, for ``{{ memory }}``.

        They are texts, or objects with a ``text``. All are quoted, except words of the scenario (a
        true ``own``).
        """
        lines = []
        for entry in memory:
            text = entry if isinstance(entry, str) else entry.text
            is_own = getattr(entry, "own", False)
            lines.append(
                self.render("recalled_line", {"text": text if is_own else self.quote(text)})
            )
        return "\n".join(lines) or self.entries["recalled_nothing"]

    @cached_property
    def _labels(self) -> str:
        return labels_of(self.entries)

    @cached_property
    def personas(self) -> Mapping[str, str]:
        """Persona → text."""
        texts = self._personas.items()
        return {NO_PERSONA: "", **{n: self._filled(f"persona {n}", t, {}) for n, t in texts}}

    def persona(self, name: str) -> str:
        """The text of a persona.

        Raises:
            UnknownName: for a persona that does not exist.
        """
        if name == NO_PERSONA:
            return ""
        if name in self.personas:
            return self.personas[name]
        raise UnknownName("persona", name, self.personas, parameter="personas")

    def form(self, spec: AnswerSpec, answer_format: Format, *, alone: bool = False) -> str:
        """The instructions on the form of an answer, `alone` without the reasoning of the spec."""
        key = self.as_shown(spec), answer_format, alone
        if key not in self._forms:
            if len(self._forms) >= _MOST_FORMS:  # of specs whose limits change from ask to ask
                self._forms.clear()
            self._forms[key] = self._written_form(*key)
        return self._forms[key]

    @cached_property
    def _forms(self) -> dict[tuple[AnswerSpec, Format, bool], str]:
        return {}

    def _written_form(self, spec: AnswerSpec, answer_format: Format, alone: bool) -> str:
        kind, values = spec.kind, spec.placeholders()
        form: str = "json" if kind == "object" else answer_format
        if "number" in values:
            values["number"] = self.render(values["number"], values)
        reasoned = ""
        if spec.reasoning and not alone:
            entry = f"reasoning_{spec.reasoning.kind}_{form}"
            values["reasoning"] = self.render(entry, {"reasoning_words": spec.reasoning.max_words})
            reasoned = "_reasoned"
        entry = f"{kind}{reasoned}_{form}"
        if form == "labelled" and entry not in self.entries:
            entry = f"{kind}{reasoned}_paper"
        silence = f" {self.render('text_optional', values)}" if "silence" in values else ""
        return self.render(entry, values) + silence

    def reason(self, problem: InvalidAnswer) -> str:
        """The reason why an answer was unusable, in words; for a part, with its name."""
        inner = {
            name: self.reason(value) if isinstance(value, InvalidAnswer) else value
            for name, value in problem.fields.items()
        }
        return self.render(f"reason_{problem.code}", inner)

    def hashes(self) -> dict[str, str]:
        """Entry → the first 12 hexadecimal digits of its SHA-256."""
        return {name: _digest(text) for name, text in sorted(self.entries.items())}

    def with_hashes(self, personas: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Entry → (hash, text), with the personas in use as entries ``persona NAME``."""
        used = {f"persona {name}": self.persona(name) for name in sorted(personas)}
        return {name: (_digest(text), text) for name, text in {**self.entries, **used}.items()}

    def digest(self, personas: Iterable[str] | None = None) -> str:
        """One hash over all entries, and over the personas in use (None: all)."""
        used = self.personas if personas is None else personas
        texts = sorted((name, self.persona(name)) for name in used)
        return _digest(repr((sorted(self.entries.items()), texts)))


# Prompt files


def beside(path: str | Path, owner: type) -> str | Path:
    """The path of a file that a class names: relative paths start at the folder of its module.

    Returns:
        The path of the file in that folder; `path` itself when there is no such file.
    """
    module = getattr(sys.modules.get(owner.__module__), "__file__", None)
    if module is None or Path(path).is_absolute():
        return path
    there = Path(module).resolve().parent / path
    return there if there.is_file() else path


@cache
def load_builtin(name: str) -> dict[str, Any]:
    """Read texts that all scenarios share: ``"answers"`` or ``"personas"``."""
    text = files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return _tables(tomllib.loads(text), name)


def load(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Read a prompt file, or the prompts of a class: entries, and tables by their names.

    The tables of ``wordings.toml`` beside a ``prompts.toml`` are among its variants.

    Raises:
        PromptError: when it cannot be read or has unknown tables.
    """
    if isinstance(source, Mapping):
        tables = {name: source[name] for name in _TABLES if name in source}
        entries = {name: text for name, text in source.items() if name not in tables}
        _check_text(entries, "prompts")
        return _tables({**tables, "prompts": entries}, "prompts")
    if not isinstance(source, str | Path):
        raise PromptError(f"A prompt file is given by its path, not as {source!r}.")
    book = _tables(_read_table(source), str(source))
    wordings = Path(source).with_name("wordings.toml")
    if Path(source).name == "prompts.toml" and wordings.is_file():
        return {**book, "variants": merge(book["variants"], _read_table(wordings))}
    return book


def _read_table(path: str | Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        changed = Path(path).stat()
        return _unchanged(str(path), changed.st_mtime_ns, changed.st_size)
    return _unchanged(str(path))  # which says what is wrong


@lru_cache(maxsize=64)  # each model of a scenario has a book
def _unchanged(path: str, *_changed: int) -> dict[str, Any]:
    return read_toml(path, "prompt file", PromptError)


def _tables(raw: dict[str, Any], source: str) -> dict[str, Any]:
    if unknown := sorted(set(raw) - set(_TABLES)):
        raise PromptError(f"{source}: unknown table [{unknown[0]}]; known: {', '.join(_TABLES)}.")
    return {table: mapping(raw.get(table, {}), f"{source} [{table}]") for table in _TABLES}


def merge(*books: Mapping[str, Any]) -> dict[str, Any]:
    """Merge tables; of two entries with one name, the later one wins."""
    merged: dict[str, Any] = {}
    for book in books:
        for name, value in book.items():
            both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
            merged[name] = merge(merged[name], value) if both else value
    return merged


def check_overrides(book: Mapping[str, Any], overrides: Mapping[str, Any], source: str) -> None:
    """Check a user's file against the built-in entries.

    An entry may use what the replaced one uses, also through other entries. One of ``[prompts]`` or
    ``[answers]`` must show every fact that the replaced one shows; a condition or variant may leave
    some out.

    Raises:
        PromptError: naming the entry and the unknown or missing placeholder.
    """
    known: dict[str, str] = book["prompts"]
    reasons, where = book["answers"]["reasons"], f"{source} [answers.reasons]"
    _check_table(book["answers"], overrides["answers"], f"{source} [answers]", exact=True)
    _check_table(
        reasons, mapping(overrides["answers"].get("reasons", {}), where), where, exact=True
    )
    _check_table(known, overrides["prompts"], f"{source} [prompts]", exact=True)
    for table in ("conditions", "variants"):
        for name, entries in overrides[table].items():
            where = f"{source} [{table}.{name}]"
            usable = {**known, **book[table].get(name, {})}
            _check_table(usable, mapping(entries, where), where, exact=False)
    _check_text(overrides["personas"], f"{source} [personas]")


def mapping(entries: Any, where: str) -> Mapping[str, Any]:
    """The entries of a table.

    Raises:
        PromptError: when it is not a table.
    """
    if not isinstance(entries, Mapping):
        raise PromptError(f"{where} must be a table of entries.")
    return entries


def _check_text(entries: Mapping[str, Any], where: str) -> None:
    for name, text in entries.items():
        if not isinstance(text, str):
            raise PromptError(f"{where}: {name!r} must be a text.")


def _check_table(
    known: Mapping[str, Any], overrides: Mapping[str, Any], where: str, *, exact: bool
) -> None:
    texts = {
        name: text for name, text in overrides.items() if not isinstance(known.get(name), Mapping)
    }
    _check_text(texts, where)
    for name, text in texts.items():
        if name not in known:
            raise PromptError(
                f"{where}: unknown entry {name!r}; known: {', '.join(sorted(known))}."
            )
        used, expected = names_in(text), _reached(name, known)
        if extra := used - expected:
            raise PromptError(
                f"{where}: {name!r} has the unknown {_braced(extra)}; known: {_braced(expected)}."
            )
        if exact and (missing := _shown_in(known[name]) - used - known.keys()):
            raise PromptError(f"{where}: {name!r} lacks {_braced(missing)}.")


# Templates

_TEMPLATES = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)
_TEMPLATES.filters["quote"] = pass_context(
    lambda context, text, names=(): context["_quote"](text, names)
)
_TEMPLATES.filters["money"] = lambda amount: f"{amount:.2f}".removesuffix(".00")


DIGITS, DECIMALS = 6, 9
"""Significant digits of the filter ``number``, and its maximum number of decimals."""
SMALLEST = 1e-4
"""Numbers below it would be written with an exponent."""


@lru_cache(maxsize=10_000)  # a prompt may show all numbers of all rounds
def shown_number(number: float, digits: int = DIGITS) -> str:
    """A number in a prompt: few digits, never an exponent or a negative zero."""
    if abs(number) >= 10**digits - 0.5:
        return f"{number:.0f}"
    if abs(number) >= SMALLEST:
        return f"{number:.{digits}g}"
    return np.format_float_positional(
        round(number, DECIMALS) + 0.0, precision=digits, unique=False, fractional=False, trim="-"
    )


_TEMPLATES.filters["number"] = shown_number


@lru_cache(maxsize=4096)
def _compiled(text: str) -> tuple[Template, tuple[str, ...]]:
    """A template, and the names that it takes from outside."""
    parsed = _TEMPLATES.parse(text)
    # Jinja counts what is set in a branch as taken from outside.
    own = {node.name for node in parsed.find_all(Name) if node.ctx == "store"}
    names = find_undeclared_variables(parsed) - own
    return _TEMPLATES.from_string(text), tuple(sorted(names))


def names_in(text: str) -> set[str]:
    """The names that a template takes from outside.

    Raises:
        PromptError: for a text that is not a template.
    """
    if not _MARKED.search(text):
        return set()
    with _about_entry(None):
        return set(_compiled(text)[1])


def _reached(entry: str, entries: Mapping[str, Any]) -> set[str]:
    """The names that an entry takes from outside, and those of the entries that it shows."""
    names: set[str] = set()
    found = {entry}
    while found:
        names |= found
        found = set().union(*(names_in(entries[name]) for name in found & entries.keys())) - names
    return names - {entry}


def _shown_in(text: str) -> set[str]:
    """The names that a template shows as they are: ``{{ name }}``."""
    shown = (output.nodes for output in _TEMPLATES.parse(text).find_all(Output))
    return {node.name for nodes in shown for node in nodes if isinstance(node, Name)}


@contextmanager
def _about_entry(name: str | None) -> Iterator[None]:
    """Raise the errors of a template as a `PromptError` in one line."""
    where = "A prompt" if name is None else f"The prompt entry {name!r}"
    try:
        yield
    except TemplateSyntaxError as error:
        raise PromptError(
            f"{where} is not a template of Jinja, line {error.lineno}: {one_line(str(error))}."
        ) from None
    except PromptError:
        raise
    except RecursionError:
        raise PromptError(f"{where} shows itself.") from None
    except Exception as error:  # noqa: BLE001 - a template is a program
        raise PromptError(f"{where} cannot be rendered: {one_line(str(error))}.") from None


def parse(text: str) -> tuple[tuple[str, str | None], ...]:
    """The pieces of a text with names in single braces: a literal text and the name, or None.

    Raises:
        PromptError: for unbalanced braces or a placeholder that is not a plain name.
    """
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise PromptError(f"A text has unbalanced braces ({error}): {text[:60]!r}.") from None
    for _, name, form, conversion in pieces:
        if name is not None and (form or conversion or not name.isidentifier()):
            placeholder = (
                name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            )
            raise PromptError(
                f"A placeholder must be a name in braces, not {{{placeholder}}}: {text[:60]!r}."
            )
    return tuple((literal, name) for literal, name, _, _ in pieces)


def _tidy(text: str) -> str:
    """A rendered text without surrounding spaces and repeated blank lines."""
    return _BLANK_LINES.sub("\n\n", text).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _braced(names: Iterable[str]) -> str:
    return "placeholder " + (", ".join(f"{{{{ {name} }}}}" for name in sorted(names)) or "(none)")


# Quoting


def labels_of(entries: Mapping[str, str]) -> str:
    """The regular expression that finds the labels of prompt entries in a folded text.

    Entries named ``classical_…`` are messages of classical minds.
    """
    roles = {*ROLES, *(f"{role}{_BETWEEN}(?:prompt|message)" for role in ROLES)}
    templates = [text for name, text in entries.items() if not name.startswith("classical_")]
    labels = roles.union(*map(_labels, templates))
    return "|".join(sorted(labels, key=lambda label: (-len(label), label)))


@lru_cache(maxsize=8192)  # each message enters many prompts
def quoted(text: str, labels: str, names: tuple[str, ...] = ()) -> str:
    """A text on one line without labels (of `labels_of`, and names of speakers) and marks."""
    pattern = _pattern(labels, names)
    text = one_line(text)
    while (changed := _replaced(text, pattern)) != text:
        text = changed  # the removed text may have separated the parts of a label
    return text


def _replaced(text: str, labels: re.Pattern[str]) -> str:
    seen, places = _folded(text)
    for pattern in (labels, *_MARKS):
        all_found = list(pattern.finditer(seen))
        for match in reversed(all_found):
            for name in sorted(match.groupdict(), key=match.start, reverse=True):
                start, end = match.span(name)
                after = places[end - 1] + 1
                text = text[: places[start]] + _INSTEAD[name] + text[after:]
        if all_found:
            text = one_line(text)
            seen, places = _folded(text)
    return text


def _pattern(labels: str, names: tuple[str, ...]) -> re.Pattern[str]:
    named = [rf"{words}(?:\s[^\s:]+)?" for words in map(_words, names) if words]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join([*named, labels])}){_COLON}")


def _labels(template: str) -> Iterable[str]:
    """The labels of an entry: the text before the first colon of each of its lines."""
    for line in _CONTROL.sub("", template).splitlines():
        label, colon, after = line.partition(":")
        if not colon or (after and not after[0].isspace()):
            continue
        parts = [_words(part) for part in _EXPRESSION.split(label)]
        if not any(parts):
            # Nothing but a placeholder stands before what is said: any word may be a speaker.
            if len(parts) > 1 and any(map(_TEXT.search, _EXPRESSION.findall(after))):
                yield r"[^\s:]+"
        elif len(re.findall(r"\w+", label)) <= _LONGEST_LABEL:
            first = next(i for i, part in enumerate(parts) if part)
            places = (
                rf"{_BEFORE}{_PLACE}" + (part and rf"\s{part}") for part in parts[first + 1 :]
            )
            yield parts[first] + "".join(places)


def _words(text: str) -> str:
    """The words of a text as a pattern, with any characters between them."""
    return _BETWEEN.join(map(re.escape, re.findall(r"\w+", _folded(text)[0])))


def _folded(text: str) -> tuple[str, range | list[int]]:
    """A text as a reader sees it, in small Latin letters; each character's position in `text`."""
    if text.isascii():
        return text.lower(), range(len(text))
    signs, places = [], []
    for i, sign in enumerate(text):
        for part in unicodedata.normalize("NFKD", sign).casefold():
            if not unicodedata.category(part).startswith("M"):
                signs.append(part)
                places.append(i)
    return "".join(signs), places
