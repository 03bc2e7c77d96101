"""The page that sets the facts of the published prompts beside ours."""

from __future__ import annotations

import re
from pathlib import Path

from sabm_mesa.core.prompts import load, load_builtin
from sabm_mesa.models.registry import scenario

PAGE = Path(__file__).parents[2] / "paper" / "published-prompts.md"
SCENARIOS = {
    "Keynesian beauty contest": ("kbc",),
    "Bertrand competition": ("bertrand",),
    "Emergency evacuation": ("evacuation",),
    "Repeated beauty contest": ("beauty-contest",),
    "Commons": ("fishery",),
    "Free-formed collectives": ("cocktail-party", "sentence-making", "public-goods"),
}
PRINTED = {
    "Keynesian beauty contest": range(1, 10),
    "Bertrand competition": range(10, 14),
    "Emergency evacuation": range(14, 23),
}
"""Numbers of the printed prompts of Wu et al. 2024."""


def rows() -> dict[str, list[list[str]]]:
    """Heading → the rows of its table, below its head."""
    found: dict[str, list[list[str]]] = {}
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        found[section.splitlines()[0]] = cells[1:]
    return found


def names_in(heading: str, entry: str) -> set[str]:
    """Names that an entry of a row may have: entries, variants, personas, parameters."""
    named = re.search(r"\(([\w-]+)\)", entry)
    known: set[str] = set(load_builtin("answers")["answers"])
    for name in [named[1]] if named else SCENARIOS[heading]:
        model = scenario(name)
        book = load(model.prompt_file)
        known |= {*book["prompts"], *book["personas"], "persona", *model.changeable}
        known |= {*book["conditions"], *book["variants"], "exam.toml"}
    return known


def test_every_row_says_whether_the_fact_is_stated_and_where() -> None:
    for heading, table in rows().items():
        assert heading in SCENARIOS
        for published, fact, ours, entry in table:
            assert ours in {"stated", "left out", "more"}, fact
            assert (ours == "more") == (published == "–"), fact
            names = {name.partition("=")[0] for name in re.findall(r"`([^`]+)`", entry)}
            assert names <= names_in(heading, entry), fact
            assert names or ours == "left out", fact


def test_every_printed_prompt_has_its_rows() -> None:
    for heading, numbers in PRINTED.items():
        numbered = {int(n) for row in rows()[heading] for n in re.findall(r"\d+", row[0])}
        assert numbered == set(numbers)
    assert set(rows()) == set(SCENARIOS)
