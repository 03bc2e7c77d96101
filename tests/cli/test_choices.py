"""The choices of a user: what `sabm describe` begins with, and the right name of a wrong option."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import Sabm, one_line


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        (("run", "kbc", "--persona", "calm"), "--persona. Use --set personas=NAME"),
        (("run", "kbc", "--model", "gpt-4o"), "--model. Use --minds llm:MODEL"),
        (("run", "kbc", "--n-players", "3"), "--n-players. Use --set n_players=VALUE"),
        (("sweep", "kbc", "--n-rounds", "3"), "--n-rounds. Use --rounds"),
        (("run", "kbc", "--zzz"), "--zzz"),
        (("sweep", "kbc", "--personas", "a,b"), "--personas. Use --vary personas=A,B"),
        (("sweep", "kbc", "--persona", "a"), "--persona. Use --vary personas=A,B"),
    ],
)
def test_an_unknown_option_names_the_right_one(
    sabm: Sabm, arguments: tuple[str, ...], right: str
) -> None:
    refused = sabm(*arguments)

    assert refused.status == 2
    assert one_line(refused) == f"No such option: {right}"


def test_a_description_begins_with_what_can_be_chosen(sabm: Sabm) -> None:
    said = sabm("describe", "kbc").out
    choices = said.index("\n## Choices\n")

    assert choices < said.index("1 Purpose and patterns")
    part = said[choices : said.index("1 Purpose and patterns")]
    assert "- `--condition`: baseline, cooperative, uncooperative" in part
    assert "- `--set personas=`: none, agreeable" in part
    assert "- `--set n_players=`: a whole number of 2 or more; 24 by default" in part
    assert "- `--set reward_rule=`: independent, amplified or exclusive; independent by" in part


@pytest.mark.slow
def test_figures_for_a_paper(sabm: Sabm, tmp_path: Path) -> None:
    done = sabm(
        "run", "bertrand", "--rounds", 3, "--seed", 1, "--minds", "fixed:7", "--out", tmp_path,
        "--figures", "pdf,svg,png", "--dpi", 300, "--no-title",
    )  # fmt: skip

    assert done.status == 0, done.err
    assert {path.suffix for path in tmp_path.glob("prices.*")} == {".pdf", ".svg", ".png"}
    svg = (tmp_path / "prices.svg").read_text("utf-8")
    assert "Prices by round" not in svg
    refused = sabm("run", "bertrand", "--figures", "gif", "--out", tmp_path / "no")
    assert one_line(refused) == "Unknown format of figures 'gif'. Known: pdf, png, svg."
    assert not (tmp_path / "no").exists()
