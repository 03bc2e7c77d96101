"""The sources that texts name as "Nagel 1995", and the bibliography that they resolve in."""

from __future__ import annotations

import ast
import calendar
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIBLIOGRAPHY = ROOT / "docs" / "references.bib"

_NAME = r"[A-ZÀ-Þ][\w'-]*[a-zà-ÿ]"
MENTION = re.compile(
    rf"\b(?P<first>{_NAME})"
    rf"(?P<others>(?:,\s+{_NAME})*,?\s+(?:and|&)\s+{_NAME}|\s+et\s+al\.)?"
    r",?\s+\(?(?P<year>(?:18|19|20)\d\d)\b"
)
"""An author, or several, and a year: "Nagel (1995)", "Mann and Whitney 1947", "Wu et al. 2024"."""

NO_AUTHORS = frozenset(calendar.month_name)
_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Work:
    """An entry of the bibliography.

    Attributes:
        key: its key, such as ``nagel1995``.
        fields: name of a field → text, as in the file.
    """

    key: str
    fields: dict[str, str]

    @property
    def authors(self) -> list[tuple[str, str]]:
        """Surname and given names of each author."""
        names = (name.partition(", ") for name in self.fields["author"].split(" and "))
        return [(surname, given) for surname, _, given in names]

    @property
    def surnames(self) -> list[str]:
        """The surnames in the order of the authors."""
        return [surname for surname, _ in self.authors]

    def is_named_by(self, mention: re.Match[str]) -> bool:
        """Whether a match of `MENTION` names this work."""
        first = self.surnames[0].split()[-1]  # "Dal Bó" is found as "Bó"
        if mention["year"] != self.fields["year"] or mention["first"] != first:
            return False
        if mention["others"] is None:
            return len(self.authors) == 1
        if "et" in mention["others"].split():
            return len(self.authors) > 2
        return re.findall(_NAME, mention["others"]) == self.surnames[1:]

    def reference(self) -> str:
        """The reference in Markdown, for a list of references."""
        names = [
            f"{surname}, {given}" if given else "and others" for surname, given in self.authors
        ]
        parts = [
            f"{'; '.join(names)} ({self.fields['year']})",
            f"*{self.fields['title']}*" if "publisher" in self.fields else self.fields["title"],
            _where(self.fields),
            self.fields.get("note", ""),
        ]
        for field, prefix in (("doi", "https://doi.org/"), ("eprint", "https://arxiv.org/abs/")):
            if field in self.fields:
                label = f"{'arXiv' if field == 'eprint' else field}:{self.fields[field]}"
                parts.append(f"[{label}]({prefix}{self.fields[field]})")
        return " ".join(part if part[-1] in "?." else f"{part}." for part in parts if part)


def _where(fields: dict[str, str]) -> str:
    """The place of publication of a work, in Markdown."""
    if "booktitle" in fields:
        where = f"In: *{fields['booktitle']}*"
    elif "journal" in fields:
        where = f"*{fields['journal']}*"
    else:
        return fields.get("publisher") or fields.get("howpublished", "")
    where += f" {fields['volume']}" if "volume" in fields else ""
    where += f"({fields['number']})" if "number" in fields else ""
    return where + (f", {fields['pages'].replace('-', '–')}" if "pages" in fields else "")


@cache
def works(path: Path = BIBLIOGRAPHY) -> list[Work]:
    """The bibliography, ordered by surnames and year.

    Args:
        path: a BibTeX file with one field a line.

    Raises:
        ValueError: when an entry cannot be read, or a key is there twice.
    """
    text = path.read_text("utf-8").replace(r"\&", "&")
    entries = [Work(m[2], dict(_FIELD.findall(m[3]))) for m in _ENTRY.finditer(text)]
    if len(entries) != text.count("@") or len({work.key for work in entries}) != len(entries):
        raise ValueError(f"{path}: an entry cannot be read, or a key is there twice.")
    return sorted(entries, key=lambda work: (_sortable(work.surnames), work.fields["year"]))


def _sortable(surnames: list[str]) -> list[str]:
    """Surnames without accents."""
    plain = (unicodedata.normalize("NFD", surname) for surname in surnames)
    return ["".join(sign for sign in name if sign.isascii()) for name in plain]


def resolve(mention: re.Match[str], bibliography: list[Work]) -> Work | None:
    """The work that a match of `MENTION` names; None when the bibliography has none."""
    return next((work for work in bibliography if work.is_named_by(mention)), None)


def mentions(text: str) -> Iterator[re.Match[str]]:
    """The sources that a text names; months with a year are none."""
    return (m for m in MENTION.finditer(text) if m["first"] not in NO_AUTHORS)


def texts(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Every text of the package that can name sources.

    Yields:
        Its place, relative to `root`, and the text: each string of a Python module, and of
        each TOML file and template the whole, but for the list of references.
    """
    for path in sorted((root / "sabm_mesa").rglob("*")):
        where = path.relative_to(root).as_posix()
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield where, node.value
        elif path.suffix in {".toml", ".jinja"} and path.name != "references.toml":
            yield where, path.read_text("utf-8")
