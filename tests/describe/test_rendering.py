"""Descriptions in Markdown: blocks, and the parts that depend on the subject."""

from __future__ import annotations

from typing import Any

import pytest

from sabm_mesa import __version__
from sabm_mesa.describe import as_markdown
from sabm_mesa.describe.rendering import code, markdown

from .support import described, words

ROWS = [["column", "meaning", "more"], ["a", "of  a", ""], ["b", "x | y", "z"]]


def kbc() -> dict[str, Any]:
    """The description of the beauty contest."""
    return described("kbc")


@pytest.mark.parametrize(
    ("block", "in_markdown"),
    [
        ("One.\n\nTwo.", "One.\n\nTwo."),
        ({"a": "of\na", "b": ""}, "- `a`: of a\n- `b`"),
        (["First,\nthen.", "Last."], "1. First, then.\n2. Last."),
        (
            ROWS,
            "\n".join(
                [
                    "| column | meaning | more |",
                    "| --- | --- | --- |",
                    "| `a` | of a |  |",
                    "| `b` | x \\| y | z |",
                ]
            ),
        ),
        ({}, ""),
    ],
)
def test_a_block_of_each_kind(block: Any, in_markdown: str) -> None:
    assert markdown(block) == in_markdown


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert code("a") == "```text\na\n```"
    assert code("\n a ````` b \n") == "``````text\na ````` b\n``````"


def shown(**other: Any) -> str:
    """The text of the beauty contest with other content, as one line."""
    return words(as_markdown(kbc() | other))


def test_a_scenario_has_choices_and_a_recording_has_none() -> None:
    path = "out/r.sqlite"
    assert "## Choices " in shown()
    assert "- `--condition`: baseline, " in shown()
    text = shown(recording=path)
    assert f"These are the runs of {path}." in text
    assert "`--condition`" not in text
    assert "Conditions, and the prompt entries" not in text
    assert "# Conditions, and" in as_markdown(kbc())


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


def test_prompts_and_personas_may_be_left_out() -> None:
    texts = {
        "prompts": {"act": {"sha256": "12ab", "text": " "}},
        "answer_forms": ["act_form"],
        "personas": {"odd": "", "even": "You are even."},
        "conditions": {"plain": {}, "rich": {"act": "Rich.", "talk": " "}},
    }
    text = as_markdown(kbc() | texts)
    assert "\n`[act] 12ab`\n\n```text\n(no text)\n" in text
    assert "\n## 4 Design concepts\n\n### 4.1" in text
    assert "`odd`\n\n```text\n(no text)\n```\n\n`even`\n\n```text\nYou are even.\n" in text
    assert "`plain`\n\n```text\n(changes nothing: the prompts below)\n" in text
    assert "`rich`\n\n```text\nact: Rich.\ntalk: (no text)\n" in text
    short = as_markdown(kbc() | texts, prompts=False)
    assert "- `--condition`: plain, rich\n- `--set personas=`: odd, even\n" in short
    assert "12ab" not in short
    assert "You are even." not in short
    assert "act_form" not in as_markdown(kbc() | texts)
    formed = kbc() | texts | {"answer_forms": ["act"]}
    assert "12ab" not in as_markdown(formed)
