"""Write paper/paper.md with its bibliography and figures as one HTML page, for `make paper`.

The journal makes its PDF from the same files. This script fills in the citations, the figure labels
and the list of references, so that the draft can be read without pandoc.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sabm_mesa.studies.page import html_page

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper" / "paper.md"
OUT = ROOT / "paper" / "paper.html"
_ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)^\}$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
_CITED = re.compile(r"\[(@\w+(?:; @\w+)*)\]|(?<!\w)@(\w+)")
_FIGURE = re.compile(
    r"^!\[(?P<caption>.*)\\label\{(?P<label>[^}]+)\}\]\((?P<file>[^)]+)\)$", re.MULTILINE
)


def bibliography(path: Path) -> dict[str, dict[str, str]]:
    """Return key → fields of the entries of a BibTeX file with one field per line."""
    return {m[1]: dict(_FIELD.findall(m[2])) for m in _ENTRY.finditer(path.read_text("utf-8"))}


def named(work: dict[str, str]) -> str:
    """Return the name of a work in the text: its authors, or its title."""
    surnames = [name.partition(",")[0] for name in work.get("author", "").split(" and ")]
    if len(surnames) > 2:
        return f"{surnames[0]} et al."
    return " and ".join(surnames) if surnames[0] else work["title"]


def reference(work: dict[str, str]) -> str:
    """Return an entry of the list of references, in Markdown."""
    year = f" ({work['year']})" if "year" in work else ""
    place = next((work[k] for k in ("journal", "booktitle", "howpublished") if k in work), "")
    number = f" {work['volume']}" if "volume" in work else ""
    pages = f", {work['pages'].replace('-', '–')}" if "pages" in work else ""
    where = f" *{place}*{number}{pages}." if place else ""
    addresses = {"doi": "https://doi.org/", "eprint": "https://arxiv.org/abs/", "url": ""}
    links = "".join(f" <{start}{work[k]}>" for k, start in addresses.items() if k in work)
    who = f"{work['author'].replace(' and ', '; ')}{year}. " if "author" in work else ""
    end = "" if work["title"][-1] in "?." else "."
    return f"{who}{work['title']}{end}{where}{links}"


def paper(path: Path = PAPER) -> str:
    """Return the paper as one HTML page.

    Args:
        path: the paper, in the folder of its bibliography and figures.

    Raises:
        KeyError: when the paper cites a missing work, or refers to a missing figure.
    """
    _, head, body = path.read_text("utf-8").split("---\n", 2)
    works = bibliography(path.with_name(re.search(r"^bibliography: (.*)$", head, re.MULTILINE)[1]))
    title = re.search(r'^title: "(.*)"$', head, re.MULTILINE)[1]
    authors = ", ".join(re.findall(r"^  - name: (.*)$", head, re.MULTILINE))
    figures = {match["label"]: n for n, match in enumerate(_FIGURE.finditer(body), 1)}
    pictures = {m["file"]: path.with_name(m["file"]).read_bytes() for m in _FIGURE.finditer(body)}

    def cited(match: re.Match[str]) -> str:
        keys = re.findall(r"\w+", match[1] or match[2])
        if match[2]:
            year = works[keys[0]].get("year")
            return named(works[keys[0]]) + (f" ({year})" if year else "")
        parts = (" ".join(filter(None, (named(works[k]), works[k].get("year")))) for k in keys)
        return f"({'; '.join(parts)})"

    def drawn(match: re.Match[str]) -> str:
        number = figures[match["label"]]
        return (
            f"![Figure {number}](picture:{match['file']})\n\n*Figure {number}.* {match['caption']}"
        )

    text = _FIGURE.sub(drawn, body)
    text = re.sub(r"\\autoref\{([^}]+)\}", lambda match: f"Figure {figures[match[1]]}", text)
    text = _CITED.sub(cited, text)
    listed = "\n".join(f"- {reference(work)}" for work in works.values())
    text = re.sub(r"^# ", "## ", text, flags=re.MULTILINE)
    return html_page(title, f"# {title}\n\n{authors}\n{text}\n{listed}\n", pictures)


if __name__ == "__main__":
    OUT.write_text(paper(), "utf-8")
    sys.stdout.write(f"{OUT.relative_to(ROOT)}\n")
