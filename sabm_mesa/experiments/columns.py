"""The data columns that an experiment names, checked against those that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sabm_mesa.analysis.process import CODES
from sabm_mesa.errors import ParameterError
from sabm_mesa.experiments.design import Data, Experiment

OF_MESSAGES = ("round", "speaker", "text", *CODES)
"""The columns of what was said."""


def check_columns(experiment: Experiment, known: Mapping[Data, Sequence[str]]) -> None:
    """Check that there is every column that measures, plots and published courses name.

    Args:
        experiment: the experiment.
        known: the columns of the data of the ``model``, of its ``agents`` and of the ``messages``.

    Raises:
        ParameterError: for one that there is not.
    """
    for what, data, column in _named(experiment):
        if column not in known[data]:
            raise ParameterError(
                f"Experiment {experiment.name}, {what}: there is no column {column!r} in the data "
                f"of the {data}; there are {', '.join(known[data])}."
            )


def _named(experiment: Experiment) -> Iterator[tuple[str, Data, str]]:
    """What names a column, the data it is in, and its name."""
    for measure in experiment.measures:
        for column in measure.columns:
            yield f"measure {measure.name}", measure.data, column
    for plot in experiment.plots:
        for column in plot.columns:
            yield f"plot {plot.title!r}", "agents" if plot.kind == "values" else "model", column
    for each in experiment.published:
        if each.column:
            yield f"published course of {each.condition}", "model", each.column
