"""Descriptions as text and as Markdown: blocks, lines, and the parts that depend on the subject."""

from __future__ import annotations

from typing import Any

import pytest

from sabm_mesa import __version__
from sabm_mesa.describe import as_markdown, as_text
from sabm_mesa.describe.rendering import WIDTH, code, markdown, plain, table

from .support import described, words

ROWS = [["column", "meaning", "more"], ["a", "of  a", ""], ["b", "x | y", "z"]]


def kbc() -> dict[str, Any]:
    """The description of the beauty contest."""
    return described("kbc")


@pytest.mark.parametrize(
    ("block", "as_plain", "in_markdown"),
    [
        ("One.\n\nTwo.", "One.\n\nTwo.", "One.\n\nTwo."),
        ({"a": "of\na", "b": ""}, "  a: of a\n  b", "- `a`: of a\n- `b`"),
        (["First,\nthen.", "Last."], "  1. First, then.\n  2. Last.", "1. First, then.\n2. Last."),
        (
            ROWS,
            "  a: of a\n  b: x | y · z",
            "\n".join(
                [
                    "| column | meaning | more |",
                    "| --- | --- | --- |",
                    "| `a` | of a |  |",
                    "| `b` | x \\| y | z |",
                ]
            ),
        ),
        ({}, "", ""),
    ],
)
def test_a_block_of_each_kind(block: Any, as_plain: str, in_markdown: str) -> None:
    assert plain(block) == as_plain
    assert markdown(block) == in_markdown


def test_a_table_of_its_head_alone() -> None:
    assert table([["a", "b"]]) == "| a | b |\n| --- | --- |"
    assert plain([["a", "b"]]) == ""


def test_long_lines_are_wrapped_between_words_and_never_within_them() -> None:
    lines = plain("word " * 60).split("\n")
    assert len(lines) == 3
    assert WIDTH - 5 <= max(map(len, lines)) <= WIDTH
    path = "/folder-of-many/" + "long-name/" * 15
    assert plain(f"See {path} there.").split("\n") == ["See", path, "there."]
    first, *rest = plain({"name": "word " * 60}).split("\n")
    assert first.startswith("  name: word")
    assert rest
    assert all(line.startswith("      word") for line in rest)


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert code("a") == "```text\na\n```"
    assert code("\n a ````` b \n") == "``````text\na ````` b\n``````"


def shown(**other: Any) -> str:
    """The text of the beauty contest with other content, as one line."""
    return words(as_text(kbc() | other))


def test_a_scenario_has_choices_and_a_recording_has_none() -> None:
    path = "out/r.sqlite"
    assert "Description of the scenario by" in shown()
    assert " Choices " in shown()
    assert "--condition: baseline, " in shown()
    text = shown(recording=path)
    assert f"Description of the runs of {path} by" in text
    assert "--condition: " not in text
    assert "Conditions, and the prompt entries" not in text
    assert "# Conditions, and" not in as_markdown(kbc() | {"recording": path})
    assert "# Conditions, and" in as_markdown(kbc())


def test_choices_name_what_there_is_with_its_default() -> None:
    assert "--set variant=: default, " in shown()
    assert "--set variant=" not in shown(variants={})
    assert "--minds: classical, " in shown()
    assert "local, gguf:FILE, py:FILE, human" in shown()
    kinds = {"type": "int", "legal": "", "meaning": "", "value": 1, "range": None, "choices": None}
    given = {"a": kinds | {"default": None}, "b": kinds | {"default": 3, "legal": "3 or more"}}
    text = shown(parameters=given | {"minds": kinds | {"default": "x"}})
    assert "--set a=: int; none by default --set b=: 3 or more; 3 by default" in text
    assert "--set minds" not in text


@pytest.mark.parametrize(
    ("other", "there"),
    [
        ({"recording": "r.sqlite", "versions": {"sabm-mesa": "0.0.1"}}, True),
        ({"recording": "r.sqlite", "versions": {"sabm-mesa": __version__}}, False),
        ({"recording": "", "versions": {"sabm-mesa": "0.0.1"}}, False),
    ],
)
def test_runs_of_another_version_are_told(other: dict[str, Any], there: bool) -> None:
    assert (f"Described by version {__version__};" in shown(**other)) is there


def test_what_differs_and_what_is_missing_is_told() -> None:
    assert "The runs differ" not in shown()
    assert "Not written down" not in shown()
    assert "The runs differ in a, b (see" in shown(varied=["a", "b"])
    text = shown(odd_missing=["1 Purpose", "4.2 Emergence"], odd_file="x.odd.toml")
    assert "Not written down: 1 Purpose; 4.2 Emergence. Write them into x.odd.toml" in text


def test_prompts_and_personas_may_be_left_out_and_rewordings_added() -> None:
    texts = {
        "prompts": {"act": {"sha256": "12ab", "text": " "}},
        "answer_forms": ["act_form"],
        "personas": {"odd": "", "even": "You are even."},
        "conditions": {"plain": {}, "rich": {"act": "Rich.", "talk": " "}},
        "variants": {"reworded": {"act": "Please act."}},
    }
    text = as_text(kbc() | texts)
    assert "\n[act] 12ab\n  (no text)" in text
    assert "\nodd\n  (no text)\n\neven\n  You are even." in text
    assert "\nplain\n  (changes nothing: the prompts below)\n" in text
    assert "\nrich\n  act: Rich.\n  talk: (no text)\n" in text
    assert "Please act." not in text
    assert "reworded\n  act: Please act." in as_text(kbc() | texts, rewordings=True)
    assert "`reworded`\n\n```text\nact: Please act.\n" in as_markdown(
        kbc() | texts, rewordings=True
    )
    short = as_text(kbc() | texts, prompts=False)
    assert "\nConditions\n----------\nplain, rich\n" in short
    assert "\nPersonas\n--------\nodd, even\n" in short
    assert "12ab" not in short
    assert "You are even." not in as_markdown(kbc() | texts, prompts=False)
    assert "\nact_form" in short
    formed = kbc() | texts | {"answer_forms": ["act"]}
    assert "12ab" not in as_text(formed)


def test_headings_in_markdown_have_their_levels() -> None:
    text = as_markdown(kbc())
    assert "\n## 4 Design concepts\n" in text
    assert "\n### 4.2 Emergence\n" in text
    assert "\n## Software\n\n- `python`: " in text
    assert text.endswith("\n")


def test_headings_in_text_are_underlined() -> None:
    lines = as_text(kbc()).split("\n")
    assert lines[1] == "-" * len(lines[0])
    at = lines.index("4.2 Emergence")
    assert lines[at + 1] == "-" * len("4.2 Emergence")
    assert lines[at - 1] == ""


def test_references_begin_with_the_source_of_the_spec_sheet() -> None:
    def references(**other: Any) -> str:
        return as_text(kbc() | other).partition("\nReferences\n----------\n")[2].split("\n\n")[0]

    sheet = "Rules\n    Any.\n\nSource of it\n    Nobody 1901.\n"
    assert references(spec_sheet=sheet) == "Nobody 1901."
    assert references(spec_sheet="", source="Somebody 1902") == "Somebody 1902"
