"""Plain charts of any model data, for scenarios without plots of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from pandas.api.types import is_numeric_dtype

from sabm_mesa.analysis.plots import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

MOST = 6
"""Charts at the most; further columns are in the table."""


def figures(
    model_data: pd.DataFrame, columns: Sequence[str], subtitle: str = ""
) -> dict[str, Figure]:
    """One chart by round for each column with numbers.

    Args:
        model_data: one row a round of one run, with ``round`` and the columns.
        columns: what is drawn, as far as it holds numbers.
        subtitle: which minds and condition were run.

    Returns:
        Column → its chart, for the first `MOST` columns; none without a row.
    """
    if model_data.empty:
        return {}
    shown = [name for name in columns if is_numeric_dtype(model_data[name])]
    return {name: _line(model_data, name, subtitle) for name in shown[:MOST]}


def _line(model_data: pd.DataFrame, column: str, subtitle: str) -> Figure:
    words = column.replace("_", " ")
    figure = style.new_figure(f"{words.capitalize()} by round", subtitle, height=3.0)
    ax = figure.add_subplot()
    few = len(model_data) <= style.FEW
    marker = "o" if few else ""
    ax.plot(
        model_data["round"], model_data[column].astype(float),
        color=style.BLUE, linewidth=1.8, marker=marker, markersize=5,
    )  # fmt: skip
    style.plain_axes(ax, "Round", words.capitalize())
    style.integer_ticks(ax.xaxis, model_data["round"].tolist())
    return figure
