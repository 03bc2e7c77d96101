"""The paper and the metadata of the archive, beside the citation file and the project file."""

import json
import re
import tomllib

import pytest

from tests.test_repository import ROOT

pytestmark = pytest.mark.check_once


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def scalar(block: str, key: str) -> str:
    """The value of a key of YAML, without quotes."""
    line = re.search(rf"^{key}: (.*)$", block, re.MULTILINE)
    assert line is not None, key
    return line[1].strip('"')


def listed(block: str, key: str, item: str = "  - (.*)") -> list[str]:
    """The items of a list of YAML."""
    lines = re.search(rf"^{key}:\n((?:  .*\n)+)", block, re.MULTILINE)
    assert lines is not None, key
    return re.findall(f"^{item}$", lines[1], re.MULTILINE)


def entries(name: str) -> dict[str, str]:
    """Key → entry of a BibTeX file."""
    return {
        entry[2]: entry[0]
        for entry in re.finditer(r"^@(\w+)\{(\w+),\n.*?^\}$", text(name), re.DOTALL | re.MULTILINE)
    }


def test_titles_authors_versions_and_licences_agree() -> None:
    citation, archive = text("CITATION.cff"), json.loads(text(".zenodo.json"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    head = text("paper/paper.md").split("---\n")[1]
    abstract = re.search(r"^abstract: >-\n((?:  .*\n)+)", citation, re.MULTILINE)

    assert abstract is not None
    assert archive["title"] == scalar(citation, "title") == scalar(head, "title")
    assert archive["version"] == scalar(citation, "version") == project["version"]
    assert archive["license"] == scalar(citation, "license") == project["license"]
    assert archive["description"] == " ".join(abstract[1].split())
    names = listed(citation, "authors", "  - name: (.*)")
    assert names == [person["name"] for person in archive["creators"]]
    assert names == [person["name"] for person in project["authors"]]
    assert names == listed(head, "authors", "  - name: (.*)")
    assert archive["keywords"] == listed(citation, "keywords") == project["keywords"]
    (study,) = archive["related_identifiers"]
    assert f"    doi: {study['identifier']}\n" in citation


def test_the_paper_cites_what_its_bibliography_has() -> None:
    paper, docs = entries("paper/paper.bib"), entries("docs/references.bib")
    body = text("paper/paper.md").split("---\n", 2)[2]

    assert set(re.findall(r"@(\w+)", body)) == set(paper)
    shared = paper.keys() & docs.keys()
    assert {key: paper[key] for key in shared} == {key: docs[key] for key in shared}
    assert {"wu2024", "piatti2024"} <= shared


def test_the_paper_has_its_sections_and_its_figure() -> None:
    body = text("paper/paper.md").split("---\n", 2)[2]
    sections = re.findall(r"^# (.*)$", body, re.MULTILINE)

    assert {"Summary", "Statement of need", "State of the field", "References"} <= set(sections)
    assert 250 <= len(body.split()) <= 1000  # the journal's limits
    for figure in re.findall(r"\]\(([^)]*\.png)\)", body):
        assert (ROOT / "paper" / figure).read_bytes().startswith(b"\x89PNG")
