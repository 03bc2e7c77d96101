"""The plot of the commons screening: what is drawn from which numbers."""

import pandas as pd
import pytest

from sabm_mesa.models.commons.plots import LOOKS, skills

SKILLS = ["dynamics", "action"]


def table(minds, wordings=("Fishery", "Pasture")):
    return pd.DataFrame(
        {"mind": mind, "wording": wording, "skill": skill, "share": 0.1 * i, "low": 0.1 * i - 0.05,
         "high": 0.1 * i + 0.05}
        for wording in wordings
        for i, mind in enumerate(minds, 1)
        for skill in SKILLS
    )  # fmt: skip


def test_each_wording_has_a_panel_and_each_mind_a_row_in_each_kind() -> None:
    figure = skills(table(["a", "b"]), "1 run", enough=0.9)
    *panels, below = figure.axes

    assert [ax.get_title(loc="left") for ax in panels] == ["Fishery", "Pasture"]
    for ax in panels:
        first, second, limit = ax.lines
        assert list(first.get_xdata()) == [0.1, 0.1]
        assert list(second.get_xdata()) == [0.2, 0.2]
        assert first.get_ydata()[0] < 0 < second.get_ydata()[0]
        assert list(limit.get_xdata()) == [0.9, 0.9]
        (spans, _) = ax.collections
        assert [tuple(path.vertices[:, 0].round(2)) for path in spans.get_paths()] == [
            (0.05, 0.15)
        ] * 2
    words = [text.get_text() for text in below.get_legend().get_texts()]
    assert words == ["a", "b", "enough to pass: 90%"]


def test_more_minds_than_looks_and_names_that_are_no_formulas() -> None:
    minds = [f"fixed:$_{i}$" for i in range(len(LOOKS) + 1)]
    figure = skills(table(minds), enough=0.9)
    figure.savefig("/dev/null", format="png")
    assert len(figure.axes[0].lines) == len(minds) + 1


def test_nothing_to_plot() -> None:
    with pytest.raises(ValueError, match="no rows"):
        skills(table(["a"])[:0], enough=0.9)
    with pytest.raises(ValueError, match="no column share"):
        skills(table(["a"]).drop(columns="share"), enough=0.9)
